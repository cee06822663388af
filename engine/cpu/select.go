package cpu

import (
	"fmt"
	"math"
	"slices"

	"hark/engine"
	"hark/kernels"
)

var negInf = float32(math.Inf(-1))

// mask is a set of banned ids, each below size.
type mask struct {
	ids  []int32
	size int
}

func (m *mask) Size() int { return m.size }

// NewMask keeps a set of banned ids.
func (d *Device) NewMask(banned []int32, n int) (engine.Mask, error) {
	for _, id := range banned {
		if id < 0 || int(id) >= n {
			return nil, fmt.Errorf("cpu: mask: id %d of %d", id, n)
		}
	}
	ids := slices.Clone(banned)
	slices.Sort(ids)
	return &mask{slices.Compact(ids), n}, nil
}

// selectTask applies rules; a block is a row.
type selectTask struct {
	logits []float32
	ldl    int
	vocab  int
	rules  []engine.Rule
	k      int
	out    []engine.Choice // with room for k ids each
}

// Select says for each row of logits what may come next. A logit that is no number is treated as
// banned, so that whatever a model computes, ids are in range and log-probabilities
// are numbers. A Choice has fewer than k ids, down to none, where fewer are left.
func (d *Device) Select(logits engine.Tensor, rows []engine.Rule, k int) ([]engine.Choice, error) {
	need("Select", "logits", logits, len(rows), logits.Cols)
	if k < 1 {
		panic(fmt.Sprintf("cpu: Select: the best %d", k))
	}
	for i := range rows {
		if m := rows[i].Mask; m != nil && m.Size() > logits.Cols {
			panic(fmt.Sprintf("cpu: Select: a mask of %d ids for %d logits", m.Size(), logits.Cols))
		}
	}
	k = min(k, logits.Cols)
	t := d.selects.get()
	*t = selectTask{floats(logits), logits.Stride, logits.Cols, append(t.rules[:0], rows...), k,
		make([]engine.Choice, len(rows))}
	ids, logProbs := make([]int32, len(rows)*k), make([]float32, len(rows)*k)
	for i := range t.out {
		t.out[i] = engine.Choice{IDs: ids[i*k : (i+1)*k : (i+1)*k], LogProbs: logProbs[i*k : (i+1)*k : (i+1)*k]}
	}
	if k > 0 {
		d.pool.run(len(rows), t)
	}
	out := t.out
	clear(t.rules)
	t.logits, t.out = nil, nil
	d.selects.put(t)
	return out, nil
}

func (t *selectTask) block(_, i int) {
	row, rule, c := t.logits[i*t.ldl:][:t.vocab], &t.rules[i], &t.out[i]
	makeNumbers(row)
	ban(row, rule)
	lse := applyMass(row, int(rule.MassFrom))
	switch {
	case lse == negInf:
		c.IDs, c.LogProbs = c.IDs[:0], c.LogProbs[:0]
		return
	case rule.Temperature > 0:
		id := draw(row, float64(rule.Temperature), float64(rule.Uniform))
		c.IDs, c.LogProbs = c.IDs[:1], c.LogProbs[:1]
		c.IDs[0], c.LogProbs[0] = int32(id), row[id]
	case t.k == 1:
		id := kernels.ArgMax(row)
		c.IDs[0], c.LogProbs[0] = int32(id), row[id]
	default:
		kernels.TopK(row, t.k, c.IDs, c.LogProbs)
	}
	n := 0
	for n < len(c.IDs) && c.LogProbs[n] != negInf {
		// Rounding must not make a probability greater than one.
		c.LogProbs[n] = min(0, c.LogProbs[n]-lse)
		n++
	}
	c.IDs, c.LogProbs = c.IDs[:n], c.LogProbs[:n]
}

// makeNumbers bans what is no number and makes +Inf the greatest number, so that differences
// of what is not banned are numbers too.
func makeNumbers(row []float32) {
	if sum := kernels.Dot(row, row); sum-sum == 0 {
		return // a finite sum of squares: every logit is finite
	}
	for i, v := range row {
		if v != v {
			row[i] = negInf
		}
		row[i] = min(row[i], math.MaxFloat32)
	}
}

// ban applies a rule's mask and ranges.
func ban(row []float32, rule *engine.Rule) {
	if rule.Mask != nil {
		for _, id := range rule.Mask.(*mask).ids {
			row[id] = negInf
		}
	}
	for _, r := range rule.Ban {
		fill(row, int(r.From), int(r.To))
	}
}

// fill bans the ids [from, to), as far as there are such.
func fill(row []float32, from, to int) {
	from, to = max(0, from), min(len(row), to)
	for i := from; i < to; i++ {
		row[i] = negInf
	}
}

// applyMass applies Rule.MassFrom and returns the logarithm of the sum of what is left, -Inf if
// nothing is.
func applyMass(row []float32, from int) float32 {
	from = max(0, min(from, len(row)))
	best, below := kernels.LogSumExp(row[:from])
	_, above := kernels.LogSumExp(row[from:])
	if from > 0 && above > best {
		fill(row, 0, from)
		return above
	}
	return logAdd(below, above)
}

// logAdd is log(exp(a) + exp(b)).
func logAdd(a, b float32) float32 {
	if a < b {
		a, b = b, a
	}
	if b == negInf {
		return a
	}
	return float32(float64(a) + math.Log1p(math.Exp(float64(b)-float64(a))))
}

// draw is the id at the point u of the cumulative sum of softmax(row/temperature). At least
// one logit must not be -Inf.
func draw(row []float32, temperature, u float64) int {
	best := float64(row[kernels.ArgMax(row)])
	weight := func(v float32) float64 {
		// All that is 50 below the greatest together weighs less than a float64's last digit.
		if e := (float64(v) - best) / temperature; v != negInf && e > -50 {
			return math.Exp(e)
		}
		return 0
	}
	var sum float64
	for _, v := range row {
		sum += weight(v)
	}
	point, last := u*sum, 0
	sum = 0
	for i, v := range row {
		w := weight(v)
		if w == 0 {
			continue
		}
		last = i
		if sum += w; sum > point {
			break
		}
	}
	return last
}
