package audioprep

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// realFFmpeg is the one on PATH; without, the test is skipped.
func realFFmpeg(t testing.TB) *FFmpeg {
	t.Helper()
	f, err := FindFFmpeg(context.Background(), "")
	if errors.Is(err, ErrNoFFmpeg) {
		t.Skip("no ffmpeg on PATH")
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestFFmpegCorpus: what is refused without ffmpeg is heard with it, and sounds like the reference.
func TestFFmpegCorpus(t *testing.T) {
	f := realFFmpeg(t)
	reference, err := decodeFile(t, sharedPath(t, "audio", "formats", "wav-s16-16k-mono.wav"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ path, container, codec string }{
		{"3gp-amr-nb.3gp", "mp4", "amr_nb"},
		{"ac3-48000.ac3", "ac3", "ac3"},
		{"amr-nb-8000.amr", "amr", "amr_nb"},
		{"wav-gsm610-8k.wav", "wav", "gsm_ms"},
		{"wavpack.wv", "wavpack", "wavpack"},
		{"wma-v2-44100.wma", "asf", "wmav2"},
	} {
		t.Run(c.path, func(t *testing.T) {
			file := sharedPath(t, "audio", "formats", c.path)
			if _, err := decodeFile(t, file, Options{}); c.codec != "gsm_ms" {
				var format *FormatError
				if !errors.As(err, &format) || !format.Convertible() {
					t.Fatalf("without ffmpeg: got %v, want a FormatError that is convertible", err)
				}
			}
			pcm, err := decodeFile(t, file, Options{FFmpeg: f})
			if err != nil {
				t.Fatal(err)
			}
			checkPCM(t, pcm)
			info := pcm.Info
			if info.Decoder == f.String() {
				if info.Container != c.container || info.Codec != c.codec || len(info.Tracks) != 1 || info.Track != 1 {
					t.Errorf("got %+v, want %s with one track of %s", info, c.container, c.codec)
				}
			} else if c.codec != "gsm_ms" {
				t.Errorf("got decoder %q", info.Decoder)
			}
			least := 0.9
			if c.codec == "amr_nb" {
				least = 0.5 // which keeps how a voice sounds, not its waves
			}
			if got := bestCorrelation(reference.Samples, pcm.Samples, 1600); got < least {
				t.Errorf("it does not sound like the reference: correlation %.3f", got)
			}
			// From memory, in pieces, as from a file.
			again, err := Decode(context.Background(), &pieces{Reader: bytes.NewReader(readFile(t, file))}, Options{FFmpeg: f})
			if err != nil || !equal(again.Samples, pcm.Samples) {
				t.Errorf("other samples from memory (%v)", err)
			}
		})
	}
}

// ffmpegMakes encodes what the arguments say and returns the file.
func ffmpegMakes(t *testing.T, f *FFmpeg, args ...string) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "made")
	if out, err := exec.Command(f.path, append(append([]string{"-v", "error"}, args...), path)...).CombinedOutput(); err != nil {
		t.Skipf("this ffmpeg can't make the file: %v: %s", err, out)
	}
	return readFile(t, path)
}

// TestFFmpegTracks: the default track, or the one asked for, of a film whose sound only ffmpeg decodes.
func TestFFmpegTracks(t *testing.T) {
	f := realFFmpeg(t)
	film := ffmpegMakes(t, f, "-f", "lavfi", "-i", "sine=d=1:f=440", "-f", "lavfi", "-i", "sine=d=2:f=440", "-map", "0", "-map", "1", "-c", "ac3",
		"-metadata:s:a:1", "language=deu", "-disposition:a:0", "0", "-disposition:a:1", "default", "-f", "matroska")
	for track, want := range map[int]struct {
		track   int
		seconds float64
	}{0: {2, 2}, 1: {1, 1}, 2: {2, 2}} {
		pcm, err := Decode(context.Background(), bytes.NewReader(film), Options{FFmpeg: f, Track: track})
		if err != nil {
			t.Fatal(err)
		}
		info := pcm.Info
		if info.Track != want.track || math.Abs(info.Duration.Seconds()-want.seconds) > 0.1 || len(info.Tracks) != 2 {
			t.Errorf("track %d: got %+v, want track %d of %v s", track, info, want.track, want.seconds)
		}
		if d := info.Tracks[1]; d.Codec != "ac3" || d.Language != "deu" || !d.Default || info.Tracks[0].Default {
			t.Errorf("got tracks %+v", info.Tracks)
		}
	}
}

// TestFFmpegForms: forms that are known by sight alone.
func TestFFmpegForms(t *testing.T) {
	f := realFFmpeg(t)
	sine := []string{"-f", "lavfi", "-i", "sine=d=1:f=440", "-ac", "1"}
	for name, args := range map[string][]string{
		"mpeg-ts": {"-c:a", "ac3", "-f", "mpegts"}, "mpeg-ps": {"-c:a", "mp2", "-f", "vob"}, "tta": {"-f", "tta"}, "voc": {"-f", "voc"},
		"realmedia": {"-c:a", "real_144", "-ar", "8000", "-f", "rm"}, "dts": {"-c:a", "dca", "-strict", "-2", "-f", "dts"}, "flv": {"-c:a", "adpcm_swf", "-ar", "44100", "-f", "flv"},
		"avi": {"-c:a", "wmav2", "-f", "avi"}, "ogg": {"-c:a", "libspeex", "-ar", "16000", "-f", "ogg"},
	} {
		t.Run(name, func(t *testing.T) { checkSine(t, f, ffmpegMakes(t, f, append(slices.Clone(sine), args...)...), name) })
	}
	t.Run("nist", func(t *testing.T) {
		file := []byte("NIST_1A\n   1024\nchannel_count -i 1\nsample_rate -i 8000\nsample_n_bytes -i 2\nsample_byte_format -s2 01\nsample_sig_bits -i 16\nsample_coding -s3 pcm\nend_head\n")
		file = append(file, bytes.Repeat([]byte(" "), 1024-len(file))...)
		checkSine(t, f, append(file, encode(tone(1, 8000, 1, -18), "s16")...), "nist")
	})
}

// checkSine checks a second of a tone at about -18 dBFS.
func checkSine(t *testing.T, f *FFmpeg, file []byte, name string) {
	t.Helper()
	_, err := Decode(context.Background(), bytes.NewReader(file), Options{})
	var format *FormatError
	if !errors.As(err, &format) || !format.Convertible() || !strings.HasPrefix(format.Found, name) {
		t.Errorf("without ffmpeg: got %v, want a FormatError that found %s", err, name)
	}
	i, err := Inspect(context.Background(), bytes.NewReader(file), Options{FFmpeg: f}, Label{}, 30*SampleRate)
	if err != nil {
		t.Fatal(err)
	}
	if i.Container != name || i.Decoder != f.String() || i.Codec == "" || math.Abs(i.Duration.Seconds()-1) > 0.15 || math.Abs(i.Peak - -18) > 4 {
		t.Errorf("got %+v", i)
	}
}

// TestFFmpegLimit: what is too long is no more than that.
func TestFFmpegLimit(t *testing.T) {
	f := realFFmpeg(t)
	_, err := decodeFile(t, sharedPath(t, "audio", "formats", "wma-v2-44100.wma"), Options{FFmpeg: f, MaxDuration: time.Second})
	var limit *LimitError
	var found *DecodeError
	if !errors.As(err, &limit) || !errors.As(err, &found) {
		t.Fatalf("got %v, want a LimitError", err)
	}
	if found.Info.Container != "asf" || found.Info.Codec != "wmav2" || found.Info.Duration < time.Second {
		t.Errorf("got %+v", found.Info)
	}
}

// TestFFmpegNotShown: what is no sound costs no process.
func TestFFmpegNotShown(t *testing.T) {
	f := fakeFFmpeg(t, `echo shown >&2; exit 1`)
	for name, b := range map[string]string{
		"html": "<html><body>no</body></html>", "text": "#EXTM3U\nhttp://localhost/a.ts\n", "png": "\x89PNG\r\n\x1a\n........",
		"zip": "PK\x03\x04............",
	} {
		_, err := Decode(context.Background(), strings.NewReader(b), Options{FFmpeg: f})
		var format *FormatError
		if !errors.As(err, &format) || format.Reason != "" {
			t.Errorf("%s: got %v, want a FormatError without a word from ffmpeg", name, err)
		}
	}
}

// TestFindFFmpeg: what can't be used is told when it is looked for.
func TestFindFFmpeg(t *testing.T) {
	for _, c := range []struct{ script, version, want string }{
		{`echo ffmpeg version 5.1.9-0+deb12u1 Copyright`, "5.1.9", ""},
		{`echo ffmpeg version n6.0 Copyright`, "6.0", ""},
		{`echo ffmpeg version N-12345-g0123abc Copyright`, "N", ""},
		{`yes ffmpeg version 7.1`, "7.1", ""},
		{`echo ffmpeg version 2.8.17 Copyright`, "", "too old"},
		{`echo hello`, "", "does not say"},
		{`exit 3`, "", "exit status 3"},
	} {
		f, err := FindFFmpeg(context.Background(), scriptFile(t, c.script))
		switch {
		case c.want == "" && (err != nil || f.Version() != c.version):
			t.Errorf("%s: got %v, %v, want version %s", c.script, f, err, c.version)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: got %v, want %q", c.script, err, c.want)
		}
	}
	if _, err := FindFFmpeg(context.Background(), filepath.Join(t.TempDir(), "none")); err == nil || errors.Is(err, ErrNoFFmpeg) {
		t.Errorf("got %v, want an error about that path", err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := FindFFmpeg(context.Background(), ""); !errors.Is(err, ErrNoFFmpeg) {
		t.Errorf("got %v, want ErrNoFFmpeg", err)
	}
}

// TestFFmpegOnDemand asks a program what it is only once a file needs it, and does without one that can't be used.
func TestFFmpegOnDemand(t *testing.T) {
	asked := t.TempDir() // gets an empty file for each start: a confined program can't write a byte
	fake := fakeFFmpeg(t, ": >"+asked+"/$$\necho ffmpeg version 3.1")
	t.Setenv("PATH", filepath.Dir(fake.path))
	opt := Options{FFmpeg: FFmpegOnDemand()}
	if _, err := decodeFile(t, sharedPath(t, "audio", "formats", "wav-s16-16k-mono.wav"), opt); err != nil {
		t.Error(err)
	}
	if starts, err := os.ReadDir(asked); err != nil || len(starts) != 0 {
		t.Errorf("a WAV file made the program be asked: %d times (%v)", len(starts), err)
	}
	for range 2 {
		if _, err := decodeFile(t, sharedPath(t, "audio", "formats", "amr-nb-8000.amr"), opt); !errors.As(err, new(*FormatError)) {
			t.Errorf("got %v, want a FormatError, since the program is too old", err)
		}
	}
	if starts, err := os.ReadDir(asked); err != nil || len(starts) != 1 {
		t.Errorf("asked %d times (%v), want once", len(starts), err)
	}
}

// scriptFile makes a program of a shell script.
func scriptFile(t testing.TB, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ffmpeg")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// fakeFFmpeg is a script in ffmpeg's place.
func fakeFFmpeg(t testing.TB, script string) *FFmpeg {
	t.Helper()
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip("no shell to fake ffmpeg with")
	}
	return &FFmpeg{path: scriptFile(t, script), version: "0", grace: time.Minute, longest: longestExternal}
}

// auHeader is printf's argument for the header that ffmpeg writes: floats, 8 kHz, mono.
const auHeader = `'.snd\0\0\0\030\377\377\377\377\0\0\0\006\0\0\037\100\0\0\0\001'`

// TestFFmpegMisbehaves: whatever the program does, the request ends, with an error of a documented kind.
func TestFFmpegMisbehaves(t *testing.T) {
	asf := append([]byte("\x30\x26\xb2\x75\x8e\x66\xcf\x11"), make([]byte, 100)...)
	for _, c := range []struct {
		name, script string
		grace        time.Duration
		check        func(*PCM, error) bool
	}{
		{"says no", `echo '[error] file:/proc/self/fd/3: Invalid data' >&2; exit 1`, 0, refusedWith("does not take it either: the file: Invalid data")},
		{"dies", `kill -9 $$`, 0, refusedWith("killed")},
		{"says nothing", ``, 0, refusedWith("it found no sound")},
		{"garbage", `head -c 100000 /dev/zero`, 0, refusedWith("does not take it either")},
		{"header cut short", `printf .snd`, 0, refusedWith("it found no sound")},
		{"header without samples", `printf ` + auHeader, 0, func(_ *PCM, err error) bool { return errors.Is(err, ErrEmpty) }},
		{"absurd rate", `printf '.snd\0\0\0\030\377\377\377\377\0\0\0\006\377\0\0\0\0\0\0\001'`, 0, isCorrupt("sample rate")},
		{"endless", `printf ` + auHeader + `; cat /dev/zero`, 0, isTooLong},
		{"endless log", `yes '[error] no' >&2`, time.Second, isCorrupt("keep up")},
		{"hangs", `sleep 1000`, 50 * time.Millisecond, isCorrupt("keep up")},
		{"stalls", `printf ` + auHeader + `; head -c 4000 /dev/zero; sleep 1000`, 300 * time.Millisecond, isCorrupt("keep up")},
		{"leaves somebody behind", `printf ` + auHeader + `; head -c 4000 /dev/zero; sleep 1000 &`, 300 * time.Millisecond, isCorrupt("keep up")},
		{"ends early", `printf ` + auHeader + `; head -c 40000 /dev/zero; echo '[error] gone' >&2; exit 1`, 0, heard("truncated: ffmpeg ended early: gone")},
		{"part of a frame", `printf ` + auHeader + `; head -c 40003 /dev/zero; echo '[error] odd' >&2`, 0, heard("damaged: ffmpeg tells of 1 errors, the last: odd")},
		{"a pause that it can't decode", `printf ` + auHeader + `; head -c 40000 /dev/zero; printf '[amrnb @ 0x1] [warning] dtx mode is not implemented. Update\n[error] Error while decoding stream #0:0: Not yet implemented\n[amrnb @ 0x1] [error] Corrupt bitstream\n[error] Error while decoding stream #0:0: Invalid data\n' >&2`, 0,
			heard("undecoded: ffmpeg left out parts of it: dtx mode is not implemented")},
		{"a byte of padding", `printf ` + auHeader + `; head -c 40000 /dev/zero; printf '[gsm_ms @ 0x1] [error] Packet is too small\n[error] Error while decoding stream #0:0: Invalid data\n' >&2`, 0,
			func(pcm *PCM, err error) bool { return err == nil && len(pcm.Info.Faults) == 0 }},
		{"damage beside a pause", `printf ` + auHeader + `; head -c 40000 /dev/zero
			damage() { printf '[amrnb @ 0x1] [error] Corrupt bitstream\n[error] Error while decoding stream #0:0: Invalid data\n'; }
			pause() { printf '[amrnb @ 0x1] [warning] dtx mode is not implemented. Update\n[error] Error while decoding stream #0:0: Not yet implemented\n'; for i in 1 2 3 4 5 6 7; do damage; done; }
			{ damage; pause; pause; damage; damage; } >&2`, 0,
			func(pcm *PCM, err error) bool {
				return err == nil && slices.Equal(pcm.Info.Faults, []string{
					"undecoded: ffmpeg left out parts of it: dtx mode is not implemented", "damaged: ffmpeg tells of 3 errors beside those"})
			}},
		{"damage beside a wide-band pause", `printf ` + auHeader + `; head -c 40000 /dev/zero
			pause() { printf '[amrwb @ 0x1] [warning] SID mode is not implemented. Update\n[error] Error while decoding stream #0:0: Not yet implemented\n'; }
			{ pause; pause; printf '[amrwb @ 0x1] [error] Invalid mode 12\n[error] Error while decoding stream #0:0: Invalid data\n'; } >&2`, 0,
			func(pcm *PCM, err error) bool {
				return err == nil && slices.Equal(pcm.Info.Faults, []string{
					"undecoded: ffmpeg left out parts of it: SID mode is not implemented", "damaged: ffmpeg tells of 1 errors beside those"})
			}},
		{"a packet in part", `printf ` + auHeader + `; head -c 40000 /dev/zero; printf '[warning] file:/proc/self/fd/3: corrupt input packet in stream 0\n[gsm_ms @ 0x1] [error] Packet is too small\n[error] Error while decoding stream #0:0: Invalid data\n' >&2`, 0,
			heard("damaged: ffmpeg tells of packets that are not whole, as where a file is cut short")},
		{"two bad packets", `printf ` + auHeader + `; head -c 40000 /dev/zero; printf '[x @ 0x1] [error] bad\n[error] Error while decoding stream #0:0: Invalid data\n[x @ 0x1] [error] worse\n[error] Error submitting packet to decoder: Invalid data\n' >&2`, 0,
			heard("damaged: ffmpeg tells of 2 errors, the last: worse")},
		{"another form's track", `echo '[info]   Stream #0:0: Audio: wmav2, 44100 Hz, stereo' >&2; exit 1`, 0, refusedWith("wmav2")},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := fakeFFmpeg(t, c.script)
			if c.grace > 0 {
				f.grace = c.grace
			}
			pcm, err := Decode(context.Background(), bytes.NewReader(asf), Options{FFmpeg: f, MaxDuration: time.Minute})
			if !c.check(pcm, err) {
				t.Errorf("got %v, %v", pcm, err)
			}
			if pcm != nil {
				checkPCM(t, pcm)
			}
		})
	}
}

func refusedWith(reason string) func(*PCM, error) bool {
	return func(_ *PCM, err error) bool {
		var format *FormatError
		return errors.As(err, &format) && format.Found == "asf" && strings.Contains(format.Reason, reason)
	}
}

func isCorrupt(reason string) func(*PCM, error) bool {
	return func(_ *PCM, err error) bool {
		var corrupt *CorruptError
		return errors.As(err, &corrupt) && strings.Contains(err.Error(), reason)
	}
}

func isTooLong(_ *PCM, err error) bool {
	var limit *LimitError
	return errors.As(err, &limit)
}

func heard(fault string) func(*PCM, error) bool {
	return func(pcm *PCM, err error) bool {
		return err == nil && pcm.Info.Duration == 1250*time.Millisecond && len(pcm.Info.Faults) == 1 && strings.HasPrefix(pcm.Info.Faults[0], fault)
	}
}

// TestFFmpegTrack: a track that is not there is a choice that can't be fulfilled.
func TestFFmpegTrack(t *testing.T) {
	f := fakeFFmpeg(t, `echo '[info]   Stream #0:1: Audio: wmav2, 44100 Hz, stereo' >&2; echo '[fatal] Stream map matches no streams.' >&2; exit 1`)
	asf := "\x30\x26\xb2\x75\x8e\x66\xcf\x11......"
	for _, track := range []int{-1, 2} {
		_, err := Decode(context.Background(), strings.NewReader(asf), Options{FFmpeg: f, Track: track})
		var choice *ChoiceError
		if !errors.As(err, &choice) || choice.Got != track || choice.Have != 1 {
			t.Errorf("track %d: got %v, want a ChoiceError of 1", track, err)
		}
	}
}

// TestFFmpegNoRoom: where the copy that ffmpeg reads can't be kept, that is no fault of the upload's.
func TestFFmpegNoRoom(t *testing.T) {
	f := fakeFFmpeg(t, `exit 1`)
	missing := filepath.Join(t.TempDir(), "missing")
	_, err := Decode(context.Background(), strings.NewReader("\x30\x26\xb2\x75\x8e\x66\xcf\x11......"), Options{FFmpeg: f, Storage: Storage{Dir: missing}})
	var storage *StorageError
	if !errors.As(err, &storage) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want a StorageError", err)
	}
}

