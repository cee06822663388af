package engine

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"hark/internal/npy"
)

// melGolden is a path in the folder of reference values. Without it the test is skipped, unless CI is set.
func melGolden(tb testing.TB, path string) string {
	tb.Helper()
	dir := os.Getenv("HARK_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared")
	}
	path = filepath.Join(dir, path)
	if _, err := os.Stat(path); err != nil {
		if os.Getenv("CI") != "" {
			tb.Fatalf("reference values: %v", err)
		}
		tb.Skipf("no reference values: %v (set HARK_SHARED to where they are)", err)
	}
	return path
}

func melMatrix(t *testing.T, name string) (rows, cols int, data []float32) {
	t.Helper()
	shape, data, err := npy.Read(melGolden(t, "golden/whisper/mel/"+name))
	if err != nil {
		t.Fatal(err)
	}
	return shape[0], shape[len(shape)-1], data
}

// melClip is the samples of a reference clip: 16 kHz mono 16-bit WAV files with their samples last.
func melClip(t *testing.T, name string) []float32 {
	t.Helper()
	b, err := os.ReadFile(melGolden(t, "golden/whisper/audio/"+name+".wav"))
	if err != nil {
		t.Fatal(err)
	}
	for pos := 12; pos+8 <= len(b); {
		size := int(binary.LittleEndian.Uint32(b[pos+4:]))
		if string(b[pos:pos+4]) == "data" {
			samples := make([]float32, size/2)
			for i := range samples {
				samples[i] = float32(int16(binary.LittleEndian.Uint16(b[pos+8+2*i:]))) / 32768
			}
			return samples
		}
		pos += 8 + size + size&1
	}
	t.Fatalf("%s: no samples", name)
	return nil
}

func TestMelFilters(t *testing.T) {
	for _, bins := range []int{80, 128} {
		rows, cols, want := melMatrix(t, fmt.Sprintf("filters_%d.npy", bins))
		if rows != bins || cols != 201 {
			t.Fatalf("reference of %d x %d", rows, cols)
		}
		got := MelFilters(bins, melFFT)
		for i := range want {
			if math.Abs(float64(got[i]-want[i])) > 1e-7 {
				t.Fatalf("%d bins: filter %d at FFT bin %d: got %v, want %v", bins, i/cols, i%cols, got[i], want[i])
			}
		}
	}
}

func TestHann(t *testing.T) {
	n, _, want := melMatrix(t, "hann_400.npy")
	for i := range n {
		// The reference's own arithmetic is float32.
		if got := hann[min(i, n-i)]; math.Abs(float64(got-want[i])) > 3e-7 {
			t.Errorf("point %d: got %v, want %v", i, got, want[i])
		}
	}
}

// TestMelWindow compares windows with openai-whisper's spectrograms.
func TestMelWindow(t *testing.T) {
	for _, name := range []string{"jfk", "lj_02", "noise30"} {
		for _, bins := range []int{80, 128} {
			if bins == 128 && name != "jfk" {
				continue
			}
			rows, frames, want := melMatrix(t, fmt.Sprintf("%s_%d.npy", name, bins))
			if rows != bins {
				t.Fatalf("reference of %d bins", rows)
			}
			got := make([]float32, frames*bins)
			NewMel(bins).Window(got, melClip(t, name), frames)
			var worst float64
			for i := range got {
				frame, bin := i/bins, i%bins
				worst = max(worst, math.Abs(float64(got[i]-want[bin*frames+frame])))
			}
			t.Logf("%s, %d bins: greatest difference %.2g", name, bins, worst)
			if !(worst <= 1e-4) {
				t.Errorf("%s, %d bins: greatest difference %v", name, bins, worst)
			}
		}
	}
}

// TestMelWhole compares whole recordings with sums over openai-whisper's spectrograms.
func TestMelWhole(t *testing.T) {
	data, err := os.ReadFile(melGolden(t, "golden/whisper/mel/stats.json"))
	if err != nil {
		t.Fatal(err)
	}
	var stats map[string]struct {
		Mean, Std, L2, Absmax, Max float64
		Frames                     int
		ContentFrames              int `json:"content_frames"`
	}
	if err := json.Unmarshal(data, &stats); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"jfk", "lj_02", "noise30"} {
		want, ok := stats[name+"_transcribe_80"]
		if !ok {
			t.Fatalf("no sums of %s", name)
		}
		samples := melClip(t, name)
		got := NewMel(80).Whole(samples)
		if len(got) != want.Frames*80 || len(samples)/MelHop != want.ContentFrames {
			t.Fatalf("%s: %d elements for %d frames", name, len(got), want.Frames)
		}
		var sum, squares, most float64
		for _, v := range got {
			sum += float64(v)
			squares += float64(v) * float64(v)
			most = max(most, math.Abs(float64(v)))
		}
		n := float64(len(got))
		mean := sum / n
		for what, d := range map[string]float64{
			"mean": mean - want.Mean, "std": math.Sqrt(squares/n-mean*mean) - want.Std, "absmax": most - want.Absmax,
			"l2": (math.Sqrt(squares) - want.L2) / want.L2, "max": float64(slices.Max(got[:want.ContentFrames*80])) - want.Max,
		} {
			if !(math.Abs(d) <= 2e-5) {
				t.Errorf("%s: %s is off by %v", name, what, d)
			}
		}
	}
}

