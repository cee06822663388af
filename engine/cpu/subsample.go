package cpu

import (
	"fmt"
	"slices"

	"hark/engine"
	"hark/kernels"
)

// subsampleRows is how many output rows make a block. Blocks make what they need of the layers before,
// and where two of them meet both make it.
const subsampleRows = 8

// The convolutions are over 3 times and 3 frequencies, of stride 2.
const (
	kernelSide = 3
	taps       = kernelSide * kernelSide
)

// maxStages is the most that a stack has: a factor of 64.
const maxStages = 5

// subsampling is a stack of strided convolutions. Between layers a row is a time, with the
// channels of each frequency side by side.
type subsampling struct {
	mels, channels int
	first          []float32 // [3][3][channels]
	firstBias      []float32
	stages         []subsamplingStage
}

type subsamplingStage struct {
	depthwise     []float32 // [3][3][channels]
	depthwiseBias []float32
	pointwise     *kernels.PackedF32
	bias          []float32
}

func (s *subsampling) Factor() int { return 2 << len(s.stages) }

func (s *subsampling) Width() int { return s.frequencies(len(s.stages)) * s.channels }

// frequencies is how many are left after the first layer (0) or a stage (1, 2, …).
func (s *subsampling) frequencies(layer int) int { return ceilDiv(s.mels, 2<<layer) }

// NewSubsampling packs a stack of convolutions.
func (d *Device) NewSubsampling(w engine.SubsamplingWeights) (engine.Subsampling, error) {
	c := w.Channels
	if len(w.Stages) > maxStages {
		return nil, fmt.Errorf("cpu: %d subsampling stages: at most %d are supported", len(w.Stages), maxStages)
	}
	if w.Mels < 1 || c < 1 || len(w.First) != c*taps || len(w.FirstBias) != c {
		return nil, fmt.Errorf("cpu: subsampling of %d mels to %d channels: %d weights and %d biases", w.Mels, c,
			len(w.First), len(w.FirstBias))
	}
	s := &subsampling{mels: w.Mels, channels: c, first: engine.Transposed(w.First, 1, c, taps),
		firstBias: slices.Clone(w.FirstBias)}
	for i, st := range w.Stages {
		if len(st.Depthwise) != c*taps || len(st.DepthwiseBias) != c || len(st.Pointwise) != c*c ||
			len(st.PointwiseBias) != c {
			return nil, fmt.Errorf("cpu: subsampling stage %d of %d channels: %d and %d weights, %d and %d biases",
				i, c, len(st.Depthwise), len(st.Pointwise), len(st.DepthwiseBias), len(st.PointwiseBias))
		}
		s.stages = append(s.stages, subsamplingStage{
			depthwise: engine.Transposed(st.Depthwise, 1, c, taps), depthwiseBias: slices.Clone(st.DepthwiseBias),
			pointwise: kernels.PackF32(st.Pointwise, c, c), bias: slices.Clone(st.PointwiseBias),
		})
	}
	return s, nil
}

// subsampleBlock is a run of an item's output rows.
type subsampleBlock struct {
	first, len int // the item's rows in x
	from, rows int // output rows, counted in the item
	at         int // output row from, counted in dst
}

type subsampleTask struct {
	dst, x   []float32
	ldd, ldx int
	s        *subsampling
	blocks   []subsampleBlock
	scratch  scratch
}

// Subsample shortens a batch of items.
func (d *Device) Subsample(dst, x engine.Tensor, lens []int, s engine.Subsampling) {
	t := d.subsamples.get()
	t.s = s.(*subsampling)
	t.blocks = t.blocks[:0]
	first, at := 0, 0
	for _, l := range lens {
		out := ceilDiv(l, t.s.Factor())
		for from := 0; from < out; from += subsampleRows {
			t.blocks = append(t.blocks, subsampleBlock{first, l, from, min(subsampleRows, out-from), at + from})
		}
		first, at = first+l, at+out
	}
	need("Subsample", "x", x, total(lens), t.s.mels)
	need("Subsample", "dst", dst, at, t.s.Width())
	t.dst, t.ldd, t.x, t.ldx = floats(dst), dst.Stride, floats(x), x.Stride
	t.scratch.reserve(d.pool.threads)
	d.pool.run(len(t.blocks), t)
	t.dst, t.x, t.s = nil, nil, nil
	d.subsamples.put(t)
}

