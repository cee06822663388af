package parakeet

import (
	"fmt"

	"hark/engine"
	"hark/models"
)

// groupFrames is how many encoder frames are best computed at once, for each window
// that a device likes to have together: 30 s.
const groupFrames = 375

// encoder is the graph from features to what the joint network reads: a FastConformer,
// and the joint network's own projection.
type encoder struct {
	dev         engine.Device
	config      models.ParakeetConfig
	group       int // frames computed at once, unless an item alone has more
	subsampling subsampler
	blocks      []block
	project     engine.Linear // [J][D], joint.enc
	positions   *positions
	memory      memory
	front       *frontEnd // what makes the features of sounds that have none

	// tap, if not nil, is shown each stage's output as it comes, for the items of a group.
	tap func(stage string, t engine.Tensor)
}

// loadEncoder puts an encoder's weights on the device. It is to be closed even if loading fails.
func loadEncoder(l *loader, c models.ParakeetConfig) *encoder {
	l.many = true
	defer func() { l.many = false }()
	e := &encoder{dev: l.dev, config: c, group: groupFrames * max(1, l.dev.Info().EncodeGroup),
		memory: newMemory(l.dev)}
	e.subsampling = loadSubsampler(l, c)
	var linears []engine.Linear
	for i := range c.Layers {
		e.blocks = append(e.blocks, loadBlock(l, c, i))
		linears = append(linears, e.blocks[i].pos)
	}
	e.project = l.linear("joint.enc", c.JointWidth, c.Width, true)
	if l.err == nil {
		e.positions, l.err = newPositions(l.dev, c.Width, linears)
	}
	return e
}

// close gives the encoder's memory back.
func (e *encoder) close() {
	for _, b := range e.blocks {
		if !b.bias.IsZero() {
			e.dev.Free(b.bias.Buf)
		}
	}
	if e.positions != nil {
		e.positions.close()
	}
	e.memory.close()
}

// shrink gives back what has grown.
func (e *encoder) shrink() {
	e.positions.forget()
	e.memory.close()
}

// frames is how many encoder frames a number of feature frames becomes.
func (e *encoder) frames(features int) int {
	return (features + e.config.SubsamplingFactor - 1) / e.config.SubsamplingFactor
}

// encode writes to dst what the joint network reads of a batch of items, one after another: item i, of T frames of
// features, has frames(T) rows of the joint network's width. Rows are the same whatever other items there are. Memory
// on the device grows to what the batch needs, and is kept.
func (e *encoder) encode(dst engine.Tensor, items []sound) error {
	at := 0
	for len(items) > 0 {
		n, rows := e.cut(items)
		if err := e.run(dst.Slice(at, at+rows), items[:n]); err != nil {
			return err
		}
		items, at = items[n:], at+rows
	}
	if at != dst.Rows {
		panic(fmt.Sprintf("parakeet: %d frames to %d rows", at, dst.Rows))
	}
	return nil
}

// cut is how many of the first items make a group, one at least, and their frames.
func (e *encoder) cut(items []sound) (n, rows int) {
	for _, x := range items {
		more := e.frames(x.frames)
		if n > 0 && rows+more > e.group {
			break
		}
		n, rows = n+1, rows+more
	}
	return n, rows
}

// run encodes a group.
func (e *encoder) run(dst engine.Tensor, items []sound) error {
	var features, lens []int
	sum, longest := 0, 0
	for _, x := range items {
		n := e.frames(x.frames)
		features, lens = append(features, x.frames), append(lens, n)
		sum, longest = sum+x.frames, max(longest, n)
	}
	s, err := e.memory.reserve(e.config, sum, dst.Rows, e.subsampling.convs.Width())
	if err != nil {
		return err
	}
	if err := e.positions.reserve(longest); err != nil {
		return err
	}
	e.hear(s.features, items)
	e.dev.Subsample(s.subsampled, s.features, features, e.subsampling.convs)
	e.dev.Linear(s.x, s.subsampled, e.subsampling.out, engine.NoActivation, engine.Tensor{})
	e.show("subsampled", s.x)
	for i := range e.blocks {
		e.blocks[i].run(e.dev, s, lens, e.config.Heads, e.positions.of(i, max(1, longest)))
		e.show(fmt.Sprintf("block%d", i), s.x)
	}
	e.dev.Linear(dst, s.x, e.project, engine.NoActivation, engine.Tensor{})
	return nil
}

// hear puts the features of a group in dst.
func (e *encoder) hear(dst engine.Tensor, items []sound) {
	var sounds []engine.Sound
	at := 0
	for _, x := range items {
		if x.samples != nil {
			sounds = append(sounds, engine.Sound{Samples: x.samples, Frames: x.frames, Rows: x.frames})
		} else {
			e.dev.Upload(dst.Slice(at, at+x.frames), x.features)
		}
		at += x.frames
	}
	if sounds != nil { // all of them
		e.front.onDevice.LogMel(dst, sounds)
	}
}

func (e *encoder) show(stage string, t engine.Tensor) {
	if e.tap != nil {
		e.tap(stage, t)
	}
}

// scratch is the memory of a group of N frames of T feature frames.
type scratch struct {
	features   engine.Tensor // [T][bins]
	subsampled engine.Tensor // [N][subsampling's width], in the same place as ff
	ff         engine.Tensor // [N][feed-forward's width]
	qkv        engine.Tensor // [N][3D]
	gated      engine.Tensor // [N][2D], in the same place as qkv
	x, h       engine.Tensor // [N][D]
}

// memory is the buffers that scratch lies in.
type memory struct{ features, wide, qkv, x, h growing }

func newMemory(dev engine.Device) memory {
	g := growing{dev: dev}
	return memory{g, g, g, g, g}
}

// reserve makes room for a group of features feature frames and rows frames.
func (m *memory) reserve(c models.ParakeetConfig, features, rows, subsampled int) (*scratch, error) {
	s := new(scratch)
	for _, t := range []struct {
		dst        *engine.Tensor
		memory     *growing
		rows, cols int
	}{
		{&s.features, &m.features, features, c.Features},
		{&s.subsampled, &m.wide, rows, max(subsampled, c.FeedForward)},
		{&s.qkv, &m.qkv, rows, 3 * c.Width},
		{&s.x, &m.x, rows, c.Width},
		{&s.h, &m.h, rows, c.Width},
	} {
		var err error
		if *t.dst, err = t.memory.tensor(t.rows, t.cols); err != nil {
			return nil, err
		}
	}
	s.ff = engine.NewTensor(s.subsampled.Buf, rows, c.FeedForward)
	s.subsampled = engine.NewTensor(s.subsampled.Buf, rows, subsampled)
	s.gated = engine.NewTensor(s.qkv.Buf, rows, 2*c.Width)
	return s, nil
}

func (m *memory) close() {
	for _, g := range []*growing{&m.features, &m.wide, &m.qkv, &m.x, &m.h} {
		g.close()
	}
}
