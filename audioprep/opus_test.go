package audioprep

import (
	"encoding/binary"
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// ffmpeg's libopus is the reference here, told to put out floats: else it rounds to 16 bits
// and bends loud peaks. ffmpeg's own decoder "opus" is 11 to 26 dB from libopus wherever SILK
// is in it, since it takes SILK to 48 kHz by another filter, with another delay.

// libopus returns what libopus decodes, interleaved, by way of a WAV file.
func libopus(t *testing.T, path string, args ...string) []byte {
	t.Helper()
	ffmpeg, err := exec.LookPath("ffmpeg")
	if err != nil {
		t.Skip("no ffmpeg on PATH: nothing to compare with")
	}
	args = append([]string{"-v", "error", "-request_sample_fmt", "flt", "-c:a", "libopus", "-i", path, "-map", "0:a:0"}, args...)
	out, err := exec.Command(ffmpeg, append(args, "-")...).Output()
	if err != nil {
		t.Skipf("ffmpeg has no libopus: %v", err)
	}
	return out
}

// TestOpusCorpus holds the corpus's files, whose encoders are several, to libopus.
func TestOpusCorpus(t *testing.T) {
	var files []string
	for _, pattern := range []string{"formats/*opus*", "clips/fleurs-*.ogg"} {
		some, err := filepath.Glob(sharedPath(t, "audio", pattern))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, some...)
	}
	if len(files) < 10 {
		t.Fatalf("got %d files", len(files))
	}
	for _, path := range files {
		if strings.Contains(path, "chained") {
			continue // ffmpeg goes on with the first stream's state in the second one
		}
		t.Run(filepath.Base(path), func(t *testing.T) {
			checkOpus(t, path)
		})
	}
}

