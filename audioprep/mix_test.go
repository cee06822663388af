package audioprep

import (
	"math"
	"testing"
)

// interleave puts channels of equal length together.
func interleave(channels ...[]float32) []float32 {
	out := make([]float32, 0, len(channels)*len(channels[0]))
	for i := range channels[0] {
		for _, c := range channels {
			out = append(out, c[i])
		}
	}
	return out
}

func mixAll(channels int, x []float32) []float32 {
	m := newMixer(channels, SampleRate)
	return m.flush(m.mix(nil, x))
}

func TestMix(t *testing.T) {
	s := scaled(sine(SampleRate, 440, SampleRate, 0), 0.5)
	loud := sine(SampleRate, 440, SampleRate, 0)
	zero := make([]float32, len(s))
	upside := scaled(append([]float32(nil), s...), -1)
	quieter := scaled(append([]float32(nil), s...), -0.9)
	for _, c := range []struct {
		name string
		in   []float32
		n    int
		gain float64 // of s expected
		want []float32
	}{
		{"mono", s, 1, 1, s},
		{"same on both", interleave(s, s), 2, 1, s},
		{"right only", interleave(zero, s), 2, 0.5, s},
		{"centre of six", interleave(zero, zero, s, zero, zero, zero), 6, 1.0 / 6, s},
		{"full scale on all", interleave(loud, loud, loud), 3, 1, loud},
		{"opposite", interleave(s, upside), 2, 1, s},
		{"nearly opposite", interleave(s, quieter), 2, 1, s},
	} {
		y := mixAll(c.n, c.in)
		if len(y) != len(c.want) {
			t.Errorf("%s: got %d samples, want %d", c.name, len(y), len(c.want))
			continue
		}
		// The first block may fade in.
		for i := SampleRate / 20; i < len(y); i++ {
			if d := math.Abs(math.Abs(float64(y[i])) - c.gain*math.Abs(float64(c.want[i]))); d > 1e-6 {
				t.Errorf("%s: sample %d is %v, want %v of %v", c.name, i, y[i], c.gain, c.want[i])
				break
			}
		}
	}
}

// TestMixPieces: the result does not depend on how the input comes.
func TestMixPieces(t *testing.T) {
	a, b := noise(20011, 0.5, 1), noise(20011, 0.5, 2)
	for i := 5000; i < 12000; i++ {
		b[i] = -a[i] // so that the choice changes on the way
	}
	x := interleave(a, b)
	want := mixAll(2, x)
	m := newMixer(2, SampleRate)
	var got []float32
	for at, n := 0, 1; at < len(x); n = n*7%997 + 1 {
		to := min(len(x), at+2*n)
		got = m.mix(got, x[at:to])
		at = to
	}
	if got = m.flush(got); !equal(got, want) {
		t.Error("other samples when mixed in pieces")
	}
	if rms := rmsDB(want[6000:11000]); rms < -20 {
		t.Errorf("the opposite stretch has %.1f dB", rms)
	}
}
