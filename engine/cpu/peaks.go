package cpu

import (
	"fmt"
	"math"

	"hark/engine"
	"hark/kernels"
)

// peaksTask finds the best ids; a block is a row.
type peaksTask struct {
	logits  []float32
	ldl     int
	ranges  []engine.Range
	power   float32
	out     []engine.Peak
	scratch scratch
}

// Peaks returns the best id of every range for each row of logits.
func (d *Device) Peaks(logits engine.Tensor, ranges []engine.Range, power float32) ([]engine.Peak, error) {
	for _, r := range ranges {
		if r.From < 0 || r.To <= r.From || int(r.To) > logits.Cols {
			panic(fmt.Sprintf("cpu: Peaks: ids [%d, %d) of %d", r.From, r.To, logits.Cols))
		}
	}
	out := make([]engine.Peak, logits.Rows*len(ranges))
	t := d.peaks.get()
	t.logits, t.ldl, t.power, t.out = floats(logits), logits.Stride, power, out
	t.ranges = append(t.ranges[:0], ranges...)
	t.scratch.reserve(d.pool.threads)
	d.pool.run(logits.Rows, t)
	t.logits, t.out = nil, nil
	d.peaks.put(t)
	return out, nil
}

func (t *peaksTask) block(worker, i int) {
	for j, r := range t.ranges {
		row := t.logits[i*t.ldl+int(r.From) : i*t.ldl+int(r.To)]
		at := kernels.ArgMax(row)
		_, lse := kernels.LogSumExp(row)
		p := engine.Peak{ID: r.From + int32(at), Logit: row[at], LogProb: min(0, row[at]-lse)}
		if t.power > 0 {
			p.PowerSum = powerSum(row, lse, t.power, t.scratch.get(worker, len(row)))
		}
		t.out[i*len(t.ranges)+j] = p
	}
}

// powerSum is the sum of exp(power*(row - lse)).
func powerSum(row []float32, lse, power float32, scratch []float32) float32 {
	copy(scratch, row)
	kernels.Scale(scratch, power)
	_, all := kernels.LogSumExp(scratch)
	return float32(math.Exp(float64(all) - float64(power)*float64(lse)))
}