// checkOpus holds what becomes of a file, at 16 kHz, to what becomes of libopus's samples.
func checkOpus(t *testing.T, path string) {
	t.Helper()
	want, err := decodeBytes(libopus(t, path, "-c:a", "pcm_f32le", "-f", "wav"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := decodeFile(t, path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	db := errorDB(got.Samples, want.Samples)
	t.Logf("%.1f dB", db)
	if db > -100 {
		t.Errorf("the error is at %.1f dB", db)
	}
	if d := len(got.Samples) - len(want.Samples); d < -1 || d > 1 {
		t.Errorf("got %d samples, ffmpeg %d", len(got.Samples), len(want.Samples))
	}
}

// ffmpegOpus encodes speech with ffmpeg's libopus.
func ffmpegOpus(t *testing.T, name string, args ...string) (path string) {
	t.Helper()
	ffmpeg, err := exec.LookPath("ffmpeg")
	if err != nil {
		t.Skip("no ffmpeg on PATH: nothing to encode with")
	}
	path = filepath.Join(t.TempDir(), name)
	args = append([]string{
		"-v", "error", "-i", sharedPath(t, "audio", "clips", "jfk-44k-stereo.flac"), "-t", "4", "-ar", "48000", "-c:a", "libopus",
	}, append(args, path)...)
	if out, err := exec.Command(ffmpeg, args...).CombinedOutput(); err != nil {
		t.Skipf("ffmpeg has no encoder for it: %v\n%s", err, out)
	}
	return path
}

// TestOpusModes holds streams of every mode, bandwidth and duration to libopus.
func TestOpusModes(t *testing.T) {
	configs := map[byte]bool{}
	for _, c := range []string{
		"-b:a 6k -cutoff 4000 -application voip -ac 1", "-b:a 8k -cutoff 4000 -application voip -frame_duration 60 -ac 1",
		"-b:a 10k -cutoff 6000 -application voip -ac 1", "-b:a 14k -cutoff 6000 -application voip -frame_duration 40 -ac 2",
		"-b:a 12k -cutoff 8000 -application voip -frame_duration 10 -ac 1", "-b:a 24k -cutoff 8000 -application voip -ac 2",
		"-b:a 20k -cutoff 12000 -application voip -ac 1", "-b:a 24k -cutoff 12000 -application voip -frame_duration 10 -ac 1",
		"-b:a 24k -application voip -ac 1", "-b:a 40k -application voip -frame_duration 10 -ac 2",
		"-b:a 32k -cutoff 4000 -application lowdelay -frame_duration 5 -ac 1",
		"-b:a 48k -cutoff 8000 -application lowdelay -frame_duration 2.5 -ac 2",
		"-b:a 64k -cutoff 12000 -application lowdelay -frame_duration 10 -ac 2", "-b:a 64k -application lowdelay -ac 2",
		"-b:a 96k -application audio -vbr off -ac 2", "-b:a 32k -application audio -frame_duration 120 -ac 2",
		"-b:a 16k -application voip -fec 1 -packet_loss 20 -ac 1",
	} {
		t.Run(c, func(t *testing.T) {
			path := ffmpegOpus(t, "x.opus", strings.Fields(c)...)
			packets, _ := oggPackets(t, readFile(t, path))
			for _, p := range packets[2:] {
				configs[p[0]>>3] = true
			}
			checkOpus(t, path)
		})
	}
	if len(configs) == 0 {
		t.Skip("no ffmpeg on PATH: nothing was encoded")
	}
	// The first of each four, or two, is a bandwidth in a mode.
	for _, first := range []byte{0, 4, 8, 12, 14, 16, 20, 24, 28} {
		n := byte(4)
		if first == 12 || first == 14 {
			n = 2
		}
		found := false
		for i := range n {
			found = found || configs[first+i]
		}
		if !found {
			t.Errorf("no stream has a configuration from %d to %d", first, first+n-1)
		}
	}
}

// TestOpusChannels holds streams of more than two channels to libopus, channel by channel.
func TestOpusChannels(t *testing.T) {
	for _, c := range []struct {
		name string
		args string
		// order is for each of ffmpeg's channels which of the stream's it is (RFC 7845,
		// section 5.1.1.2, and ffmpeg's order of speakers, which it takes three by
		// themselves for as well).
		order []int
	}{
		{"5.1", "-filter:a pan=5.1|c0=c0|c1=c1|c2=0.5*c0|c3=0.3*c1|c4=0.4*c0|c5=0.2*c1 -mapping_family 1 -b:a 128k", []int{0, 2, 1, 5, 3, 4}},
		{"three by themselves", "-filter:a pan=3.0|c0=c0|c1=c1|c2=0.5*c0 -mapping_family 255 -b:a 96k", []int{0, 2, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := ffmpegOpus(t, "x.opus", strings.Fields(c.args)...)
			got := opusSamples(t, path)
			raw := libopus(t, path, "-f", "f32le")
			n := len(c.order)
			for to, from := range c.order {
				var x, want []float32
				for i := 0; (i+1)*n <= min(len(got), len(raw)/4); i++ {
					x = append(x, got[i*n+from])
					want = append(want, math.Float32frombits(binary.LittleEndian.Uint32(raw[4*(i*n+to):])))
				}
				if db := errorDB(x, want); db > -100 {
					t.Errorf("channel %d: the error is at %.1f dB", from, db)
				}
			}
		})
	}
}

// opusSamples decodes the packets of an Ogg file to interleaved samples without the
// pre-skip.
func opusSamples(t *testing.T, path string) (all []float32) {
	t.Helper()
	packets, _ := oggPackets(t, readFile(t, path))
	c, skip, err := newOpusCodec(packets[0])
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range packets[2:] {
		x, err := c.decode(p)
		if err != nil {
			t.Fatal(fmt.Errorf("packet %d: %w", i, err))
		}
		all = append(all, x...)
	}
	return all[skip*c.channels:]
}

// TestOpusEnds: what was encoded comes out, no sample more and none less, and where it
// was.
func TestOpusEnds(t *testing.T) {
	for _, name := range []string{"x.opus", "x.webm", "x.mka"} {
		for _, ms := range []string{"1000", "1003", "987"} {
			t.Run(name+" "+ms, func(t *testing.T) {
				path := ffmpegOpus(t, name, "-ac", "1", "-b:a", "24k", "-af", "atrim=0:"+ms+"ms")
				checkOpus(t, path)
			})
		}
	}
}
