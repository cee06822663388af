package parakeet

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"hark/engine"
	"hark/kernels"
	"hark/models"
)

const (
	// logGuard is added to a power before its logarithm (log_zero_guard_value of NeMo's FilterbankFeatures: 2^-24).
	logGuard = 1.0 / (1 << 24)
	// stdGuard is added to a bin's standard deviation (NeMo's normalize_batch, CONSTANT).
	stdGuard = 1e-5
	// maxFFT keeps the matrices of a transform small; published models have 512.
	maxFFT = 4096
	// featureBlock is how many frames are transformed at once: few enough for the second-level cache.
	featureBlock = 24
)

// frontEnd turns samples into what the encoder hears: the logarithm of the power in mel bins every 10 ms,
// each bin brought to mean 0 and deviation 1 over the window. It follows NeMo 3.0.0's FilterbankFeatures. It
// may be used by several goroutines at once.
//
// The transform is two products. A frame's power does not change when its samples are counted from the middle
// of the analysis window, and about the middle cosine is even and sine odd; so with x the samples under the
// window, a before and b after its middle at the distance d, the real part is the sum of (a+b)
// cos(2πkd/n_fft), and the imaginary one of (b-a) sin.
type frontEnd struct {
	bins, hop, fft, powers int
	preemphasis            float32
	window                 []float32          // [400]
	cos, sin               *kernels.PackedF32 // [powers][half], powers being fft/2+1 and half the pairs in a window
	filters                *kernels.PackedF32 // [bins][powers]
	guard                  []float32          // [bins]: logGuard
	works                  sync.Pool          // of *featureWork
	spec                   engine.LogMelSpec
	onDevice               *engine.FrontEnd // what computes instead; nil: nothing does
}

// featureWork is the memory for a block of frames.
type featureWork struct {
	signal     []float32 // all samples that the frames reach
	even, odd  []float32 // [featureBlock][half]
	parts      []float32 // [2][up to featureBlock][powers], real and imaginary
	power      []float32 // [featureBlock][powers]
	sums, devs []float64 // [bins]
}

// newFrontEnd makes a front end. The weights give the analysis window and the mel filters if they hold them, as a NeMo
// archive does; else both are made.
func newFrontEnd(c models.ParakeetConfig, weights source) (*frontEnd, error) {
	if c.SampleRate != engine.SampleRate {
		return nil, fmt.Errorf("a sample rate of %d Hz: only %d is supported", c.SampleRate, engine.SampleRate)
	}
	if c.NFFT > maxFFT {
		return nil, fmt.Errorf("n_fft %d: at most %d is supported", c.NFFT, maxFFT)
	}
	powers, half := c.NFFT/2+1, (c.WindowSamples+1)/2
	f := &frontEnd{bins: c.Features, hop: c.HopSamples, fft: c.NFFT, powers: powers,
		preemphasis: float32(c.Preemphasis)}
	l := loader{weights: weights}
	f.window = hann(c.WindowSamples)
	if t, ok := weights.Tensor("preprocessor.featurizer.window"); ok {
		l.read(f.window, t.Name, c.WindowSamples)
	}
	filters := engine.MelFilters(c.Features, c.NFFT)
	if t, ok := weights.Tensor("preprocessor.featurizer.fb"); ok {
		l.read(filters, t.Name, 1, c.Features, powers)
	}
	if l.err != nil {
		return nil, l.err
	}
	f.filters, f.guard = kernels.PackF32(filters, c.Features, powers), slices.Repeat([]float32{logGuard}, c.Features)
	f.cos, f.sin = transform(c.WindowSamples, c.NFFT)
	f.spec = engine.LogMelSpec{
		Bins: f.bins, FFT: f.fft, Hop: f.hop, Window: make([]float32, f.fft), Filters: filters,
		Preemphasis: f.preemphasis, Guard: logGuard, Deviation: stdGuard,
	}
	copy(f.spec.Window[f.margin():], f.window)
	f.works.New = func() any {
		floats := func(cols int) []float32 { return make([]float32, featureBlock*cols) }
		return &featureWork{
			signal: make([]float32, (featureBlock-1)*f.hop+len(f.window)),
			even:   floats(half), odd: floats(half), parts: floats(2 * powers), power: floats(powers),
			sums: make([]float64, f.bins), devs: make([]float64, f.bins),
		}
	}
	return f, nil
}

// frames is how many feature frames a number of samples has.
func (f *frontEnd) frames(samples int) int { return samples / f.hop }

// margin is how many zeros stand before the window in a transform. NeMo pads it on both sides, the odd one behind.
func (f *frontEnd) margin() int { return (f.fft - len(f.window)) / 2 }

// sound is what the encoder is given of a window: samples, where the device makes features of them, or else features.
type sound struct {
	frames   int       // of features
	samples  []float32 // nil: there are features
	features []float32 // [frames][bins]
}

// sound is samples as the encoder is given them.
func (f *frontEnd) sound(samples []float32) sound {
	frames := f.frames(len(samples))
	if f.onDevice != nil {
		return sound{frames: frames, samples: samples}
	}
	features := make([]float32, frames*f.bins)
	f.compute(features, samples)
	return sound{frames: frames, features: features}
}

