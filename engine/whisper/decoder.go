package whisper

import (
	"fmt"

	"hark/engine"
)

// maxRows is the most tokens that one forward pass takes; longer prompts go in several.
const maxRows = 512

// decoder is the graph from tokens to logits, through the caches.
type decoder struct {
	dev        engine.Device
	width      int
	heads      int
	vocabulary int
	tokens     engine.Linear // the embedding, tied with the output layer
	positions  engine.Table
	layers     []decoderLayer
	norm       engine.Norm

	cache engine.Cache
	cross engine.Cross

	// Scratch: x, h, att, q [maxRows][D], qkv [maxRows][3D], ff [maxRows][4D];
	// last [logitRows][D], scores [logitRows][V] in single precision; kv [1500][2D].
	x, h, att, q, qkv, ff, last, scores, kv engine.Tensor
	// probs holds cross-attention rows for alignment, [heads*rows][positions], as reserveProbs shaped it last.
	probs   engine.Tensor
	rest    []engine.Tensor // keys and values of each layer for the rest of a short context's window, [restPositions][2D]
	buffers []engine.Buffer
	rows    struct { // of a pass, as split leaves them
		ids, positions, windows []int32
		places                  []engine.CacheRow
	}

	alignment [][]int // alignment heads by layer
}

type decoderLayer struct {
	selfNorm, crossNorm, ffNorm engine.Norm
	selfQKV, selfOut            engine.Linear
	crossQ, crossKV, crossOut   engine.Linear
	fc1, fc2                    engine.Linear
}

// row is one token to be run: what it is, where it stands, and which window it listens to.
type row struct {
	token, position int32
	slot, window    int32 // slot of the cache, slot of the cross-attention
}

func loadDecoder(l *loader, c Config, slots, windows, logitRows int) *decoder {
	m := &decoder{dev: l.dev, width: c.Width, heads: c.DecoderHeads, vocabulary: c.Vocabulary}
	d := c.Width
	m.tokens = l.matrix(name{"decoder/embeddings/weight", "decoder.embed_tokens.weight"}, nil, c.Vocabulary, d)
	m.positions = l.table(name{"decoder/position_encodings/encodings",
		"decoder.embed_positions.weight"}, 0, c.TextContext, d)
	for i := range c.DecoderLayers {
		ct2, hf := fmt.Sprintf("decoder/layer_%d/", i), fmt.Sprintf("decoder.layers.%d.", i)
		m.layers = append(m.layers, decoderLayer{
			selfNorm: l.norm(name{ct2 + "self_attention/layer_norm", hf + "self_attn_layer_norm"}, d),
			selfQKV: l.stacked(ct2+"self_attention/linear_0", d, hf+"self_attn.q_proj",
				hf+"self_attn.k_proj", hf+"self_attn.v_proj"),
			selfOut:   l.linear(name{ct2 + "self_attention/linear_1", hf + "self_attn.out_proj"}, d, d),
			crossNorm: l.norm(name{ct2 + "attention/layer_norm", hf + "encoder_attn_layer_norm"}, d),
			crossQ:    l.linear(name{ct2 + "attention/linear_0", hf + "encoder_attn.q_proj"}, d, d),
			crossOut:  l.linear(name{ct2 + "attention/linear_2", hf + "encoder_attn.out_proj"}, d, d),
			ffNorm:    l.norm(name{ct2 + "ffn/layer_norm", hf + "final_layer_norm"}, d),
			fc1:       l.linear(name{ct2 + "ffn/linear_0", hf + "fc1"}, 4*d, d),
			fc2:       l.linear(name{ct2 + "ffn/linear_1", hf + "fc2"}, d, 4*d),
		})
	}
	m.norm = l.norm(name{"decoder/layer_norm", "decoder.layer_norm"}, d)
	l.many = true // all positions of a window at once
	for i := range m.layers {
		ct2, hf := fmt.Sprintf("decoder/layer_%d/attention/linear_1", i),
			fmt.Sprintf("decoder.layers.%d.encoder_attn.", i)
		m.layers[i].crossKV = l.stacked(ct2, d, hf+"k_proj", hf+"v_proj")
	}
	l.many = false
	m.alignment = make([][]int, c.DecoderLayers)
	for _, h := range c.AlignmentHeads {
		m.alignment[h[0]] = append(m.alignment[h[0]], h[1])
	}
	m.allocate(l, c, slots, windows, logitRows)
	return m
}

func (m *decoder) allocate(l *loader, c Config, slots, windows, logitRows int) {
	d := c.Width
	for _, t := range []struct {
		dst        *engine.Tensor
		rows, cols int
	}{
		{&m.x, maxRows, d}, {&m.h, maxRows, d}, {&m.att, maxRows, d}, {&m.q, maxRows, d},
		{&m.qkv, maxRows, 3 * d}, {&m.ff, maxRows, 4 * d},
		{&m.last, logitRows, d}, {&m.kv, c.AudioContext, 2 * d},
	} {
		*t.dst = l.scratchTensor(&m.buffers, t.rows, t.cols)
	}
	for range c.DecoderLayers {
		m.rest = append(m.rest, l.scratchTensor(&m.buffers, restPositions, 2*d))
	}
	m.scores = l.allocate(l.dev.AllocSingle, &m.buffers, logitRows, c.Vocabulary)
	if l.err == nil {
		m.cache, l.err = l.dev.NewCache(c.DecoderLayers, slots, c.TextContext, d)
	}
	if l.err == nil {
		m.cross, l.err = l.dev.NewCross(c.DecoderLayers, windows, c.AudioContext, d, c.DecoderHeads)
	}
}