// naiveMel is the spectrogram by definition, over a signal that is as long as its frames.
func naiveMel(samples []float32, frames, bins int) []float64 {
	length := frames * MelHop
	at := func(p int) float64 {
		for p < 0 || p >= length { // mirrored as often as it takes
			if p < 0 {
				p = -p
			} else {
				p = 2*(length-1) - p
			}
		}
		if p < len(samples) {
			return float64(samples[p])
		}
		return 0
	}
	filters := MelFilters(bins, melFFT)
	out, best := make([]float64, 0, frames*bins), math.Inf(-1)
	for t := range frames {
		var power [melPowers]float64
		for k := range power {
			var re, im float64
			for n := range melFFT {
				sin, cos := math.Sincos(2 * math.Pi * float64(k*n%melFFT) / melFFT)
				v := at(t*MelHop+n-melReach) * (0.5 - 0.5*math.Cos(2*math.Pi*float64(n)/melFFT))
				re, im = re+v*cos, im+v*sin
			}
			power[k] = re*re + im*im
		}
		for b := range bins {
			var sum float64
			for k, p := range power {
				sum += float64(filters[b*melPowers+k]) * p
			}
			v := math.Log10(max(sum, 1e-10))
			out, best = append(out, v), max(best, v)
		}
	}
	for i, v := range out {
		out[i] = (max(v, best-8) + 4) / 4
	}
	return out
}

func TestMelAgainstDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	noise := make([]float32, 60*MelHop)
	for i := range noise {
		noise[i] = float32(r.NormFloat64()) * 0.1
	}
	const frames = 52 // more than a block
	for name, c := range map[string]struct {
		samples []float32
		frames  int
	}{
		"nothing":            {nil, 3},
		"one sample":         {noise[:1], 5},
		"one frame":          {noise[:100], 1},
		"two frames":         {noise[:320], 2},
		"short":              {noise[:1234], frames},
		"a hop and a bit":    {noise[:frames*MelHop-199], frames},
		"all":                {noise[:frames*MelHop], frames},
		"too many":           {noise, frames},
		"silence in between": {slices.Concat(noise[:900], make([]float32, 5000), noise[:700]), frames},
	} {
		m := NewMel(20)
		got := make([]float32, c.frames*20)
		m.Window(got, c.samples, c.frames)
		for i, want := range naiveMel(c.samples, c.frames, 20) {
			if !(math.Abs(float64(got[i])-want) <= 2e-5) {
				t.Errorf("%s: frame %d, bin %d: got %v, want %v", name, i/20, i%20, got[i], want)
				break
			}
		}
	}
	if got := NewMel(80).Whole(nil); len(got) != 3000*80 || got[0] != -1.5 || slices.Max(got) != -1.5 {
		t.Errorf("nothing as a whole: %d elements, %v first", len(got), got[0])
	}
}

// TestMelBeginning: a window of sound and silence is the beginning of the whole, to the bit.
func TestMelBeginning(t *testing.T) {
	m, samples := NewMel(80), melClip(t, "jfk")[:5*SampleRate]
	got := make([]float32, 900*80)
	m.Window(got, samples, 900)
	if !slices.Equal(got, m.Whole(samples)[:len(got)]) {
		t.Error("9 s of a window differ from those of the whole")
	}
}

// TestMelShared runs one Mel from several goroutines.
func TestMelShared(t *testing.T) {
	m := NewMel(80)
	samples := make([]float32, 8000)
	for i := range samples {
		samples[i] = float32(math.Sin(float64(i) * 0.1))
	}
	want := make([]float32, 50*80)
	m.Window(want, samples, 50)
	var g sync.WaitGroup
	for range 4 {
		g.Go(func() {
			got := make([]float32, 50*80)
			m.Window(got, samples, 50)
			if !slices.Equal(got, want) {
				t.Error("not the same as alone")
			}
		})
	}
	g.Wait()
}

func BenchmarkMelWindow(b *testing.B) {
	r := rand.New(rand.NewPCG(3, 4))
	samples := make([]float32, 30*SampleRate)
	for i := range samples {
		samples[i] = float32(r.NormFloat64()) * 0.1
	}
	for _, bins := range []int{80, 128} {
		b.Run(fmt.Sprint(bins), func(b *testing.B) {
			m, dst := NewMel(bins), make([]float32, 3000*bins)
			for b.Loop() {
				m.Window(dst, samples, 3000)
			}
			b.ReportMetric(30*float64(b.N)/b.Elapsed().Seconds(), "audio-s/s")
		})
	}
}
