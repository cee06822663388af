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

// raised is a signal with a constant offset.
func raised(x []float32, offset float32) []float32 {
	y := append([]float32(nil), x...)
	for i := range y {
		y[i] += offset
	}
	return y
}

func mixAll(channels int, x []float32) []float32 {
	m := newMixer("", channels, SampleRate)
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
		{"centre of six", interleave(zero, zero, s, zero, zero, zero), 6, 1, s},
		{"front of six", interleave(s, zero, zero, zero, zero, zero), 6, math.Sqrt2 / 2, s},
		{"back of six", interleave(zero, zero, zero, zero, s, zero), 6, 0.5, s},
		{"rumble beside the voice", interleave(zero, zero, s, loud, zero, zero), 6, 1, s},
		{"nothing but rumble", interleave(zero, zero, zero, s, zero, zero), 6, 1, s},
		{"full scale on all of six", interleave(loud, loud, loud, loud, loud, loud), 6, 1, loud},
		{"opposite fronts of six", interleave(s, upside, zero, zero, zero, zero), 6, 1, s},
		{"one of sixteen", interleave(s, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero), 16, 0.25, s},
		{"opposite, with an offset", interleave(raised(s, 0.3), raised(upside, 0.3)), 2, 1, raised(s, 0.3)},
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
	m := newMixer("", 2, SampleRate)
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

// TestMixPiecesLoud: nor where blocks are made quieter, by the loudness of the next one.
func TestMixPiecesLoud(t *testing.T) {
	channels := make([][]float32, 6)
	for c := range channels {
		channels[c] = noise(20011, 0.9, uint32(c/3)) // three alike, and three
		for i := 8000; i < 12000; i++ {
			channels[c][i] *= 0.01
		}
	}
	x := interleave(channels...)
	want := mixAll(6, x)
	if len(want) != 20011 {
		t.Fatalf("got %d samples", len(want))
	}
	for i, v := range want {
		if v < -1 || v > 1 {
			t.Fatalf("sample %d is %v", i, v)
		}
	}
	m := newMixer("", 6, SampleRate)
	var got []float32
	for at, n := 0, 1; at < len(x); n = n*7%997 + 1 {
		to := min(len(x), at+6*n)
		got = m.mix(got, x[at:to])
		at = to
	}
	if got = m.flush(got); !equal(got, want) {
		t.Error("other samples when mixed in pieces")
	}
}

// TestMixWeights: the same six channels in the order of each codec.
func TestMixWeights(t *testing.T) {
	const f = math.Sqrt2 / 2
	for codec, want := range map[string][]float32{
		"flac": {f, f, 1, 0, 0.5, 0.5}, "pcm_s16": {f, f, 1, 0, 0.5, 0.5},
		"opus": {f, 1, f, 0.5, 0.5, 0}, "vorbis": {f, 1, f, 0.5, 0.5, 0}, "aac": {1, f, f, 0.5, 0.5, 0}, "alac": {1, f, f, 0.5, 0.5, 0},
	} {
		if got := mixWeights(codec, 6); !equal(got, want) {
			t.Errorf("%s: got %v, want %v", codec, got, want)
		}
	}
	for channels := 1; channels <= maxChannels; channels++ {
		for _, codec := range []string{"wav", "opus", "aac"} {
			if got := mixWeights(codec, channels); len(got) != channels {
				t.Errorf("%s: %d weights for %d channels", codec, len(got), channels)
			}
		}
	}
}