// listen computes a window's cross-attention keys and values from its encoder positions
// [≤ 1500][D] and keeps them in the given slot, after a short view with those of the window's rest.
func (m *decoder) listen(window int32, positions engine.Tensor, v view) {
	n := positions.Rows
	for i := range m.layers {
		m.dev.Linear(m.kv.Slice(0, n), positions, m.layers[i].crossKV, engine.NoActivation, engine.Tensor{})
		all := n
		if v == shortView {
			all += restPositions
			m.dev.Gather(m.kv.Slice(n, all), m.rest[i], restRows)
		}
		m.dev.StoreCross(m.cross, i, int(window), m.kv.Slice(0, all))
	}
}

// learnRest keeps the keys and values of the last of the encoder's positions.
func (m *decoder) learnRest(positions engine.Tensor) {
	last := positions.Slice(positions.Rows-restPositions, positions.Rows)
	for i := range m.layers {
		m.dev.Linear(m.rest[i], last, m.layers[i].crossKV, engine.NoActivation, engine.Tensor{})
	}
}

// split takes rows apart, into memory that the next call uses again.
func (m *decoder) split(rows []row) (ids, positions []int32, places []engine.CacheRow, windows []int32) {
	r := &m.rows
	r.ids, r.positions, r.places, r.windows = r.ids[:0], r.positions[:0], r.places[:0], r.windows[:0]
	for _, row := range rows {
		r.ids, r.positions, r.windows = append(r.ids, row.token), append(r.positions, row.position),
			append(r.windows, row.window)
		r.places = append(r.places, engine.CacheRow{Slot: row.slot, Position: row.position})
	}
	return r.ids, r.positions, r.places, r.windows
}

// forward runs rows, at most maxRows, and leaves their last hidden states, normed, in the first len(rows)
// rows of m.h. With align, the alignment heads' cross-attention goes to m.probs, head after head
// in the order of m.alignment; all rows must then belong to one window. tap is as encoder.run's.
func (m *decoder) forward(rows []row, align bool, tap func(stage string, t engine.Tensor)) {
	n := len(rows)
	ids, positions, places, windows := m.split(rows)
	x, h, att, q := m.x.Slice(0, n), m.h.Slice(0, n), m.att.Slice(0, n), m.q.Slice(0, n)
	qkv, ff := m.qkv.Slice(0, n), m.ff.Slice(0, n)

	m.dev.Embed(x, m.tokens, ids, m.positions, positions)
	seen := 0
	for i := range m.layers {
		l := &m.layers[i]
		m.dev.NormLinear(qkv, h, x, l.selfNorm, l.selfQKV, engine.NoActivation)
		m.dev.CachedAttention(att, qkv, m.cache, i, m.heads, places)
		m.dev.Linear(x, att, l.selfOut, engine.NoActivation, x)
		m.dev.NormLinear(q, h, x, l.crossNorm, l.crossQ, engine.NoActivation)
		probs, heads := engine.Tensor{}, []int(nil)
		if align && len(m.alignment[i]) > 0 {
			heads = m.alignment[i]
			probs = m.probs.Slice(seen*n, (seen+len(heads))*n)
			seen += len(heads)
		}
		m.dev.CrossAttention(att, q, m.cross, i, windows, probs, heads)
		m.dev.Linear(x, att, l.crossOut, engine.NoActivation, x)
		m.dev.NormLinear(ff, h, x, l.ffNorm, l.fc1, engine.GELU)
		m.dev.Linear(x, ff, l.fc2, engine.NoActivation, x)
		if tap != nil {
			tap(fmt.Sprintf("block%d", i), x)
		}
	}
	m.dev.LayerNorm(h, x, m.norm)
}

// logits are the scores [len(rows)][V] of some rows of the last forward pass; at most logitRows
// of them, valid until the next call.
func (m *decoder) logits(rows []int32) engine.Tensor {
	last := m.last.Slice(0, len(rows))
	m.dev.Gather(last, m.h, rows)
	return m.score(last)
}

// firstLogits are the logits of the first n rows.
func (m *decoder) firstLogits(n int) engine.Tensor { return m.score(m.h.Slice(0, n)) }

// score multiplies with the output layer.
func (m *decoder) score(last engine.Tensor) engine.Tensor {
	scores := m.scores.Slice(0, last.Rows)
	m.dev.Linear(scores, last, m.tokens, engine.NoActivation, engine.Tensor{})
	return scores
}

// on is the same graph, over the same weights and scratch, queued on another view of its device.
func (m *decoder) on(dev engine.Device) *decoder {
	other := *m
	other.dev = dev
	return &other
}

// reserveProbs makes room for the alignment heads' attention of n rows to so many positions.
func (m *decoder) reserveProbs(n, positions int) error {
	heads := 0
	for _, h := range m.alignment {
		heads += len(h)
	}
	buf := m.probs.Buf
	if need := heads * n * positions; buf == nil || buf.Len() < need {
		m.freeProbs()
		var err error
		if buf, err = m.dev.AllocSingle(need); err != nil {
			return err
		}
	}
	m.probs = engine.NewTensor(buf, heads*n, positions)
	return nil
}

// freeProbs gives back what reserveProbs has made.
func (m *decoder) freeProbs() {
	if !m.probs.IsZero() {
		m.dev.Free(m.probs.Buf)
		m.probs = engine.Tensor{}
	}
}
