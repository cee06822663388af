//go:build linux && amd64 && !nocuda

package cuda

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"hark/engine"
	"hark/engine/cuda/emu"
)

// noise is so many samples of moderate loudness.
func (b *bench) noise(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(b.r.NormFloat64()) * 0.1
	}
	return x
}

// wantMel is what Whisper's front end on the host has for some sounds.
func wantMel(m *engine.Mel, sounds []engine.Sound) []float32 {
	var all []float32
	for _, s := range sounds {
		whole := m.Whole(s.Samples)[s.From*m.Bins():][:s.Frames*m.Bins()]
		all = append(append(all, whole...), make([]float32, (s.Rows-s.Frames)*m.Bins())...)
	}
	return all
}

// sameMel holds a spectrogram to the host's. Both transform in float32, and a power 80 dB below its frame's peak
// is the difference of numbers that are a thousand times as large: within 1e-4, as the host's is to the
// reference, beside what the storage rounds.
func (b *bench) sameMel(what string, dst engine.Tensor, want []float32) {
	b.Helper()
	unit := map[format]float64{f16: 0x1p-11, bf16: 0x1p-8, f32: 0}[formatOf(dst)]
	for i, g := range b.get(dst) {
		if w := float64(want[i]); !(math.Abs(float64(g)-w) <= 1e-4+unit*math.Abs(w)) {
			b.Fatalf("%s: row %d, bin %d: got %v, want %v", what, i/dst.Cols, i%dst.Cols, g, w)
		}
	}
}

func TestMelOfSounds(t *testing.T) {
	onBoth(t, func(b *bench) {
		whole := func(samples []float32) engine.Sound {
			return engine.Sound{Samples: samples, Frames: len(samples) / 160, Rows: len(samples)/160 + 2}
		}
		tone := b.noise(4321)
		for i := range tone {
			tone[i] = tone[i]*1e-5 + float32(math.Sin(float64(i)*0.05))
		}
		sounds := []engine.Sound{
			whole(b.noise(3000)),
			{Samples: b.noise(1), Frames: 2, Rows: 2},
			{Samples: b.noise(199), Frames: 5, Rows: 5},                     // shorter than what is mirrored
			{Samples: nil, Frames: 1, Rows: 3},                              // nothing
			{Samples: make([]float32, 1603), Frames: 10, Rows: 10},          // digital silence
			whole(slices.Concat(b.noise(700), make([]float32, 3000), tone)), // silence in between
			{Samples: tone, From: 3, Frames: 17, Rows: 20},                  // a later pass
			{Samples: tone, From: 3, Frames: 0, Rows: 2},
			{Samples: tone, Frames: 40, Rows: 40}, // frames behind the sound
		}
		for i, bins := range []int{80, 128, 20} {
			front := engine.NewMel(bins)
			m := must(b.gpu.NewLogMel(front.Spec()))
			want := wantMel(front, sounds)
			rows := len(want) / bins
			l := layouts[i]
			b.inBothOrders(func(order string) {
				dst := b.blank(rows, bins, l)
				b.gpu.LogMel(dst.gpu, sounds, m)
				what := fmt.Sprint(bins, order)
				b.sameMel(what, dst.gpu, want)
				for _, last := range []int{1, 2} { // alone, and two together
					some, n := sounds[len(sounds)-last:], 0
					for _, s := range some {
						n += s.Rows
					}
					b.alone(what, dst.gpu, n, func(dst engine.Tensor) { b.gpu.LogMel(dst, some, m) })
				}
			})
		}
	})
}

// TestMelNeighbours has sounds beside one whose samples are no numbers, or beyond all measure.
func TestMelNeighbours(t *testing.T) {
	b := newBench(t, F16)
	spec := engine.NewMel(80).Spec()
	level := spec
	level.Range, level.Deviation = 0, 1e-5
	sounds := []engine.Sound{{Samples: b.noise(700), Frames: 4, Rows: 4}, {Samples: b.noise(1000), Frames: 6, Rows: 6}, {Samples: b.noise(500), Frames: 3, Rows: 4}}
	spoilt := slices.Clone(sounds)
	spoilt[1].Samples = slices.Repeat([]float32{float32(math.NaN()), 3e38, float32(math.Inf(1)), -3e38}, 250)
	for name, spec := range map[string]engine.LogMelSpec{"cut": spec, "level": level} {
		m := must(b.gpu.NewLogMel(spec))
		plain := layout{8, 0, false}
		dst, beside := b.blank(14, 80, plain).gpu, b.blank(14, 80, plain).gpu
		b.gpu.LogMel(dst, sounds, m)
		b.gpu.LogMel(beside, spoilt, m)
		want, got := b.get(dst), b.get(beside)
		if !slices.Equal(got[:4*80], want[:4*80]) || !slices.Equal(got[10*80:], want[10*80:]) {
			t.Errorf("%s: a sound shows what is beside it", name)
		}
	}
}

