package cpu

import (
	"slices"
	"testing"

	"hark/engine"
)

// conformer is every operation of a FastConformer transducer once, for tests that are about all of them.
type conformer struct {
	d                           *Device
	subsampling                 engine.Subsampling
	out, qkv, gate, head        engine.Linear
	conv                        engine.Depthwise
	lstm                        engine.LSTM
	mel, wide, x, h, seq, pair  engine.Tensor
	pos, bias                   engine.Tensor
	state, cell, step, joined   engine.Tensor
	logits                      engine.Tensor
	frames, lens                []int
	rows, frameRows, stepRows   []int32
	sound, positions, biasInits []float32
}

func newConformer(d *Device) *conformer {
	const w, mels, channels, vocab, sequences = testWidth, 16, 8, 300, 3
	r := rng()
	lin := func(n, k int) engine.Linear { return must(d.NewLinear(random(r, n, k).flat(), nil, n, k)) }
	dense := func(rows, cols int) engine.Tensor { return engine.NewTensor(must(d.Alloc(rows*cols)), rows, cols) }
	s := must(d.NewSubsampling(subsamplingWeights(mels, channels, 2)))
	return &conformer{
		d: d, subsampling: s, out: lin(w, s.Width()), qkv: lin(3*w, w), gate: lin(2*w, w), head: lin(vocab, w),
		conv: must(d.NewDepthwise(random(r, w, 9).flat(), nil, w, 9)),
		lstm: must(d.NewLSTM(random(r, 4*w, w).flat(), random(r, 4*w, w).flat(), random(r, 1, 4*w).flat(), w, w)),
		mel:  dense(531, mels), wide: dense(67, s.Width()), x: dense(67, w), h: dense(67, w), seq: dense(67, 3*w), pair: dense(67, 2*w),
		pos: dense(107, w), bias: dense(2, w),
		state: dense(sequences, w), cell: dense(sequences, w), step: dense(2, w), joined: dense(4, w), logits: dense(4, vocab),
		frames: []int{428, 103}, lens: []int{54, 13},
		rows: []int32{2, 0}, frameRows: []int32{0, 1, 53, 66}, stepRows: []int32{0, 1, 0, 1},
		sound: random(r, 531, mels).flat(), positions: random(r, 107, w).flat(), biasInits: random(r, 2, w).flat(),
	}
}

// run does everything but what returns something, and leaves logits.
func (g *conformer) run() {
	d, none := g.d, engine.Tensor{}
	d.Upload(g.mel, g.sound)
	d.Upload(g.pos, g.positions)
	d.Upload(g.bias, g.biasInits)
	d.Subsample(g.wide, g.mel, g.frames, g.subsampling)
	d.Linear(g.x, g.wide, g.out, engine.SiLU, none)
	d.Linear(g.seq, g.x, g.qkv, engine.NoActivation, none)
	d.RelativeAttention(g.h, g.seq, g.lens, testHeads, g.pos, g.bias)
	d.Linear(g.pair, g.h, g.gate, engine.NoActivation, none)
	d.GatedConv(g.x, g.pair, g.lens, g.conv, engine.SiLU)
	d.Gather(g.state, g.x, []int32{1, 2, 3})
	d.Gather(g.cell, g.x, []int32{4, 5, 6})
	d.LSTM(g.step, g.x.Slice(7, 9), g.state, g.cell, g.lstm, g.rows)
	d.Scatter(g.x, g.state, []int32{10, 0, 60})
	d.AddRows(g.joined, g.x, g.frameRows, g.step, g.stepRows, engine.ReLU)
	d.Linear(g.logits, g.joined, g.head, engine.NoActivation, none)
}

// TestConformerThreadsAgree holds all operations to the same bits on any number of threads.
func TestConformerThreadsAgree(t *testing.T) {
	var want []float32
	onDevices(t, func(t *testing.T, d *Device) {
		g := newConformer(d)
		g.run()
		got := make([]float32, g.logits.Rows*g.logits.Cols)
		if err := d.Download(got, g.logits); err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = got
		}
		if !slices.Equal(got, want) {
			t.Error("not the same on another number of threads")
		}
	})
}
