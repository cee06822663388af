package audioprep

import (
	"fmt"
	"math"
	"testing"
)

// sweepRates are the rates that are met, and some that are not.
var sweepRates = []int{8000, 11025, 12000, 12345, 22050, 24000, 32000, 44100, 44101, 48000, 96000, 192000, 4000, 768000}

func sine(n int, hz float64, rate int, phase float64) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(math.Sin(2*math.Pi*hz*float64(i)/float64(rate) + phase))
	}
	return x
}

func resampleAll(x []float32, from int) []float32 {
	r := newResampler(from, SampleRate)
	return r.flush(r.write(nil, x))
}

// TestResamplePassBand holds frequencies over the whole pass-band to the sine
// they must become: gain, phase and every kind of distortion at once. The
// largest difference allowed is -80 dB for gain ripple of 0.001 dB (1.1e-4).
func TestResamplePassBand(t *testing.T) {
	for _, rate := range sweepRates {
		t.Run(fmt.Sprint(rate), func(t *testing.T) {
			nyquist := float64(min(rate, SampleRate)) / 2
			edge := int(0.05 * float64(SampleRate)) // the filter's length at the ends
			for _, part := range []float64{0, 0.01, 0.1, 0.3, 0.5, 0.7, 0.8, 0.85, 0.9, passEdge} {
				hz := part * nyquist
				y := resampleAll(sine(rate/4, hz, rate, 1), rate)
				if len(y) != SampleRate/4 {
					t.Fatalf("got %d samples, want %d", len(y), SampleRate/4)
				}
				for i := edge; i < len(y)-edge; i++ {
					want := math.Sin(2*math.Pi*hz*float64(i)/SampleRate + 1)
					if d := math.Abs(float64(y[i]) - want); d > 1e-4 {
						t.Fatalf("%.0f Hz: sample %d is %.6f, want %.6f", hz, i, y[i], want)
					}
				}
			}
		})
	}
}

// TestResampleStopBand: what lies beyond the lower Nyquist frequency must be
// gone, for down-sampling as aliases, for up-sampling as images.
// The table at the top of resample.go has the figures of other resamplers.
func TestResampleStopBand(t *testing.T) {
	for _, rate := range sweepRates {
		if rate <= SampleRate {
			continue
		}
		t.Run(fmt.Sprint(rate), func(t *testing.T) {
			edge := int(0.05 * float64(SampleRate))
			for _, part := range []float64{0, 0.02, 0.1, 0.25, 0.5, 0.75, 0.99} {
				hz := 8000 + part*(float64(rate)/2-8000)
				y := resampleAll(sine(rate/4, hz, rate, 1), rate)
				if db := rmsDB(y[edge:len(y)-edge]) + 3.01; db > -100 {
					t.Errorf("%.0f Hz comes through at %.1f dB", hz, db)
				}
			}
		})
	}
	// Images: everything that is not the sine itself.
	for _, rate := range []int{8000, 11025, 12000, 12345} {
		t.Run(fmt.Sprint(rate), func(t *testing.T) {
			hz := 0.9 * float64(rate) / 2
			y := resampleAll(sine(rate, hz, rate, 0), rate)
			y = y[2000 : len(y)-2000]
			image := float64(rate) - hz
			if image > 8000 {
				image = 16000 - image
			}
			var re, im float64
			for i, v := range y {
				w := 0.5 - 0.5*math.Cos(2*math.Pi*float64(i)/float64(len(y)))
				sin, cos := math.Sincos(2 * math.Pi * image * float64(i) / SampleRate)
				re += w * float64(v) * cos
				im += w * float64(v) * sin
			}
			if db := 20 * math.Log10(4*math.Hypot(re, im)/float64(len(y))); db > -98 {
				t.Errorf("the image at %.0f Hz has %.1f dB", image, db)
			}
		})
	}
}

func rmsDB(x []float32) float64 {
	sum := 0.0
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	return 10 * math.Log10(sum/float64(len(x))+1e-20)
}

// TestResampleImpulse: an impulse stays where it is, and is symmetric there.
func TestResampleImpulse(t *testing.T) {
	for _, rate := range []int{8000, 48000, 96000} {
		x := make([]float32, rate/2)
		x[rate/4] = 1
		y := resampleAll(x, rate)
		best := 0
		for i, v := range y {
			if v > y[best] {
				best = i
			}
		}
		if best != SampleRate/4 {
			t.Errorf("%d Hz: the impulse is at sample %d, want %d", rate, best, SampleRate/4)
		}
		for d := 1; d < 200; d++ {
			if a, b := y[best-d], y[best+d]; math.Abs(float64(a-b)) > 1e-6 {
				t.Errorf("%d Hz: not symmetric %d from the middle: %v, %v", rate, d, a, b)
				break
			}
		}
	}
}

// TestResamplePieces: the result does not depend on how the input comes.
func TestResamplePieces(t *testing.T) {
	for _, rate := range []int{8000, 16000, 44100, 44101, 192000} {
		x := noise(30011, 0.5, 7)
		want := resampleAll(x, rate)
		r := newResampler(rate, SampleRate)
		var got []float32
		for at, n := 0, 1; at < len(x); n = n*7%997 + 1 {
			to := min(len(x), at+n)
			got = r.write(got, x[at:to])
			at = to
		}
		got = r.flush(got)
		if !equal(got, want) {
			t.Errorf("%d Hz: other samples when written in pieces", rate)
		}
	}
}

// TestResampleLength: round(n·16000/rate), for every small n.
func TestResampleLength(t *testing.T) {
	for _, rate := range sweepRates {
		for _, n := range []int{0, 1, 2, 3, 5, 47, 48, 49, 100, 101, 1000, 1001} {
			want := int(math.Floor(float64(n)*SampleRate/float64(rate) + 0.5))
			if got := len(resampleAll(make([]float32, n), rate)); got != want {
				t.Errorf("%d samples at %d Hz: got %d, want %d", n, rate, got, want)
			}
		}
	}
}

func equal(a, b []float32) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// noise is white noise in [-amp, amp], the same for the same seed.
func noise(n int, amp float32, seed uint32) []float32 {
	x := make([]float32, n)
	for i := range x {
		seed = seed*1664525 + 1013904223
		x[i] = amp * (float32(seed>>8)/(1<<23) - 1)
	}
	return x
}

func BenchmarkResample(b *testing.B) {
	for _, rate := range []int{8000, 44100, 44101, 48000} {
		b.Run(fmt.Sprint(rate), func(b *testing.B) {
			x := noise(10*rate, 0.5, 1)
			for b.Loop() {
				resampleAll(x, rate)
			}
			b.ReportMetric(float64(b.N)*10/b.Elapsed().Seconds(), "audio-s/s")
		})
	}
}
