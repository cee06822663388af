package cuda

import (
	"fmt"

	"hark/engine"
	"hark/engine/cuda/driver"
)

const (
	// subsampleTaps is those of a convolution over 3 times and 3 frequencies.
	subsampleTaps = 9
	// subsampleFields is how many rows of x the first two convolutions read for a row. (kernels/cuda/subsample.cu)
	subsampleFields = 7
	subsampleFirst  = 3 // and the first alone
	// subsampleThreads is the most threads of a block.
	subsampleThreads = 256
	// subsampleRows is how many output rows are made at once: layers in between are many
	// times as large as what comes in and out.
	subsampleRows = 2048
	// maxStages is the most that a stack has: a factor of 64.
	maxStages = 5
)

// subsampling is a stack of strided convolutions, taps [3][3][channels] in float32.
type subsampling struct {
	mels, channels   int
	first, firstBias driver.DevicePtr
	stages           []subsamplingStage
	rows             [2]*buffer // a layer's depthwise and pointwise outputs; grown when more are needed
	apart            *buffer    // the last layer's, where dst's rows are apart, in dst's format
}

type subsamplingStage struct {
	taps, bias driver.DevicePtr
	pointwise  *weight
}

func (s *subsampling) Factor() int { return 2 << len(s.stages) }

func (s *subsampling) Width() int { return s.frequencies(len(s.stages)) * s.channels }

// frequencies is how many are left after the first layer (0) or a stage (1, 2, …).
func (s *subsampling) frequencies(layer int) int { return ceilDiv(s.mels, 2<<layer) }

// NewSubsampling brings a stack of convolutions to the GPU.
func (d *Device) NewSubsampling(w engine.SubsamplingWeights) (engine.Subsampling, error) {
	if err := checkSubsampling(w); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	c := w.Channels
	placed, err := d.placeAll(engine.Transposed(w.First, 1, c, subsampleTaps), w.FirstBias)
	if err != nil {
		return nil, err
	}
	s := &subsampling{mels: w.Mels, channels: c, first: placed[0], firstBias: placed[1]}
	for _, st := range w.Stages {
		if placed, err = d.placeAll(engine.Transposed(st.Depthwise, 1, c, subsampleTaps),
			st.DepthwiseBias); err != nil {
			return nil, err
		}
		pointwise, err := d.newWeight(st.Pointwise, st.PointwiseBias, c, c)
		if err != nil {
			return nil, err
		}
		s.stages = append(s.stages, subsamplingStage{placed[0], placed[1], pointwise})
	}
	return s, nil
}

func checkSubsampling(w engine.SubsamplingWeights) error {
	c := w.Channels
	if len(w.Stages) > maxStages {
		return fmt.Errorf("cuda: %d subsampling stages: at most %d are supported", len(w.Stages), maxStages)
	}
	if w.Mels < 1 || c < 1 || len(w.First) != c*subsampleTaps || len(w.FirstBias) != c {
		return fmt.Errorf("cuda: subsampling of %d mels to %d channels: %d weights and %d biases", w.Mels, c,
			len(w.First), len(w.FirstBias))
	}
	for i, st := range w.Stages {
		if len(st.Depthwise) != c*subsampleTaps || len(st.DepthwiseBias) != c || len(st.Pointwise) != c*c ||
			len(st.PointwiseBias) != c {
			return fmt.Errorf("cuda: subsampling stage %d of %d channels: %d and %d weights, %d and %d biases",
				i, c, len(st.Depthwise), len(st.Pointwise), len(st.DepthwiseBias), len(st.PointwiseBias))
		}
	}
	return nil
}

// Subsample shortens a batch of items.
func (d *Device) Subsample(dst, x engine.Tensor, lens []int, sub engine.Subsampling) {
	s := sub.(*subsampling)
	out := make([]int, len(lens))
	for i, l := range lens {
		out[i] = ceilDiv(l, s.Factor())
	}
	need("Subsample", "x", x, total(lens), s.mels)
	need("Subsample", "dst", dst, total(out), s.Width())
	address(x)
	address(dst)
	d.mu.Lock()
	defer d.mu.Unlock()
	at := 0
	for _, pieces := range cutItems(lens, out, subsampleRows) {
		rows := 0
		for _, p := range pieces {
			rows += p.to - p.from
		}
		d.subsample(dst.Slice(at, at+rows), x, pieces, s)
		at += rows
	}
}

// subsamplePiece is a run of an item's output rows.
type subsamplePiece struct {
	first, length int // the item's rows of x
	from, to      int // counted in the item
}

// cutItems puts items' output rows in groups of at most so many.
func cutItems(lens, out []int, most int) [][]subsamplePiece {
	var groups [][]subsamplePiece
	first, room := 0, 0
	for i, n := range out {
		for from := 0; from < n; {
			if room == 0 {
				groups, room = append(groups, nil), most
			}
			p := subsamplePiece{first, lens[i], from, min(n, from+room)}
			last := len(groups) - 1
			groups[last] = append(groups[last], p)
			room -= p.to - p.from
			from = p.to
		}
		first += lens[i]
	}
	return groups
}

