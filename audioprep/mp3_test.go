package audioprep

import (
	"bytes"
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"hark/audioprep/internal/mpeg"
)

func mp3File(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile("internal/mpeg/testdata/" + name + ".mp3")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// frameStarts returns where the frames of a file without tags begin.
func frameStarts(b []byte) (at []int) {
	for p := 0; p+mpeg.HeaderBytes <= len(b); {
		h, ok := mpeg.ParseHeader(b[p:])
		if !ok {
			break
		}
		at = append(at, p)
		p += h.Bytes
	}
	return at
}

// TestMP3Wrapping: what stands around the frames changes nothing.
func TestMP3Wrapping(t *testing.T) {
	plain := mp3File(t, "44100-mono")
	want, err := decodeBytes(plain)
	if err != nil {
		t.Fatal(err)
	}
	checkPCM(t, want)
	if want.Info.Faults != nil || want.Info.SampleRate != 44100 || want.Info.Channels != 1 || want.Info.Codec != "mp3" {
		t.Errorf("got %+v", want.Info)
	}
	tag := func(size int, body []byte) []byte {
		return append([]byte{'I', 'D', '3', 3, 0, 0, byte(size >> 21), byte(size >> 14 & 127), byte(size >> 7 & 127), byte(size & 127)}, body...)
	}
	cover := bytes.Repeat([]byte{0xff, 0xd8, 0xff, 0xfb, 0x90, 0x64}, 20000)
	ape := append([]byte("APETAGEX\xd0\x07\x00\x00\x40\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\xa0"), make([]byte, 8+64)...)
	garbage := bytes.Repeat([]byte{0x12, 0x9a, 0x40, 0x00, 0xfe}, 300)
	for name, file := range map[string][]byte{
		"ID3v2":               append(tag(100, make([]byte, 100)), plain...),
		"two of them":         append(append(tag(5, make([]byte, 5)), tag(9, make([]byte, 9))...), plain...),
		"cover of 120 kB":     append(tag(len(cover), cover), plain...),
		"tag claiming 256 MB": append(tag(1<<28-1, nil), plain...),
		"ID3v1":               append(plain[:len(plain):len(plain)], append([]byte("TAG"), make([]byte, 125)...)...),
		"APE tag":             append(plain[:len(plain):len(plain)], ape...),
		"garbage before":      append(garbage, plain...),
		"a WAV file":          riff(fmtChunk(tagMP3, 1, 44100, 0), chunk("data", plain), chunk("LIST", make([]byte, 500))),
		"zeros before":        append(make([]byte, 5000), plain...),
	} {
		pcm, err := decodeBytes(file)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !equal(pcm.Samples, want.Samples) || pcm.Info.Faults != nil {
			t.Errorf("%s: got %d samples and %q, want %d", name, len(pcm.Samples), pcm.Info.Faults, len(want.Samples))
		}
	}
}

// TestMP3Damage: frames that cannot be decoded become silence, and what follows
// stands where it stood.
func TestMP3Damage(t *testing.T) {
	plain := mp3File(t, "44100-mono")
	want, err := decodeBytes(plain)
	if err != nil {
		t.Fatal(err)
	}
	at := frameStarts(plain)
	damaged := append([]byte(nil), plain...)
	for i := at[5]; i < at[7]; i++ {
		damaged[i] = 0x55
	}
	for _, c := range []struct {
		name, fault string
		file        []byte
		shorter     int // samples at 16 kHz
	}{
		{"two frames overwritten", "bytes between frames were passed over", damaged, 0},
		{"cut in a frame", "truncated", plain[:len(plain)-40], 418},
		{"a frame cut out", "", append(plain[:at[5]:at[5]], plain[at[6]:]...), 418},
	} {
		pcm, err := decodeBytes(c.file)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		checkPCM(t, pcm)
		if d := len(want.Samples) - len(pcm.Samples); d < c.shorter-1 || d > c.shorter+1 {
			t.Errorf("%s: %d samples shorter, want %d", c.name, d, c.shorter)
		}
		if got := strings.Join(pcm.Info.Faults, "; "); !strings.Contains(got, c.fault) {
			t.Errorf("%s: faults: got %q, want %q", c.name, got, c.fault)
		}
	}
	pcm, err := decodeBytes(damaged)
	if err != nil {
		t.Fatal(err)
	}
	n := len(pcm.Samples)
	if d := maxDiff(pcm.Samples[n-800:], want.Samples[n-800:]); d > 0.01 {
		t.Errorf("behind the damage samples differ by %v", d)
	}
}

// TestMP3Trim: the padding that the encoder noted is taken off, unless the
// stream was cut.
func TestMP3Trim(t *testing.T) {
	b := mp3File(t, "16000-tagged")
	pcm, err := decodeBytes(b)
	if err != nil {
		t.Fatal(err)
	}
	if len(pcm.Samples) != 6400 {
		t.Errorf("got %d samples, want the 6400 that were encoded", len(pcm.Samples))
	}
	// From the first sample on it is the sine.
	for _, at := range []int{0, 100, 3000, 6300} {
		peak := 0.0
		for _, v := range pcm.Samples[at : at+40] {
			peak = max(peak, math.Abs(float64(v)))
		}
		if peak < 0.3 {
			t.Errorf("at sample %d the peak is %v", at, peak)
		}
	}
	longer := append(b[:len(b):len(b)], mp3File(t, "16000-mono")...)
	if pcm, err = decodeBytes(longer); err != nil || len(pcm.Samples) < 6400+5600 {
		t.Errorf("with another stream behind it: %v, want both whole", err)
	}
}

func TestMP3Errors(t *testing.T) {
	var ce *CorruptError
	for name, file := range map[string][]byte{
		"sync and noise": append([]byte{0xff, 0xfb, 0x90, 0x64}, bytes.Repeat([]byte{1, 2, 3}, 1000)...),
		"tag cut short":  append([]byte("ID3\x03\x00\x00\x00\x00\x40\x00"), make([]byte, 500)...),
	} {
		if _, err := decodeBytes(file); !errors.As(err, &ce) || ce.Container != "mp3" {
			t.Errorf("%s: got %v, want a CorruptError", name, err)
		}
	}
}

// TestMP3Free: frames that don't tell their length are found, wherever the stream begins.
func TestMP3Free(t *testing.T) {
	plain := mp3File(t, "44100-mono")
	want, err := decodeBytes(plain)
	if err != nil {
		t.Fatal(err)
	}
	free := append([]byte(nil), plain...)
	for _, at := range frameStarts(plain) {
		free[at+2] &= 0x0f
	}
	tag := []byte("ID3\x04\x00\x00\x00\x00\x00\x05abcde")
	for name, file := range map[string][]byte{
		"alone": free, "behind a tag": append(tag, free...), "behind garbage": append(bytes.Repeat([]byte{0x12, 0xff}, 500), free...),
	} {
		pcm, err := decodeBytes(file)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !equal(pcm.Samples, want.Samples) || pcm.Info.Faults != nil {
			t.Errorf("%s: got %d other samples than the %d there are, faults %q", name, len(pcm.Samples), len(want.Samples), pcm.Info.Faults)
		}
	}
}

// TestMP2: layer II is heard as well, alone and in MP4.
func TestMP2(t *testing.T) {
	file, want := ffmpegEncode(t, "x.mp2", "-c:a", "mp2", "-b:a", "64k")
	for _, name := range []string{"x.mp2", "x.mp4", "x.mkv", "x.wav"} {
		if name != "x.mp2" {
			file, want = ffmpegEncode(t, name, "-c:a", "mp2", "-b:a", "64k")
		}
		pcm, err := decodeBytes(file)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		// MP4 does not tell layers apart.
		if pcm.Info.Codec != "mp2" && name != "x.mp4" || pcm.Info.Faults != nil {
			t.Errorf("%s: got %+v", name, pcm.Info)
		}
		// ffmpeg decodes to 16 bits.
		if db := errorDB(pcm.Samples, want); db > -60 {
			t.Errorf("%s: the error is at %.1f dB", name, db)
		}
	}
}