// compute writes the features of a window to dst, [frames(len(samples))][bins]. It uses the calling goroutine only.
func (f *frontEnd) compute(dst, samples []float32) {
	frames := f.frames(len(samples))
	if len(dst) != frames*f.bins {
		panic(fmt.Sprintf("parakeet: %d elements for %d frames of %d bins", len(dst), frames, f.bins))
	}
	w := f.works.Get().(*featureWork)
	defer f.works.Put(w)
	for t := 0; t < frames; t += featureBlock {
		f.block(w, dst[t*f.bins:], samples, t, min(featureBlock, frames-t))
	}
	w.normalise(dst, f.bins)
}

// block writes the logarithms of count frames from frame t on to dst.
func (f *frontEnd) block(w *featureWork, dst, samples []float32, t, count int) {
	half := len(w.even) / featureBlock
	signal := w.signal[:(count-1)*f.hop+len(f.window)]
	f.emphasise(signal, samples, t*f.hop-f.fft/2+f.margin()) // NeMo pads n_fft/2 zeros in front
	for i := range count {
		f.fold(w.even[i*half:][:half], w.odd[i*half:][:half], signal[i*f.hop:])
	}
	size := count * f.powers
	kernels.MatMul(w.parts, f.powers, w.even, half, count, f.cos, 0, f.powers, kernels.Epilogue{})
	kernels.MatMul(w.parts[size:], f.powers, w.odd, half, count, f.sin, 0, f.powers, kernels.Epilogue{})
	power := w.power[:size]
	clear(power)
	kernels.Depthwise(power, w.parts, size, w.parts, size, 2) // the sum of both squares
	dst = dst[:count*f.bins]
	kernels.MatMul(dst, f.bins, power, f.powers, count, f.filters, 0, f.bins, kernels.Epilogue{Bias: f.guard})
	kernels.Log(dst)
}

// emphasise writes the samples from a position on to dst, each less a part of the one
// before it. Beyond both ends there are zeros.
func (f *frontEnd) emphasise(dst, samples []float32, from int) {
	// The samples that dst begins and ends with.
	start, end := min(max(from, 0), len(samples)), max(0, min(from+len(dst), len(samples)))
	if start >= end {
		clear(dst)
		return
	}
	clear(dst[:start-from])
	clear(dst[end-from:])
	dst = dst[start-from : end-from]
	if start == 0 {
		dst[0] = samples[0]
		dst, start = dst[1:], 1
	}
	before := samples[start-1 : end-1]
	for i, v := range samples[start:end] {
		dst[i] = v - float32(f.preemphasis*before[i])
	}
}

// fold applies the analysis window to a frame's samples and adds and subtracts what lies equally far from its middle.
func (f *frontEnd) fold(even, odd, x []float32) {
	n := len(f.window)
	x = x[:n]
	for i := range even {
		a, b := x[i]*f.window[i], x[n-1-i]*f.window[n-1-i]
		even[i], odd[i] = a+b, b-a
	}
	if n%2 == 1 {
		even[n/2] /= 2
	}
}

// transform is the cosines and sines that a folded frame is multiplied by, [powers][half].
func transform(window, fft int) (cos, sin *kernels.PackedF32) {
	powers, half := fft/2+1, (window+1)/2
	c, s := make([]float32, powers*half), make([]float32, powers*half)
	for k := range powers {
		for i := range half {
			// Twice the distance from the middle, an integer, keeps the angle small and exact.
			angle := math.Pi * float64(k*(window-1-2*i)%(2*fft)) / float64(fft)
			sin, cos := math.Sincos(angle)
			c[k*half+i], s[k*half+i] = float32(cos), float32(sin)
		}
	}
	return kernels.PackF32(c, powers, half), kernels.PackF32(s, powers, half)
}

// normalise brings every bin of x, [frames][bins], to mean 0 and deviation 1. A bin that doesn't change becomes 0,
// since the sum of equal numbers is exact.
func (w *featureWork) normalise(x []float32, bins int) {
	frames := len(x) / bins
	clear(w.sums)
	clear(w.devs)
	for t := range frames {
		for i, v := range x[t*bins:][:bins] {
			w.sums[i] += float64(v)
		}
	}
	for i := range w.sums {
		w.sums[i] /= float64(frames)
	}
	for t := range frames {
		for i, v := range x[t*bins:][:bins] {
			d := float64(v) - w.sums[i]
			w.devs[i] += d * d
		}
	}
	for i := range w.devs {
		w.devs[i] = math.Sqrt(w.devs[i]/float64(max(1, frames-1))) + stdGuard
	}
	for t := range frames {
		row := x[t*bins:][:bins]
		for i, v := range row {
			row[i] = float32((float64(v) - w.sums[i]) / w.devs[i])
		}
	}
}

// hann is the symmetric Hann window.
func hann(n int) []float32 {
	w := make([]float32, n)
	for i := range w {
		w[i] = float32(0.5 - 0.5*math.Cos(2*math.Pi*float64(i)/float64(max(1, n-1))))
	}
	return w
}