// TestMelPeak: a stretch of a sound whose peak is known is the same to the bit as one for which the device finds it. A
// sound longer than what is computed at once has one peak.
func TestMelPeak(t *testing.T) {
	b := newBench(t, F16)
	front := engine.NewMel(80)
	m := must(b.gpu.NewLogMel(front.Spec()))
	long := make([]float32, melPart*160+5000)
	copy(long[100:], b.noise(2000))
	copy(long[melPart*160-300:], b.noise(1000))
	for i := range 500 { // the loudest, where two parts meet
		long[melPart*160-200+i] = float32(math.Sin(float64(i) * 0.3))
	}
	peak := must(b.gpu.LogMelPeak(long, m))
	const bins, frames = 80, 40
	const from = melPart - 20
	sound := engine.Sound{Samples: long, From: from, Frames: frames, Rows: frames, Peak: peak}
	dst := b.blank(frames, bins, layout{3, 1, true}).gpu
	b.gpu.LogMel(dst, []engine.Sound{sound}, m)
	b.sameMel("known", dst, wantMel(front, []engine.Sound{sound}))
	sound.Peak = 0
	b.alone("found", dst, frames, func(dst engine.Tensor) { b.gpu.LogMel(dst, []engine.Sound{sound}, m) })
	if peak := must(b.gpu.LogMelPeak(nil, m)); peak != 1e-10 {
		t.Errorf("nothing has a peak of %v", peak)
	}
}

// TestMelCounts: a group of windows takes two launches, a memset and a copy for each window's samples, its
// small numbers being those of the group before; a recording's peak a copy of samples, one of small numbers
// and a launch for each part, and one wait.
func TestMelCounts(t *testing.T) {
	d, gpu := emulated(t, Config{})
	m := must(d.NewLogMel(engine.NewMel(80).Spec()))
	const windows, frames, parts = 3, 20, 2
	dst := engine.NewTensor(must(d.Alloc(windows*frames*80)), windows*frames, 80)
	sound := engine.Sound{Samples: make([]float32, frames*160), Frames: frames, Rows: frames}
	recording := make([]float32, (melPart+1)*160)
	for name, c := range map[string]struct {
		run  func()
		want emu.Counts
	}{
		"windows": {
			func() { d.LogMel(dst, slices.Repeat([]engine.Sound{sound}, windows), m) },
			emu.Counts{Launches: 2, Kernels: 2, Memsets: 1, CopiesUp: windows, Waits: 1}, // the test's own
		},
		"a recording": {
			func() { must(d.LogMelPeak(recording, m)) },
			emu.Counts{Launches: parts, Kernels: parts, Memsets: 1, CopiesUp: 2 * parts, CopiesDown: 1, Waits: 2}, // and the test's own
		},
	} {
		var got emu.Counts
		for range 2 { // memory grows in the first
			before := gpu.Counts()
			c.run()
			if err := d.Sync(); err != nil {
				t.Fatal(err)
			}
			got = gpu.Counts().Since(before)
		}
		t.Logf("%s: %+v", name, got)
		got.BytesUp, got.BytesDown, got.Calls = 0, 0, 0
		if got != c.want {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
}

func TestMelRefuses(t *testing.T) {
	d := newDevice(t, Config{})
	for name, c := range map[string]struct {
		change      func(s *engine.LogMelSpec)
		unsupported bool
	}{
		"an odd transform":      {func(s *engine.LogMelSpec) { s.FFT = 401 }, true},
		"a transform of 2 x 7":  {func(s *engine.LogMelSpec) { s.FFT = 14 }, true},
		"a transform of 1024":   {func(s *engine.LogMelSpec) { s.FFT = 1024 }, true},
		"a window too short":    {func(s *engine.LogMelSpec) { s.Window = s.Window[1:] }, false},
		"a filter less":         {func(s *engine.LogMelSpec) { s.Bins++ }, false},
		"frames that stay":      {func(s *engine.LogMelSpec) { s.Hop = 0 }, false},
		"logarithms of nothing": {func(s *engine.LogMelSpec) { s.Least = 0 }, false},
		"no transform whatever": {func(s *engine.LogMelSpec) { s.FFT, s.Window = 0, nil }, false},
	} {
		s := engine.NewMel(80).Spec()
		c.change(&s)
		if c.unsupported {
			s.Window, s.Filters = make([]float32, s.FFT), make([]float32, s.Bins*(s.FFT/2+1))
		}
		if _, err := d.NewLogMel(s); err == nil || errors.Is(err, errors.ErrUnsupported) != c.unsupported {
			t.Errorf("%s: got %v", name, err)
		}
	}
	m := must(d.NewLogMel(engine.NewMel(80).Spec()))
	dst := engine.NewTensor(must(d.Alloc(800)), 10, 80)
	for _, s := range []engine.Sound{{Frames: 10, Rows: 9}, {From: -1, Frames: 10, Rows: 10}, {Frames: -1, Rows: 10}, {Frames: 9, Rows: 9}} {
		if !panics(func() { d.LogMel(dst, []engine.Sound{s}, m) }) {
			t.Errorf("%+v: no panic", s)
		}
	}
}

// BenchmarkGPULogMel makes the spectrograms of four windows of 30 s, their samples' way to the GPU included.
func BenchmarkGPULogMel(b *testing.B) {
	const windows, frames, bins = 4, 3000, 128
	d := benchDevice(b, Config{CuBLAS: "off"})
	m := must(d.NewLogMel(engine.NewMel(bins).Spec()))
	dst := engine.NewTensor(must(d.Alloc(windows*frames*bins)), windows*frames, bins)
	sounds := slices.Repeat([]engine.Sound{{Samples: make([]float32, frames*160), Frames: frames, Rows: frames}}, windows)
	timed(b, d, work{0, windows * frames * (4*160 + 2*bins)}, func() { d.LogMel(dst, sounds, m) })
}
