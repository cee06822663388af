package audioprep

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os/exec"
	"slices"
	"testing"
	"time"
)

// throughSoxr resamples with libsoxr at its best, as ffmpeg has it built in, and returns the CPU time of the process.
// An empty filter only takes the samples through.
func throughSoxr(t testing.TB, x []float32, rate int, filter string) (y []float32, cpu time.Duration) {
	t.Helper()
	ffmpeg, err := exec.LookPath("ffmpeg")
	if err != nil {
		t.Skip("no ffmpeg on PATH: nothing to compare with")
	}
	cmd := exec.Command(ffmpeg, "-v", "error", "-threads", "1", "-f", "f32le", "-ar", fmt.Sprint(rate), "-ac", "1", "-i", "-",
		"-af", filter, "-f", "f32le", "-c:a", "pcm_f32le", "-")
	cmd.Stdin = bytes.NewReader(asBytes(x))
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("this ffmpeg has no soxr: %v", err)
	}
	y = make([]float32, len(out)/4)
	for i := range y {
		y[i] = math.Float32frombits(binary.LittleEndian.Uint32(out[4*i:]))
	}
	return y, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}

const soxrBest = "aresample=16000:resampler=soxr:precision=28"

// TestResampleAgainstSoxr: what lies in the pass-band comes out as soxr's best has it.
func TestResampleAgainstSoxr(t *testing.T) {
	for _, rate := range []int{8000, 22050, 44100, 48000} {
		x := make([]float32, 2*rate)
		edge := 0.88 * float64(min(rate, SampleRate)) / 2
		for k := range 12 {
			for i, v := range sine(len(x), edge*float64(k+1)/12, rate, float64(k)) {
				x[i] += v / 12
			}
		}
		want, _ := throughSoxr(t, x, rate, soxrBest)
		got := resampleAll(x, rate)
		if d := len(got) - len(want); d < -1 || d > 1 {
			t.Errorf("%d Hz: got %d samples, soxr %d", rate, len(got), len(want))
		}
		n := min(len(got), len(want)) - 2000                    // the ends are each one's own
		if db := errorDB(got[2000:n], want[2000:n]); db > -70 { // of which soxr's own ripple is -74 at 44.1 kHz
			t.Errorf("%d Hz: %.1f dB off soxr's", rate, db)
		}
	}
}

// TestResampleDrift: after an hour, the samples are still where they belong.
func TestResampleDrift(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some seconds")
	}
	for _, rate := range []int{11025, 12345} { // by the exact bank, and the interpolated one
		const hz = 1000
		r := newResampler(rate, SampleRate)
		block := sine(rate, hz, rate, 0) // a second, after which it repeats itself
		var out, before []float32
		for range 3600 {
			before = append(before[:0], out...)
			out = r.write(out[:0], block)
		}
		out = r.flush(append(before, out...)) // the last two seconds
		for i := len(out) - 3*SampleRate/2; i < len(out)-SampleRate/2; i++ {
			at := 3600*SampleRate - (len(out) - i)
			want := math.Sin(2 * math.Pi * hz * float64(at%SampleRate) / SampleRate)
			if d := math.Abs(float64(out[i]) - want); d > 1e-4 {
				t.Fatalf("%d Hz: the sample at %.4f s is %.6f, want %.6f", rate, float64(at)/SampleRate, out[i], want)
			}
		}
		if r.out != 3600*SampleRate {
			t.Errorf("%d Hz: got %d samples of an hour, want %d", rate, r.out, 3600*SampleRate)
		}
	}
}

// BenchmarkResampleBesideSoxr compares the CPU time of resampling a minute, soxr's without what ffmpeg takes to pass
// samples through. They take turns; the medians are told.
func BenchmarkResampleBesideSoxr(b *testing.B) {
	for _, rate := range []int{8000, 44100, 48000} {
		b.Run(fmt.Sprint(rate), func(b *testing.B) {
			x := noise(60*rate, 0.5, 1)
			var ours, theirs []float64
			var out []float32
			for b.Loop() {
				before := cpuTime()
				r := newResampler(rate, SampleRate)
				for at := 0; at < len(x); at += 16384 {
					out = r.write(out[:0], x[at:min(len(x), at+16384)])
				}
				out = r.flush(out[:0])
				ours = append(ours, (cpuTime() - before).Seconds())
				_, with := throughSoxr(b, x, rate, soxrBest)
				_, without := throughSoxr(b, x, rate, "anull")
				theirs = append(theirs, (with - without).Seconds())
			}
			slices.Sort(ours)
			slices.Sort(theirs)
			b.ReportMetric(60/ours[len(ours)/2], "audio-s/cpu-s")
			b.ReportMetric(60/theirs[len(theirs)/2], "soxr-audio-s/cpu-s")
		})
	}
}