// TestFFmpegEndless: where the caller sets no limit, there is one all the same.
func TestFFmpegEndless(t *testing.T) {
	f := fakeFFmpeg(t, `printf `+auHeader+`; cat /dev/zero`)
	f.longest = 10 * time.Second
	pcm, err := Decode(context.Background(), strings.NewReader("\x30\x26\xb2\x75\x8e\x66\xcf\x11......"), Options{FFmpeg: f})
	if err != nil {
		t.Fatal(err)
	}
	if d := pcm.Info.Duration; d < 10*time.Second || d > 12*time.Second || len(pcm.Info.Faults) != 1 || pcm.Info.Faults[0] != "only the first 10s were decoded" {
		t.Errorf("got %v with %q", d, pcm.Info.Faults)
	}
}

// TestFFmpegCancelled: the request's end is its error, and the program's.
func TestFFmpegCancelled(t *testing.T) {
	f := fakeFFmpeg(t, `printf `+auHeader+`; head -c 4000 /dev/zero; exec sleep 1000`)
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(50*time.Millisecond, cancel)
	_, err := Decode(ctx, strings.NewReader("\x30\x26\xb2\x75\x8e\x66\xcf\x11......"), Options{FFmpeg: f})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}

// inFile is a reader over a file that it tells of.
type inFile struct {
	*bytes.Reader
	file *os.File
}