func (t *subsampleTask) block(worker, i int) {
	b := t.blocks[i]
	w := subsampleWalk{s: t.s, item: t.x[min(b.first*t.ldx, len(t.x)):], ld: t.ldx, len: b.len,
		scratch: t.scratch.get(worker, t.s.scratch())}
	layers := len(t.s.stages)
	for n, from := layers-1, b.from; n >= 0; n-- {
		from = max(0, 2*from-1)
		w.next[n] = from
	}
	for r := range b.rows {
		w.row(layers, b.from+r, t.dst[(b.at+r)*t.ldd:][:t.s.Width()])
	}
}

// subsampleWalk makes rows of the last layer one after another, and of the layers before it as they are needed. Of each
// it keeps the three that the next layer's row reads, so that all of it stays in the second-level cache.
type subsampleWalk struct {
	s       *subsampling
	item    []float32 // [len][ld]
	ld, len int
	next    [maxStages + 1]int // of each layer, the row to make next
	scratch []float32
}

// scratch is the memory of a walk: the rows that are kept of all layers but the last, and the sums of one row.
func (s *subsampling) scratch() int {
	n := 0
	for layer := range s.stages {
		n += kernelSide * s.frequencies(layer) * s.channels
	}
	return n + s.frequencies(0)*s.channels
}

// kept is where row r of a layer is kept.
func (w *subsampleWalk) kept(layer, r int) []float32 {
	at := 0
	for n := range layer {
		at += kernelSide * w.s.frequencies(n) * w.s.channels
	}
	width := w.s.frequencies(layer) * w.s.channels
	return w.scratch[at+r%kernelSide*width:][:width]
}

// row makes row r of the first layer (0) or of a stage (1, 2, …).
func (w *subsampleWalk) row(layer, r int, dst []float32) {
	if layer == 0 {
		w.first(r, dst)
		return
	}
	for last := min(2*r+1, w.rows(layer-1)-1); w.next[layer-1] <= last; w.next[layer-1]++ {
		w.row(layer-1, w.next[layer-1], w.kept(layer-1, w.next[layer-1]))
	}
	s, st, freqs := w.s, &w.s.stages[layer-1], w.s.frequencies(layer)
	sums := w.scratch[len(w.scratch)-s.frequencies(0)*s.channels:]
	w.depthwise(layer, r, sums)
	kernels.MatMul(dst, s.channels, sums, s.channels, freqs, st.pointwise, 0, s.channels,
		kernels.Epilogue{Bias: st.bias, Act: kernels.ActReLU})
}

// rows is how many rows a layer makes of the item.
func (w *subsampleWalk) rows(layer int) int { return ceilDiv(w.len, 2<<layer) }

// first makes row r of the first layer.
func (w *subsampleWalk) first(r int, dst []float32) {
	s := w.s
	for f := range s.frequencies(0) {
		var field [taps]float32
		lo, hi := inside(f, s.mels)
		for i := range kernelSide {
			if p := 2*r - 1 + i; p >= 0 && p < w.len {
				copy(field[i*kernelSide+lo:i*kernelSide+hi], w.item[p*w.ld+2*f-1+lo:])
			}
		}
		sums := dst[f*s.channels:][:s.channels]
		copy(sums, s.firstBias)
		kernels.AddWeighted(sums, field[:], s.first, s.channels)
	}
	kernels.Activate(kernels.ActReLU, dst)
}

// depthwise makes row r of a stage's first convolution, [frequencies][channels].
func (w *subsampleWalk) depthwise(layer, r int, dst []float32) {
	c, st := w.s.channels, &w.s.stages[layer-1]
	for f := range w.s.frequencies(layer) {
		sums := dst[f*c:][:c]
		copy(sums, st.depthwiseBias)
		lo, hi := inside(f, w.s.frequencies(layer-1))
		for i := range kernelSide {
			if p := 2*r - 1 + i; p >= 0 && p < w.rows(layer-1) {
				kernels.Depthwise(sums, w.kept(layer-1, p)[(2*f-1+lo)*c:], c,
					st.depthwise[(i*kernelSide+lo)*c:], c, hi-lo)
			}
		}
	}
}

// inside is which taps [lo, hi) over 2f-1, 2f and 2f+1 lie in [0, n).
func inside(f, n int) (lo, hi int) { return max(0, 1-2*f), min(kernelSide, n-2*f+1) }
