package parakeet

import (
	"fmt"
	"math"

	"hark/engine"
	"hark/models"
)

// decoder is the graph of the prediction network, an LSTM over the pieces written so far, and of the joint network,
// which says for a frame and a state of the prediction network what comes next.
//
// States live in slots. Blanks change no state, so a state belongs to a text, wherever in the window it was reached.
type decoder struct {
	dev       engine.Device
	steps     steps
	embedding engine.Tensor // [V+1][P], its last row zero
	lstm      []engine.LSTM
	pred      engine.Linear // [J][P], joint.pred
	out       engine.Linear // [V+1+durations][J], joint.joint_net.2

	slots     int             // free to use; one more holds the state that every text starts from
	h, c      []engine.Tensor // [slots+1][P] for each layer; c, which sums up a whole text, in single precision
	predicted engine.Tensor   // [slots+1][J]: joint.pred of each state's output

	// Scratch: x [rows][P], z [rows][J]; cells [rows][P] and logits [rows][V+1+durations] in single precision.
	x, z, cells, logits engine.Tensor
	buffers             []engine.Buffer
}

// loadDecoder puts a decoder's weights on the device, with room for a number of states, rows of which can be worked on
// at once. It is to be closed even if loading fails.
func loadDecoder(l *loader, c models.ParakeetConfig, slots, rows int) *decoder {
	p, j, outputs := c.PredictorWidth, c.JointWidth, c.Vocabulary+1+len(c.Durations)
	d := &decoder{
		dev: l.dev, slots: slots,
		steps: steps{blank: int32(c.Blank()), durations: c.Durations, maxSymbols: c.MaxSymbols},
	}
	embedding := l.tensor("decoder.prediction.embed.weight", c.Vocabulary+1, p)
	if d.embedding = d.alloc(l, c.Vocabulary+1, p); l.err == nil {
		l.dev.Upload(d.embedding, embedding)
	}
	for i := range c.PredictorLayers {
		d.lstm = append(d.lstm, loadLSTM(l, i, p))
		d.h = append(d.h, d.alloc(l, slots+1, p))
		d.c = append(d.c, d.allocSingle(l, slots+1, p))
	}
	d.pred = l.linear("joint.pred", j, p, true)
	d.out = l.linear("joint.joint_net.2", outputs, j, true)
	d.predicted = d.alloc(l, slots+1, j)
	d.x, d.z = d.alloc(l, rows, p), d.alloc(l, rows, j)
	d.cells, d.logits = d.allocSingle(l, rows, p), d.allocSingle(l, rows, outputs)
	if l.err == nil {
		// The blank is what every text starts with; its state is kept.
		start := int32(slots)
		d.advance([]int32{d.steps.blank}, []int32{start})
	}
	return d
}

// loadLSTM reads a layer of the prediction network. PyTorch keeps two biases, which are only ever added.
func loadLSTM(l *loader, layer, width int) engine.LSTM {
	read := func(what string, shape ...int) []float32 {
		return l.tensor(fmt.Sprintf("decoder.prediction.dec_rnn.lstm.%s_l%d", what, layer), shape...)
	}
	wih, whh := read("weight_ih", 4*width, width), read("weight_hh", 4*width, width)
	bias := read("bias_ih", 4*width)
	for i, b := range read("bias_hh", 4*width) {
		bias[i] += b
	}
	if l.err != nil {
		return nil
	}
	lstm, err := l.dev.NewLSTM(wih, whh, bias, width, width)
	l.err = err
	return lstm
}

// alloc makes a tensor that lives as long as the decoder.
func (d *decoder) alloc(l *loader, rows, cols int) engine.Tensor {
	return d.allocate(l, l.dev.Alloc, rows, cols)
}

// allocSingle is alloc in single precision.
func (d *decoder) allocSingle(l *loader, rows, cols int) engine.Tensor {
	return d.allocate(l, l.dev.AllocSingle, rows, cols)
}

func (d *decoder) allocate(l *loader, alloc func(n int) (engine.Buffer, error), rows, cols int) engine.Tensor {
	if l.err != nil {
		return engine.Tensor{}
	}
	b, err := alloc(rows * cols)
	if err != nil {
		l.err = err
		return engine.Tensor{}
	}
	d.buffers = append(d.buffers, b)
	return engine.NewTensor(b, rows, cols)
}

func (d *decoder) close() {
	for _, b := range d.buffers {
		d.dev.Free(b)
	}
	d.buffers = nil
}

// begin puts the state that every text starts from into a slot.
func (d *decoder) begin(slot int32) { d.copy([]int32{int32(d.slots)}, []int32{slot}) }

