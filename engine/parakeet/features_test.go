package parakeet

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"hark/engine"
	"hark/models"
)

func newTestFrontEnd(t testing.TB, m *models.ParakeetModel) *frontEnd {
	t.Helper()
	f, err := newFrontEnd(m.Config, m)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// features are those of samples, in memory of their own.
func (f *frontEnd) features(samples []float32) []float32 {
	dst := make([]float32, f.frames(len(samples))*f.bins)
	f.compute(dst, samples)
	return dst
}

// TestFeaturesGolden holds the front end to NeMo's features, with the window and
// filters of the archive and with its own.
func TestFeaturesGolden(t *testing.T) {
	for _, form := range []string{"parakeet-tiny.nemo", "hf"} {
		t.Run(form, func(t *testing.T) {
			f := newTestFrontEnd(t, openTiny(t, form))
			for _, name := range recordings(t, "tiny") {
				want, rows := goldenTensor(t, "tiny", name, "features")
				got := f.features(recordingSamples(t, name))
				if frames := len(got) / f.bins; frames != rows-1 {
					t.Fatalf("%s: %d frames, want %d and a row of zeros", name, frames, rows)
				}
				d := maxDiff(t, got, want[:len(got)])
				t.Logf("%s: %.2g", name, d)
				if !(d <= 2e-3) {
					t.Errorf("%s: features differ by %g", name, d)
				}
			}
		})
	}
}

// testConfig is the front end of the released models.
func testConfig() models.ParakeetConfig {
	return models.ParakeetConfig{SampleRate: 16000, Features: 128, NFFT: 512, WindowSamples: 400, HopSamples: 160, Preemphasis: 0.97}
}

func noise(n int, seed uint64) []float32 {
	r := rand.New(rand.NewPCG(seed, 7))
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64()) * 0.1
	}
	return x
}

// slowFeatures is the front end by its definition: a transform term by term, in float64.
func slowFeatures(c models.ParakeetConfig, samples []float32) [][]float64 {
	at := func(p int) float64 {
		if p < 0 || p >= len(samples) {
			return 0
		}
		if p == 0 {
			return float64(samples[0])
		}
		return float64(samples[p]) - c.Preemphasis*float64(samples[p-1])
	}
	filters := engine.MelFilters(c.Features, c.NFFT)
	powers := c.NFFT/2 + 1
	x := make([][]float64, len(samples)/c.HopSamples)
	for t := range x {
		x[t] = make([]float64, c.Features)
		for k := range powers {
			var re, im float64
			for i := range c.WindowSamples {
				w := 0.5 - 0.5*math.Cos(2*math.Pi*float64(i)/float64(c.WindowSamples-1))
				n := (c.NFFT-c.WindowSamples)/2 + i
				sin, cos := math.Sincos(2 * math.Pi * float64(k*n%c.NFFT) / float64(c.NFFT))
				v := w * at(t*c.HopSamples-c.NFFT/2+n)
				re, im = re+v*cos, im-v*sin
			}
			for b := range x[t] {
				x[t][b] += float64(filters[b*powers+k]) * (re*re + im*im)
			}
		}
		for b, v := range x[t] {
			x[t][b] = math.Log(v + math.Pow(2, -24))
		}
	}
	for b := range c.Features {
		var mean, dev float64
		for t := range x {
			mean += x[t][b] / float64(len(x))
		}
		for t := range x {
			dev += (x[t][b] - mean) * (x[t][b] - mean)
		}
		dev = math.Sqrt(dev / float64(max(1, len(x)-1)))
		for t := range x {
			x[t][b] = (x[t][b] - mean) / (dev + 1e-5)
		}
	}
	return x
}

// TestFeaturesDefinition has lengths around a frame's, and transforms of other sizes.
func TestFeaturesDefinition(t *testing.T) {
	odd := testConfig()
	odd.WindowSamples, odd.NFFT, odd.HopSamples, odd.Features, odd.Preemphasis = 401, 1024, 200, 80, 0
	for name, c := range map[string]models.ParakeetConfig{"released": testConfig(), "another": odd} {
		f, err := newFrontEnd(c, &models.Weights{})
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{0, 1, 159, 160, 161, 319, 320, 1000, 4321} {
			got, want := f.features(noise(n, 3)), slowFeatures(c, noise(n, 3))
			if len(got) != len(want)*c.Features {
				t.Fatalf("%s, %d samples: %d frames, want %d", name, n, len(got)/c.Features, len(want))
			}
			for i, row := range want {
				for b, v := range row {
					if d := math.Abs(float64(got[i*c.Features+b]) - v); !(d <= 5e-4) {
						t.Fatalf("%s, %d samples, frame %d, bin %d: got %v, want %v", name, n, i, b, got[i*c.Features+b], v)
					}
				}
			}
		}
	}
}

// TestFeaturesOfNothing has windows whose bins don't change: digital silence, and a single frame.
func TestFeaturesOfNothing(t *testing.T) {
	f, err := newFrontEnd(testConfig(), &models.Weights{})
	if err != nil {
		t.Fatal(err)
	}
	for name, samples := range map[string][]float32{"silence": make([]float32, 16000), "one frame": noise(160, 1), "one frame and a half": noise(319, 1)} {
		for _, v := range f.features(samples) {
			if v != 0 {
				t.Fatalf("%s: a feature of %v", name, v)
			}
		}
	}
}

// TestFeaturesAgain holds a front end that has worked before to the same bits.
func TestFeaturesAgain(t *testing.T) {
	f, err := newFrontEnd(testConfig(), &models.Weights{})
	if err != nil {
		t.Fatal(err)
	}
	want := f.features(noise(5000, 1))
	f.features(noise(80000, 2))
	if !slices.Equal(f.features(noise(5000, 1)), want) {
		t.Error("not the same again")
	}
}

func TestFrontEndRefuses(t *testing.T) {
	c := testConfig()
	c.SampleRate = 8000
	if _, err := newFrontEnd(c, &models.Weights{}); err == nil {
		t.Error("a sample rate of 8 kHz: no error")
	}
	c = testConfig()
	c.NFFT = 1 << 16
	if _, err := newFrontEnd(c, &models.Weights{}); err == nil {
		t.Error("a transform of 65536 samples: no error")
	}
	tiny := openTiny(t, "parakeet-tiny.nemo")
	c = tiny.Config
	c.Features = 80
	if _, err := newFrontEnd(c, tiny); err == nil {
		t.Error("filters of another shape: no error")
	}
}

// BenchmarkFeatures is beside Whisper's log-mel of as many bins, for 30 s.
func BenchmarkFeatures(b *testing.B) {
	samples := noise(30*16000, 1)
	perSecond := func(b *testing.B) {
		b.ReportMetric(30*float64(b.N)/b.Elapsed().Seconds(), "audio-s/s")
	}
	b.Run("parakeet", func(b *testing.B) {
		f, err := newFrontEnd(testConfig(), &models.Weights{})
		if err != nil {
			b.Fatal(err)
		}
		dst := make([]float32, 3000*f.bins)
		for b.Loop() {
			f.compute(dst, samples)
		}
		perSecond(b)
	})
	b.Run("whisper", func(b *testing.B) {
		m := engine.NewMel(128)
		dst := make([]float32, 3000*128)
		for b.Loop() {
			m.Window(dst, samples, 3000)
		}
		perSecond(b)
	})
}
