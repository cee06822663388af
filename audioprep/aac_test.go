package audioprep

import (
	"bytes"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hark/audioprep/internal/aac"
)

// TestADTSWrapping: what stands around the frames changes nothing.
func TestADTSWrapping(t *testing.T) {
	plain := adtsFile(t, "16000-mono")
	want, err := decodeBytes(plain)
	if err != nil {
		t.Fatal(err)
	}
	checkPCM(t, want)
	if in := want.Info; in.Container != "aac" || in.Codec != "aac" || in.SampleRate != 16000 || in.Channels != 1 || in.Faults != nil {
		t.Errorf("got %+v", in)
	}
	// A frame with a checksum says so in its second byte.
	var protected []byte
	for b := plain; len(b) > 0; {
		h, _ := aac.ParseADTS(b)
		n := h.Bytes + 2
		head := append([]byte(nil), b[:7]...)
		head[1] &^= 1
		head[3] = head[3]&^3 | byte(n>>11)
		head[4] = byte(n >> 3)
		head[5] = head[5]&31 | byte(n<<5)
		protected = append(append(append(protected, head...), 0, 0), b[7:h.Bytes]...)
		b = b[h.Bytes:]
	}
	for name, file := range map[string][]byte{
		"ID3v2":     append([]byte("ID3\x04\x00\x00\x00\x00\x00\x05abcde"), plain...),
		"ID3v1":     append(plain[:len(plain):len(plain)], append([]byte("TAG"), make([]byte, 125)...)...),
		"checksums": protected,
		"garbage":   append(bytes.Repeat([]byte{0x12, 0xff, 0xf1, 0x00}, 100), plain...),
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

// TestADTSDamage: frames that can't be decoded become silence, and what follows stands
// where it stood.
func TestADTSDamage(t *testing.T) {
	plain := adtsFile(t, "16000-mono")
	want, err := decodeBytes(plain)
	if err != nil {
		t.Fatal(err)
	}
	var at []int
	for p := 0; p < len(plain); {
		h, _ := aac.ParseADTS(plain[p:])
		at = append(at, p)
		p += h.Bytes
	}
	lost := append([]byte(nil), plain...)
	for i := at[3]; i < at[4]; i++ {
		lost[i] = 0x55
	}
	ones := append([]byte(nil), plain...)
	for i := at[2] + 7; i < at[3]; i++ {
		ones[i] = 0xff
	}
	for _, c := range []struct {
		name, fault string
		file        []byte
		n           int
	}{
		{"a frame overwritten", "bytes between frames were passed over", lost, len(want.Samples)},
		{"a packet of ones", "1 damaged frames were replaced by silence", ones, len(want.Samples)},
		{"cut", "truncated", plain[:len(plain)-10], len(want.Samples) - 1024},
	} {
		pcm, err := decodeBytes(c.file)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		checkPCM(t, pcm)
		if len(pcm.Samples) != c.n {
			t.Errorf("%s: got %d samples, want %d", c.name, len(pcm.Samples), c.n)
		}
		if got := strings.Join(pcm.Info.Faults, "; "); !strings.Contains(got, c.fault) {
			t.Errorf("%s: faults: got %q, want %q", c.name, got, c.fault)
		}
		// The second packet behind the damage is whole again, and the last.
		if d := maxDiff(pcm.Samples[5*1024:c.n], want.Samples[5*1024:c.n]); d > 1e-6 {
			t.Errorf("%s: the end differs by %v", c.name, d)
		}
	}
}

// TestADTSChange: a stream may go on in another form.
func TestADTSChange(t *testing.T) {
	var file []byte
	total := 0
	for _, name := range []string{"16000-mono", "44100-clicks", "8000-bursts", "16000-mono"} {
		b := adtsFile(t, name)
		pcm, err := decodeBytes(b)
		if err != nil {
			t.Fatal(err)
		}
		total += len(pcm.Samples)
		file = append(file, b...)
	}
	pcm, err := decodeBytes(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := len(pcm.Samples) - total; d < -3 || d > 3 || pcm.Info.Faults != nil {
		t.Errorf("got %d samples, want %d; faults %q", len(pcm.Samples), total, pcm.Info.Faults)
	}
	want, err := decodeBytes(adtsFile(t, "16000-mono"))
	if err != nil {
		t.Fatal(err)
	}
	if tail := pcm.Samples[len(pcm.Samples)-len(want.Samples):]; !equal(tail, want.Samples) {
		t.Error("the last stream is not what it is alone")
	}
}

func TestADTSErrors(t *testing.T) {
	plain := adtsFile(t, "16000-mono")
	var fe *FormatError
	if _, err := decodeBytes([]byte("ADIF\x00\x01\x02\x03")); !errors.As(err, &fe) || !strings.Contains(fe.Found, "ADIF") {
		t.Errorf("ADIF: got %v", err)
	}
	var ce *CorruptError
	noise := append(append([]byte(nil), plain[:7]...), bytes.Repeat([]byte{1, 2, 3}, 1000)...)
	noise[3], noise[4] = noise[3]|3, 0xff // a frame of 8 kB
	if _, err := decodeBytes(noise); !errors.As(err, &ce) || ce.Container != "aac" {
		t.Errorf("a header and noise: got %v, want a CorruptError", err)
	}
}

// TestAACFFmpeg: after gapless trimming an MP4 file begins with the sample that went into
// the encoder first, as ffmpeg's does, and is as long as what went in.
func TestAACFFmpeg(t *testing.T) {
	for _, c := range [][]string{
		{"x.m4a", "-c:a", "aac"}, {"x.mov", "-c:a", "aac"}, {"x.mp4", "-c:a", "aac", "-movflags", "+faststart"},
		{"x.mp4", "-c:a", "aac", "-movflags", "frag_keyframe+empty_moov"}, {"x.3gp", "-c:a", "aac"},
	} {
		file, want := ffmpegEncode(t, c[0], append(c[1:], "-aac_pns", "0", "-b:a", "48k")...)
		pcm, err := decodeBytes(file)
		if err != nil {
			t.Errorf("%v: %v", c, err)
			continue
		}
		got := pcm.Samples
		if strings.Contains(strings.Join(c, " "), "empty_moov") {
			// ffmpeg notes no end there, and no beginning either.
			if len(got) < SampleRate || len(got) > SampleRate+2048 {
				t.Errorf("%v: got %d samples", c, len(got))
			}
		} else if len(got) != SampleRate {
			t.Errorf("%v: got %d samples, want %d", c, len(got), SampleRate)
		}
		n := min(len(got), len(want))
		var signal, wrong float64
		for i, v := range want[:n] {
			signal += float64(v) * float64(v)
			wrong += float64(v-got[i]) * float64(v-got[i])
		}
		if wrong*1e10 > signal { // 100 dB
			t.Errorf("%v: samples differ by %g of the signal's energy", c, wrong/signal)
		}
	}
}

// TestHighEfficiency: HE-AAC is found in every container, also where only the packets tell of it.
func TestHighEfficiency(t *testing.T) {
	ffmpeg, err := exec.LookPath("ffmpeg")
	if err != nil {
		t.Skip("no ffmpeg on PATH to put streams into containers")
	}
	for _, name := range []string{"he-22050-mono", "he-24000-coupled", "he-v2-24000"} {
		want, err := decodeBytes(adtsFile(t, name))
		if err != nil {
			t.Fatal(err)
		}
		if want.Info.Faults != nil || want.Info.SampleRate < 22050 {
			t.Errorf("%s: got %+v", name, want.Info)
		}
		for _, c := range [][]string{{"x.m4a"}, {"x.mp4", "-bsf:a", "aac_adtstoasc", "-movflags", "frag_keyframe+empty_moov+delay_moov"}, {"x.mkv"}} {
			path := filepath.Join(t.TempDir(), c[0])
			args := append([]string{"-v", "error", "-i", filepath.Join("internal", "aac", "testdata", name+".aac"), "-c", "copy"}, c[1:]...)
			if out, err := exec.Command(ffmpeg, append(args, path)...).CombinedOutput(); err != nil {
				t.Errorf("%s in %s: %v: %s", name, c[0], err, out)
				continue
			}
			pcm, err := decodeFile(t, path, Options{})
			if err != nil {
				t.Errorf("%s in %s: %v", name, c[0], err)
				continue
			}
			if pcm.Info.SampleRate != want.Info.SampleRate || pcm.Info.Channels != want.Info.Channels || pcm.Info.Faults != nil {
				t.Errorf("%s in %s: got %+v, want %+v", name, c[0], pcm.Info, want.Info)
			}
			if n := len(pcm.Samples); n < len(want.Samples)*9/10 || n > len(want.Samples) || maxDiff(pcm.Samples, want.Samples[:n]) > 1e-6 {
				t.Errorf("%s in %s: got %d other samples than the %d there are", name, c[0], n, len(want.Samples))
			}
		}
	}
}

// TestAACAgainstFFmpeg holds what is decoded of the corpus to what ffmpeg makes of the same files,
// of which at high rates only every other sample is taken here.
func TestAACAgainstFFmpeg(t *testing.T) {
	for _, name := range []string{"aac-adts.aac", "m4a-aac-44100-mono.m4a", "m4a-aac-faststart.m4a", "mov-aac.mov", "mp4-fragmented-aac.mp4", "mp4-video-aac.mp4", "m4a-aac-16000-mono.m4a"} {
		path := sharedPath(t, "audio", "formats", name)
		want := throughFFmpeg(t, path, "")
		pcm, err := decodeFile(t, path, Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if pcm.Info.SampleRate < 16000 || pcm.Info.SampleRate == 22050 {
			t.Errorf("%s: got %+v", name, pcm.Info)
		}
		db := errorDB(pcm.Samples, want)
		t.Logf("%s: %.1f dB, %d Hz", name, db, pcm.Info.SampleRate)
		if db > -60 {
			t.Errorf("%s: the error is at %.1f dB", name, db)
		}
	}
}

func FuzzADTS(f *testing.F) {
	for _, name := range []string{"16000-mono", "44100-clicks", "32000-six"} {
		f.Add(adtsFile(f, name)[2:1000])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		// A frame has at least 8 bytes and makes 1024 samples of 7350 Hz or more; lost
		// bytes make no more silence than frames would.
		checkDecode(t, append([]byte{0xff, 0xf1}, b...), 1024*16000/7350/8+1)
	})
}