// copy copies states from slots to others, as if all were copied at once; at most rows of them.
func (d *decoder) copy(from, to []int32) {
	x, cells, z := d.x.Slice(0, len(from)), d.cells.Slice(0, len(from)), d.z.Slice(0, len(from))
	for i := range d.lstm {
		d.dev.Gather(x, d.h[i], from)
		d.dev.Scatter(d.h[i], x, to)
		d.dev.Gather(cells, d.c[i], from)
		d.dev.Scatter(d.c[i], cells, to)
	}
	d.dev.Gather(z, d.predicted, from)
	d.dev.Scatter(d.predicted, z, to)
}

// advance tells the states in slots one token more each; at most rows of them.
func (d *decoder) advance(tokens, slots []int32) {
	x, z := d.x.Slice(0, len(tokens)), d.z.Slice(0, len(tokens))
	d.dev.Gather(x, d.embedding, tokens)
	for i, l := range d.lstm {
		d.dev.LSTM(x, x, d.h[i], d.c[i], l, slots)
	}
	d.dev.Linear(z, x, d.pred, engine.NoActivation, engine.Tensor{})
	d.dev.Scatter(d.predicted, z, slots)
}

// predict makes some steps of the prediction network, at most rows of them. All of them start from the states
// as they were before.
func (d *decoder) predict(steps []prediction) {
	var tokens, slots, from, to []int32
	for _, s := range steps {
		tokens, slots = append(tokens, s.token), append(slots, s.to)
		if s.from != s.to {
			from, to = append(from, s.from), append(to, s.to)
		}
	}
	if len(from) > 0 {
		d.copy(from, to)
	}
	d.advance(tokens, slots)
}

// ask answers looks at frames [N][J], at most rows of them. The last beams of them are of searches that
// want to know the count best pieces.
func (d *decoder) ask(frames engine.Tensor, looks []look, beams, count int) ([]answer, error) {
	n, pieces := len(looks), int(d.steps.blank)+1
	at, slots := make([]int32, n), make([]int32, n)
	for i, l := range looks {
		at[i], slots[i] = int32(l.frame), l.slot
	}
	logits := d.joint(frames, at, slots)
	ranges := []engine.Range{{From: 0, To: int32(pieces)}, {From: int32(pieces), To: int32(logits.Cols)}}
	peaks, err := d.dev.Peaks(logits, ranges, confidencePower)
	if err != nil {
		return nil, err
	}
	answers := d.answers(peaks)
	if beams == 0 {
		return answers, nil
	}
	return answers, d.askMore(logits.Slice(n-beams, n), looks[n-beams:], answers[n-beams:], count)
}

// joint makes the logits for some frames after the texts whose states are in slots.
func (d *decoder) joint(frames engine.Tensor, at, slots []int32) engine.Tensor {
	z, logits := d.z.Slice(0, len(at)), d.logits.Slice(0, len(at))
	d.dev.AddRows(z, frames, at, d.predicted, slots, engine.ReLU)
	d.dev.Linear(logits, z, d.out, engine.NoActivation, engine.Tensor{})
	return logits
}

// answers are what peaks say, a piece's and a duration's for each.
func (d *decoder) answers(peaks []engine.Peak) []answer {
	answers := make([]answer, len(peaks)/2)
	for i := range answers {
		answers[i].piece, answers[i].duration = peaks[2*i], peaks[2*i+1]
		answers[i].duration.ID -= d.steps.blank + 1
	}
	return answers
}

// askMore fills in what only beams want to know. The logits are spent.
func (d *decoder) askMore(logits engine.Tensor, looks []look, answers []answer, count int) error {
	pieces := int(d.steps.blank) + 1
	var rows, ids []int32
	for i, l := range looks {
		for _, id := range l.ids {
			rows, ids = append(rows, int32(i)), append(ids, id)
		}
	}
	if len(ids) > 0 {
		probabilities, err := d.dev.TokenProbs(logits, rows, ids, pieces)
		if err != nil {
			return err
		}
		for i, l := range looks {
			answers[i].probabilities = probabilities[:len(l.ids)]
			probabilities = probabilities[len(l.ids):]
		}
	}
	rules := make([]engine.Rule, len(looks))
	durations, err := d.dev.Select(logits.Columns(pieces, logits.Cols), rules, len(d.steps.durations))
	if err != nil {
		return err
	}
	best, err := d.dev.Select(logits.Columns(0, pieces), rules, count)
	if err != nil {
		return err
	}
	for i := range answers {
		answers[i].best = best[i]
		answers[i].durations = byID(durations[i], len(d.steps.durations))
	}
	return nil
}

// byID are the log-probabilities of a choice in the order of ids, of which there are n.
func byID(c engine.Choice, n int) []float32 {
	all := make([]float32, n)
	for i := range all {
		all[i] = float32(math.Inf(-1))
	}
	for i, id := range c.IDs {
		all[id] = c.LogProbs[i]
	}
	return all
}
