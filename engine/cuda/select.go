package cuda

import (
	"fmt"
	"math"

	"hark/engine"
)

const (
	// logitThreads is the most threads of a block that reads a row of logits, and logitsEach how many logits a
	// thread reads ahead. (kernels/cuda/peak.h)
	logitThreads = 512
	logitsEach   = 8
	// ruleWords is how many numbers a rule takes. (kernels/cuda/rule.h)
	ruleWords = 14
)

// mask is a set of banned ids as a bit each.
type mask struct {
	size int
	bits *buffer
}

func (m *mask) Size() int { return m.size }

// NewMask brings a set of banned ids to the GPU.
func (d *Device) NewMask(banned []int32, n int) (engine.Mask, error) {
	words := make([]uint32, ceilDiv(n, 32))
	for _, id := range banned {
		if id < 0 || int(id) >= n {
			return nil, fmt.Errorf("cuda: mask: id %d of %d", id, n)
		}
		words[id/32] |= 1 << (id % 32)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	b, err := d.placeWords(words)
	if err != nil {
		return nil, err
	}
	return &mask{n, b}, nil
}

// Select says for each row of logits what may come next. A logit that is no number is treated as banned. A Choice has
// fewer than k ids, down to none, where fewer are left. The logits stay as they are.
func (d *Device) Select(logits engine.Tensor, rows []engine.Rule, k int) ([]engine.Choice, error) {
	need("Select", "logits", logits, len(rows), logits.Cols)
	if k < 1 {
		panic(fmt.Sprintf("cuda: Select: the best %d", k))
	}
	k = min(k, logits.Cols)
	choices := make([]engine.Choice, 0, len(rows))
	d.mu.Lock()
	defer d.mu.Unlock()
	if k == 0 || len(rows) == 0 {
		return make([]engine.Choice, len(rows)), d.wait()
	}
	for len(rows) > 0 {
		n := min(len(rows), max(1, pageBytes/(8*k)), stageMost/(4*ruleWords))
		some, err := d.choose(logits.Slice(len(choices), len(choices)+n), rows[:n], k)
		if err != nil {
			return nil, err
		}
		choices, rows = append(choices, some...), rows[n:]
	}
	return choices, nil
}

// choose is Select for a few rows. The lock is held.
func (d *Device) choose(logits engine.Tensor, rules []engine.Rule, k int) ([]engine.Choice, error) {
	words := make([]int32, 0, ruleWords*len(rules))
	for i := range rules {
		needMask(&rules[i], logits.Cols)
		words = appendRule(words, &rules[i])
	}
	d.enter()
	out := d.scratch(8 * k * len(rules))
	d.launchSelect(logits, d.stage(words), k, at(out))
	raw, err := d.fetch(out, 8*k*len(rules))
	if err != nil {
		return nil, err
	}
	return readChoices(raw, len(rules), k), nil
}

// launchSelect queues the kernel, with rules and room for the answer on the GPU. The lock is held.
func (d *Device) launchSelect(logits engine.Tensor, rules arg, k int, out arg) {
	v := view(logits)
	d.launch("select"+d.working().suffix(), along(logits.Rows), along(rowThreads(logits.Cols)), 0,
		append(v[:], i32(logits.Cols), rules, i32(k), out)...)
}

// readChoices reads the kernel's answer for some rows, k ids each at most.
func readChoices(raw []byte, rows, k int) []engine.Choice {
	choices, ids, logProbs := make([]engine.Choice, rows), make([]int32, rows*k), make([]float32, rows*k)
	for i := range choices {
		n := 0
		for ; n < k; n++ {
			id := int32(word(raw, 2*k*i+n))
			if id < 0 {
				break
			}
			ids[i*k+n], logProbs[i*k+n] = id, math.Float32frombits(word(raw, 2*k*i+k+n))
		}
		choices[i] = engine.Choice{IDs: ids[i*k:][:n:n], LogProbs: logProbs[i*k:][:n:n]}
	}
	return choices
}

// needMask panics if a rule's mask is for more ids than there are logits.
func needMask(r *engine.Rule, vocabulary int) {
	if r.Mask != nil && r.Mask.Size() > vocabulary {
		panic(fmt.Sprintf("cuda: Select: a mask of %d ids for %d logits", r.Mask.Size(), vocabulary))
	}
}

// appendRule appends a rule as the kernel reads it.
func appendRule(words []int32, r *engine.Rule) []int32 {
	var bits uint64
	size := 0
	if r.Mask != nil {
		m := r.Mask.(*mask)
		bits, size = uint64(m.bits.address()), m.size
	}
	words = append(words, int32(bits), int32(bits>>32), int32(size))
	for _, b := range r.Ban {
		words = append(words, b.From, b.To)
	}
	return append(words, r.MassFrom, int32(math.Float32bits(r.Temperature)), int32(math.Float32bits(r.Uniform)))
}

// rowThreads is how many threads read a row of n logits.
func rowThreads(n int) int { return min(logitThreads, max(1, ceilDiv(n, 32*logitsEach))*32) }