// layerRows is a layer's rows of some pieces, a stretch for each.
type layerRows struct {
	starts []int32 // where stretches begin, and the last one's end
	from   []int   // the item's row that each begins with
	length []int   // rows of the whole item
}

// layersOf says which rows are needed of each layer for some rows of the last.
func (s *subsampling) layersOf(pieces []subsamplePiece) []layerRows {
	layers := make([]layerRows, len(s.stages)+1)
	for n := range layers {
		layers[n].starts = []int32{0}
	}
	for _, p := range pieces {
		from, to := p.from, p.to
		for n := len(s.stages); n >= 0; n-- {
			l := &layers[n]
			l.starts = append(l.starts, int32(l.count()+to-from))
			l.from, l.length = append(l.from, from), append(l.length, ceilDiv(p.length, 2<<n))
			from, to = max(0, 2*from-1), min(2*to, ceilDiv(p.length, 1<<n))
		}
	}
	return layers
}

// count is how many rows there are.
func (l *layerRows) count() int { return int(l.starts[len(l.starts)-1]) }

// subsample makes the output rows of some pieces. The lock is held.
func (d *Device) subsample(dst, x engine.Tensor, pieces []subsamplePiece, s *subsampling) {
	layers, c := s.layersOf(pieces), s.channels
	channels := dim3{Y: ceilDiv(c, subsampleThreads), Z: 1}
	from, suffix := view(x), d.working().suffix()
	threads, fields := along(min(subsampleThreads, ceilDiv(c, 32)*32)), (s.mels+2)*f32.bytes()
	if len(s.stages) == 0 {
		d.enter()
		channels.X = layers[0].count()
		to, args := view(dst), append(append(from[:], i32(s.mels)), d.sources(&layers[0], pieces, nil)...)
		args = append(args, at(s.first), at(s.firstBias), i32(c))
		d.launch("subsample_first"+suffix, channels, threads, subsampleFirst*fields, append(args, to[:]...)...)
		return
	}
	most := layers[1].count() * s.frequencies(1) * c
	if !d.grow(&s.rows[0], most, d.working()) || !d.grow(&s.rows[1], most, d.working()) {
		return
	}
	apart := dst.Stride != dst.Cols
	if apart && !d.grow(&s.apart, dst.Rows*dst.Cols, formatOf(dst)) {
		return
	}
	for n := 1; n <= len(s.stages); n++ {
		st, rows, frequencies := &s.stages[n-1], layers[n].count(), s.frequencies(n)
		d.enter()
		if n == 1 {
			channels.X = rows
			args := append(append(from[:], i32(s.mels)), d.sources(&layers[1], pieces, nil)...)
			d.launch("subsample"+suffix, channels, threads, subsampleFields*fields,
				append(args, at(s.first), at(s.firstBias), at(st.taps), at(st.bias), i32(c),
					at(s.rows[0].address()))...)
		} else {
			args := append([]arg{at(s.rows[1].address()), i32(s.frequencies(n - 1))},
				d.sources(&layers[n], pieces, &layers[n-1])...)
			d.launch("subsample_next"+suffix, along(rows), along(subsampleThreads), 0,
				append(args, at(st.taps), at(st.bias), i32(c), at(s.rows[0].address()))...)
		}
		p := &product{x: engine.NewTensor(s.rows[0], rows*frequencies, c), w: st.pointwise, act: engine.ReLU}
		switch {
		case n < len(s.stages):
			p.dst = engine.NewTensor(s.rows[1], rows*frequencies, c)
		case apart:
			p.dst = engine.NewTensor(s.apart, rows*frequencies, c)
		default:
			p.dst = engine.Tensor{Buf: dst.Buf, Off: dst.Off, Rows: rows * frequencies, Cols: c, Stride: c}
		}
		d.multiply(p)
	}
	if apart {
		together, to := view(engine.NewTensor(s.apart, dst.Rows, dst.Cols)), view(dst)
		args := append(append(together[:], 0, i32(dst.Rows), i32(dst.Cols)), to[:]...)
		d.launchPieces("copy", dst.Rows, dst.Cols, append(args, 0)...)
	}
}

// sources stages where a layer's rows find the layer's before them, or x's if before
// is nil: three arguments. The lock is held.
func (d *Device) sources(l *layerRows, pieces []subsamplePiece, before *layerRows) []arg {
	numbers := append([]int32(nil), l.starts...)
	for i, p := range pieces {
		where, length := p.first, p.length
		if before != nil {
			where, length = int(before.starts[i])-before.from[i], before.length[i]
		}
		numbers = append(numbers, int32(l.from[i]), int32(where), int32(length))
	}
	staged := d.stage(numbers)
	return []arg{staged, staged + arg(4*len(l.starts)), i32(len(pieces))}
}

// grow makes room for n elements of a format in a buffer, in place of what it held; false says
// that there is no memory. The lock is held.
func (d *Device) grow(b **buffer, n int, f format) bool {
	if *b != nil && (*b).n >= n && (*b).format == f {
		return true
	}
	d.flush()
	if *b != nil {
		d.free(*b)
		*b = nil
	}
	grown, err := d.alloc(n, f)
	if err != nil {
		d.fail(err)
		return false
	}
	*b = grown
	return true
}
