package cpu

import (
	"fmt"
	"slices"

	"hark/engine"
	"hark/kernels"
)

// subsampleRows is how many output rows make a block. Each takes some rows of every layer before it, which are computed into
// scratch that the second-level cache holds, those at a block's edges twice.
const subsampleRows = 4

// kernelSide is that of the convolutions over time and frequency, of stride 2.
const kernelSide = 3

// subsampling is a stack of strided convolutions. Between layers a row is a time, with the channels of each frequency side by side.
type subsampling struct {
	mels, channels int
	first          *kernels.PackedF32 // [channels][9]
	firstBias      []float32
	stages         []subsamplingStage
}

type subsamplingStage struct {
	taps      []float32 // [3][3][channels]
	tapBias   []float32
	pointwise *kernels.PackedF32
	bias      []float32
}

func (s *subsampling) Factor() int { return 2 << len(s.stages) }

func (s *subsampling) Width() int { return s.frequencies(len(s.stages)) * s.channels }

// frequencies is how many are left after the first layer (0) or a stage (1, 2, …).
func (s *subsampling) frequencies(layer int) int { return ceilDiv(s.mels, 2<<layer) }

// NewSubsampling packs a stack of convolutions.
func (d *Device) NewSubsampling(w engine.SubsamplingWeights) (engine.Subsampling, error) {
	const taps = kernelSide * kernelSide
	c := w.Channels
	if w.Mels < 1 || c < 1 || len(w.First) != c*taps || len(w.FirstBias) != c {
		return nil, fmt.Errorf("cpu: subsampling of %d mels to %d channels: %d weights and %d biases", w.Mels, c, len(w.First), len(w.FirstBias))
	}
	s := &subsampling{mels: w.Mels, channels: c, first: kernels.PackF32(w.First, c, taps), firstBias: slices.Clone(w.FirstBias)}
	for i, st := range w.Stages {
		if len(st.Depthwise) != c*taps || len(st.DepthwiseBias) != c || len(st.Pointwise) != c*c || len(st.PointwiseBias) != c {
			return nil, fmt.Errorf("cpu: subsampling stage %d of %d channels: %d and %d weights, %d and %d biases",
				i, c, len(st.Depthwise), len(st.Pointwise), len(st.DepthwiseBias), len(st.PointwiseBias))
		}
		s.stages = append(s.stages, subsamplingStage{
			taps: transposed(st.Depthwise, c, taps), tapBias: slices.Clone(st.DepthwiseBias),
			pointwise: kernels.PackF32(st.Pointwise, c, c), bias: slices.Clone(st.PointwiseBias),
		})
	}
	return s, nil
}

// transposed is w, [rows][cols], as [cols][rows].
func transposed(w []float32, rows, cols int) []float32 {
	t := make([]float32, len(w))
	for i := range rows {
		for j := range cols {
			t[j*rows+i] = w[i*cols+j]
		}
	}
	return t
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
	out := layerRows{t.dst[b.at*t.ldd:], t.ldd, b.from, b.from + b.rows}
	item := layerRows{t.x[min(b.first*t.ldx, len(t.x)):], t.ldx, 0, b.len}
	t.s.layer(len(t.s.stages), out, item, t.scratch.get(worker, t.s.scratch(b.rows)))
}

// layerRows is the rows [from, to) of what a layer computes for an item, ld elements apart.
type layerRows struct {
	data     []float32
	ld       int
	from, to int
}

func (l *layerRows) row(r int) []float32 { return l.data[(r-l.from)*l.ld:] }

// scratch is how much is needed for a number of output rows: the rows of all layers before the last, and the sums of one row.
func (s *subsampling) scratch(rows int) int {
	n := max(s.frequencies(0)*kernelSide*kernelSide, s.frequencies(0)*s.channels)
	for layer := len(s.stages) - 1; layer >= 0; layer-- {
		rows = 2*rows + 1
		n += rows * s.frequencies(layer) * s.channels
	}
	return n
}

// layer computes some rows of the first layer (0) or of a stage (1, 2, …) for an item, with all that they need before them.
func (s *subsampling) layer(n int, out, item layerRows, scratch []float32) {
	if n == 0 {
		s.firstLayer(out, item, scratch)
		return
	}
	in := layerRows{scratch, s.frequencies(n-1) * s.channels, max(0, 2*out.from-1), min(2*out.to, ceilDiv(item.to, 1<<n))}
	rest := scratch[(in.to-in.from)*in.ld:]
	s.layer(n-1, in, item, rest)
	st, freqs := &s.stages[n-1], s.frequencies(n)
	for r := out.from; r < out.to; r++ {
		s.depthwise(rest, st, in, r, n)
		kernels.MatMul(out.row(r), s.channels, rest, s.channels, freqs, st.pointwise, 0, s.channels, kernels.Epilogue{Bias: st.bias, Act: kernels.ActReLU})
	}
}

// firstLayer computes rows of the first layer as products of receptive fields.
func (s *subsampling) firstLayer(out, item layerRows, fields []float32) {
	const taps = kernelSide * kernelSide
	freqs := s.frequencies(0)
	fields = fields[:freqs*taps]
	for r := out.from; r < out.to; r++ {
		clear(fields)
		for i := range kernelSide {
			p := 2*r - 1 + i
			if p < 0 || p >= item.to {
				continue
			}
			row := item.row(p)[:s.mels]
			for f := range freqs {
				lo, hi := inside(f, s.mels)
				copy(fields[f*taps+i*kernelSide+lo:][:hi-lo], row[2*f-1+lo:])
			}
		}
		kernels.MatMul(out.row(r), s.channels, fields, taps, freqs, s.first, 0, s.channels, kernels.Epilogue{Bias: s.firstBias, Act: kernels.ActReLU})
	}
}

// depthwise computes row r of stage n's first convolution, [frequencies][channels].
func (s *subsampling) depthwise(dst []float32, st *subsamplingStage, in layerRows, r, n int) {
	c := s.channels
	for f := range s.frequencies(n) {
		sums := dst[f*c:][:c]
		copy(sums, st.tapBias)
		lo, hi := inside(f, s.frequencies(n-1))
		for i := range kernelSide {
			if p := 2*r - 1 + i; p >= in.from && p < in.to {
				kernels.Depthwise(sums, in.row(p)[(2*f-1+lo)*c:], c, st.taps[(i*kernelSide+lo)*c:], c, hi-lo)
			}
		}
	}
}

// inside is which taps [lo, hi) of the kernel over 2f-1, 2f and 2f+1 lie in [0, n).
func inside(f, n int) (lo, hi int) { return max(0, 1-2*f), min(kernelSide, n-2*f+1) }
