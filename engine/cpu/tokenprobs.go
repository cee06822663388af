package cpu

import (
	"fmt"
	"math"

	"hark/engine"
	"hark/kernels"
)

// probTask finds probabilities; a block is a run of ids of one row.
type probTask struct {
	logits    []float32
	ldl       int
	limit     int
	rows, ids []int32
	runs      []int // where each run begins, and the end of the last
	out       []float32
}

// TokenProbs returns probabilities under the softmax over the first limit ids. An id that is not
// among these has none, nor has any in a row that holds something that is no number.
func (d *Device) TokenProbs(logits engine.Tensor, rows, ids []int32, limit int) ([]float32, error) {
	if len(rows) != len(ids) || limit < 0 || limit > logits.Cols {
		panic(fmt.Sprintf("cpu: TokenProbs: %d rows, %d ids, the first %d of %d logits", len(rows),
			len(ids), limit, logits.Cols))
	}
	t := d.probs.get()
	t.runs = t.runs[:0]
	for i, r := range rows {
		if r < 0 || int(r) >= logits.Rows {
			panic(fmt.Sprintf("cpu: TokenProbs: row %d of %d", r, logits.Rows))
		}
		if i == 0 || r != rows[i-1] {
			t.runs = append(t.runs, i)
		}
	}
	runs := len(t.runs)
	t.runs = append(t.runs, len(rows))
	out := make([]float32, len(ids))
	t.logits, t.ldl, t.limit, t.out = floats(logits), logits.Stride, limit, out
	t.rows, t.ids = append(t.rows[:0], rows...), append(t.ids[:0], ids...)
	d.pool.run(runs, t)
	t.logits, t.out = nil, nil
	d.probs.put(t)
	return out, nil
}

func (t *probTask) block(_, i int) {
	from, to := t.runs[i], t.runs[i+1]
	row := t.logits[int(t.rows[from])*t.ldl:][:t.limit]
	_, lse := kernels.LogSumExp(row)
	for j, id := range t.ids[from:to] {
		if id < 0 || int(id) >= t.limit {
			continue
		}
		if p := float32(math.Exp(float64(row[id]) - float64(lse))); p >= 0 {
			t.out[from+j] = min(p, 1)
		}
	}
}