func (f inFile) File() *os.File { return f.file }

// TestFFmpegReadsTheUpload: what lies in a file is not copied: ffmpeg reads that file, from its start.
func TestFFmpegReadsTheUpload(t *testing.T) {
	f := fakeFFmpeg(t, `while [ "$1" != -i ]; do shift; done; cat "${2#file:}" >&2; exit 1`)
	asf := "\x30\x26\xb2\x75\x8e\x66\xcf\x11"
	path := filepath.Join(t.TempDir(), "upload")
	if err := os.WriteFile(path, []byte("in the file"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	file.Seek(5, 0)
	for _, c := range []struct {
		r    io.ReadSeeker
		want string
	}{
		{bytes.NewReader([]byte(asf + " in memory")), "in memory"},
		{inFile{bytes.NewReader([]byte(asf)), nil}, "u"},
		{inFile{bytes.NewReader([]byte(asf)), file}, "either: in the file"},
	} {
		_, err := Decode(context.Background(), c.r, Options{FFmpeg: f, Storage: Storage{Dir: t.TempDir()}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

// TestFFmpegCut: a file that is cut short has a fault, a whole one none, though it ends in a byte of padding.
func TestFFmpegCut(t *testing.T) {
	f := realFFmpeg(t)
	whole := readFile(t, sharedPath(t, "audio", "formats", "wav-gsm610-8k.wav"))
	for size, damaged := range map[int]bool{len(whole): false, len(whole) * 2 / 3: true} {
		pcm, err := Decode(context.Background(), bytes.NewReader(whole[:size]), Options{FFmpeg: f})
		if err != nil {
			t.Fatal(err)
		}
		if got := len(pcm.Info.Faults) > 0; got != damaged {
			t.Errorf("%d bytes of %d: faults %q", size, len(whole), pcm.Info.Faults)
		}
	}
}
