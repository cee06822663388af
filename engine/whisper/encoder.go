package whisper

import (
	"fmt"

	"hark/engine"
)

const (
	// framesPerWindow is the length of a window in mel frames of 10 ms: 30 s.
	framesPerWindow = 3000
	// framesPerPosition is how many frames one encoder position covers, by the second convolution's stride.
	framesPerPosition = 2
	convKernel        = 3
)

// encoder is the graph from log-mel to encoder positions.
type encoder struct {
	dev          engine.Device
	mels, width  int
	heads, group int // group is how many keys the windows may have that are encoded at once
	conv1, conv2 engine.Conv
	places, ends engine.Table // ends are the last learnEnd of places
	layers       []encoderLayer
	norm         engine.Norm

	// Scratch: mel [2*group][mels], stem [2*group][D], x, h, att [group][D], qkv [group][3D], ff [group][4D].
	mel, stem, x, h, att, qkv, ff engine.Tensor
	rest                          []engine.Tensor // of each layer, [restPositions][3D], of which keys and values count
	positions                     []int           // of each window of a run
	buffers                       []engine.Buffer
}

type encoderLayer struct {
	attNorm, ffNorm    engine.Norm
	qkv, out, fc1, fc2 engine.Linear
}

func loadEncoder(l *loader, c Config) *encoder {
	l.many = true
	defer func() { l.many = false }()
	e := &encoder{dev: l.dev, mels: c.Mels, width: c.Width, heads: c.EncoderHeads,
		group: max(1, l.dev.Info().EncodeGroup) * c.AudioContext}
	d := c.Width
	e.conv1 = l.conv(name{"encoder/conv1", "encoder.conv1"}, d, c.Mels, 1)
	e.conv2 = l.conv(name{"encoder/conv2", "encoder.conv2"}, d, d, framesPerPosition)
	places := name{"encoder/position_encodings/encodings", "encoder.embed_positions.weight"}
	e.places, e.ends = l.table(places, 0, c.AudioContext, d),
		l.table(places, c.AudioContext-learnEnd, c.AudioContext, d)
	for i := range c.EncoderLayers {
		ct2, hf := fmt.Sprintf("encoder/layer_%d/", i), fmt.Sprintf("encoder.layers.%d.", i)
		e.layers = append(e.layers, encoderLayer{
			attNorm: l.norm(name{ct2 + "self_attention/layer_norm", hf + "self_attn_layer_norm"}, d),
			qkv: l.stacked(ct2+"self_attention/linear_0", d, hf+"self_attn.q_proj",
				hf+"self_attn.k_proj", hf+"self_attn.v_proj"),
			out:    l.linear(name{ct2 + "self_attention/linear_1", hf + "self_attn.out_proj"}, d, d),
			ffNorm: l.norm(name{ct2 + "ffn/layer_norm", hf + "final_layer_norm"}, d),
			fc1:    l.linear(name{ct2 + "ffn/linear_0", hf + "fc1"}, 4*d, d),
			fc2:    l.linear(name{ct2 + "ffn/linear_1", hf + "fc2"}, d, 4*d),
		})
	}
	e.norm = l.norm(name{"encoder/layer_norm", "encoder.layer_norm"}, d)
	e.allocate(l, c)
	return e
}

func (e *encoder) allocate(l *loader, c Config) {
	rows, frames, d := e.group, e.group*framesPerPosition, c.Width
	for _, t := range []struct {
		dst        *engine.Tensor
		rows, cols int
	}{
		{&e.mel, frames, c.Mels}, {&e.stem, frames, d}, {&e.x, rows, d}, {&e.h, rows, d},
		{&e.att, rows, d}, {&e.qkv, rows, 3 * d}, {&e.ff, rows, 4 * d},
	} {
		*t.dst = l.scratchTensor(&e.buffers, t.rows, t.cols)
	}
	for range c.EncoderLayers {
		e.rest = append(e.rest, l.scratchTensor(&e.buffers, restPositions, 3*d))
	}
}

// run encodes windows, with at most group keys and all seen alike, of so many frames each, whose log-mel lies one after
// another in e.mel. The result, [sum of positionsIn(frames)][D], is valid until the next run. tap, if not nil, is shown
// each stage's output as it comes.
func (e *encoder) run(frames []int, v view, tap func(stage string, t engine.Tensor)) engine.Tensor {
	show := func(stage string, t engine.Tensor) {
		if tap != nil {
			tap(stage, t)
		}
	}
	positions := e.positions[:0]
	allFrames, rows := 0, 0
	for _, n := range frames {
		positions = append(positions, positionsIn(n))
		allFrames += n
		rows += positionsIn(n)
	}
	e.positions = positions
	stem := e.stem.Slice(0, allFrames)
	x, h, att, ff := e.x.Slice(0, rows), e.h.Slice(0, rows), e.att.Slice(0, rows), e.ff.Slice(0, rows)

	e.dev.Conv(stem, e.mel.Slice(0, allFrames), frames, e.conv1, engine.GELU)
	show("conv1_gelu", stem)
	e.dev.Conv(x, stem, frames, e.conv2, engine.GELU)
	show("conv2_gelu", x)
	e.place(x, positions, v)
	show("stem", x)
	for i := range e.layers {
		l := &e.layers[i]
		e.attend(att, h, x, positions, i, v)
		e.dev.Linear(x, att, l.out, engine.NoActivation, x)
		e.dev.NormLinear(ff, h, x, l.ffNorm, l.fc1, engine.GELU)
		e.dev.Linear(x, ff, l.fc2, engine.NoActivation, x)
		if tap != nil {
			tap(fmt.Sprintf("block%d", i), x)
		}
	}
	e.dev.LayerNorm(h, x, e.norm)
	show("final", h)
	return h
}

// place adds to each position of some windows what tells its place.
func (e *encoder) place(x engine.Tensor, positions []int, v view) {
	if v != learnView {
		e.dev.AddPositions(x, positions, e.places)
		return
	}
	n := positions[0] - learnEnd
	e.dev.AddPositions(x.Slice(0, n), []int{n}, e.places)
	e.dev.AddPositions(x.Slice(n, n+learnEnd), []int{learnEnd}, e.ends)
}

// attend sets att to what a layer's self-attention makes of x. h is scratch of the same shape.
func (e *encoder) attend(att, h, x engine.Tensor, positions []int, layer int, v view) {
	l, rest := &e.layers[layer], e.rest[layer]
	if v != shortView {
		qkv := e.qkv.Slice(0, x.Rows)
		e.dev.NormLinear(qkv, h, x, l.attNorm, l.qkv, engine.NoActivation)
		e.dev.Attention(att, qkv, positions, e.heads, 0)
		if v == learnView {
			e.dev.Gather(rest, qkv.Slice(x.Rows-restPositions, x.Rows), restRows)
		}
		return
	}
	at, to := 0, 0
	for _, n := range positions {
		e.dev.NormLinear(e.qkv.Slice(to, to+n), h.Slice(at, at+n), x.Slice(at, at+n), l.attNorm,
			l.qkv, engine.NoActivation)
		at, to = at+n, to+n
		e.dev.Gather(e.qkv.Slice(to, to+restPositions), rest, restRows)
		to += restPositions
	}
	e.dev.Attention(att, e.qkv.Slice(0, to), positions, e.heads, restPositions)
}

// positionsIn is how many encoder positions so many frames make.
func positionsIn(frames int) int { return (frames + framesPerPosition - 1) / framesPerPosition }
