package audioprep

import (
	"encoding/binary"
	"math"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

// tone is seconds of a sine of 1 kHz at a level in dBFS, the same on all channels.
func tone(seconds float64, rate, channels int, level float64) []float32 {
	amplitude := math.Pow(10, level/20)
	x := make([]float32, int(seconds*float64(rate))*channels)
	for i := range x {
		x[i] = float32(amplitude * math.Sin(2*math.Pi*1000*float64(i/channels)/float64(rate)))
	}
	return x
}

func lufs(x []float32, channels, rate int) float64 {
	l := newLoudness(channels, rate)
	l.write(x)
	return integrated(l.steps)
}

// TestLoudness holds the measure to the signals of EBU Tech 3341 (cases 1 to 5), whose tolerance is 0.1 LU. They are in
// stereo; a level in one channel alone is 3 dB less.
func TestLoudness(t *testing.T) {
	for _, rate := range []int{8000, 16000, 44100, 48000} {
		x := func(parts ...[2]float64) []float32 {
			var all []float32
			for _, p := range parts {
				all = append(all, tone(p[0], rate, 2, p[1])...)
			}
			return all
		}
		for _, c := range []struct {
			name string
			x    []float32
			want float64
		}{
			{"1", x([2]float64{20, -23}), -23},
			{"2", x([2]float64{20, -33}), -33},
			{"3", x([2]float64{10, -36}, [2]float64{60, -23}, [2]float64{10, -36}), -23},
			{"4", x([2]float64{10, -72}, [2]float64{10, -36}, [2]float64{60, -23}, [2]float64{10, -36}, [2]float64{10, -72}), -23},
			{"5", x([2]float64{20, -26}, [2]float64{20.1, -20}, [2]float64{20, -26}), -23},
		} {
			if got := lufs(c.x, 2, rate); math.Abs(got-c.want) > 0.1 {
				t.Errorf("%d Hz, case %s: got %.2f LUFS, want %.2f", rate, c.name, got, c.want)
			}
		}
		if got := lufs(tone(5, rate, 1, 0), 1, rate); math.Abs(got - -3.01) > 0.1 {
			t.Errorf("%d Hz, mono at full scale: got %.2f LUFS, want -3.01", rate, got)
		}
	}
	if got := lufs(tone(0.3, 16000, 1, -20), 1, 16000); !math.IsNaN(got) {
		t.Errorf("less than a block: got %v, want NaN", got)
	}
	if got := lufs(make([]float32, 80000), 1, 16000); !math.IsNaN(got) {
		t.Errorf("silence: got %v, want NaN", got)
	}
}

// TestLoudnessInPieces: where blocks end makes no difference.
func TestLoudnessInPieces(t *testing.T) {
	x := noise(90000, 0.3, 7)
	want := lufs(x, 3, 8000)
	l := newLoudness(3, 8000)
	for rest := x; len(rest) > 0; rest = rest[min(len(rest), 3*101):] {
		l.write(rest[:min(len(rest), 3*101)])
	}
	if got := integrated(l.steps); math.Abs(got-want) > 1e-9 { // sums of other lengths round otherwise
		t.Errorf("got %v in pieces, want %v", got, want)
	}
}

// TestLoudnessAgainstFFmpeg compares with ffmpeg's ebur128 on speech.
func TestLoudnessAgainstFFmpeg(t *testing.T) {
	f := realFFmpeg(t)
	for _, name := range []string{"wav-s16-44100-stereo.wav", "wav-s16-16000-5.1.wav", "wav-s16-8000-mono.wav", "wav-s16-96000-mono.wav"} {
		path := sharedPath(t, "audio", "formats", name)
		out, err := exec.Command(f.path, "-nostats", "-i", path, "-af", "ebur128", "-f", "null", "-").CombinedOutput()
		m := regexp.MustCompile(`I:\s+(-?[0-9.]+) LUFS\n\s+Threshold`).FindSubmatch(out)
		if err != nil || m == nil {
			t.Skipf("this ffmpeg measures no loudness: %v", err)
		}
		want, _ := strconv.ParseFloat(string(m[1]), 64)
		b := readFile(t, filepath.Clean(path))
		channels, rate := int(binary.LittleEndian.Uint16(b[22:])), int(binary.LittleEndian.Uint32(b[24:]))
		if got := lufs(ffmpegDecode(t, path), channels, rate); math.Abs(got-want) > 0.15 {
			t.Errorf("%s: got %.2f LUFS, ffmpeg %.1f", name, got, want)
		}
	}
}
