package cuda

import (
	"encoding/binary"
	"fmt"
	"math"

	"hark/engine"
)

// runWords is how many numbers a run of ids of one row takes. (kernels/cuda/tokenprobs.cu)
const runWords = 3

// TokenProbs returns probabilities under the softmax over the first limit ids. An id that is not among these has none,
// nor has any in a row that holds something that is no number.
func (d *Device) TokenProbs(logits engine.Tensor, rows, ids []int32, limit int) ([]float32, error) {
	if len(rows) != len(ids) || limit < 0 || limit > logits.Cols {
		panic(fmt.Sprintf("cuda: TokenProbs: %d rows, %d ids, the first %d of %d logits", len(rows),
			len(ids), limit, logits.Cols))
	}
	indices("TokenProbs", rows, logits.Rows)
	out := make([]float32, 0, len(ids))
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(ids) == 0 {
		return out, d.wait()
	}
	for len(ids) > 0 {
		n := min(len(ids), stageMost/(4*(runWords+1)))
		some, err := d.probabilities(logits, rows[:n], ids[:n], limit)
		if err != nil {
			return nil, err
		}
		out, rows, ids = append(out, some...), rows[n:], ids[n:]
	}
	return out, nil
}

// probabilities is TokenProbs for a few ids. The lock is held.
func (d *Device) probabilities(logits engine.Tensor, rows, ids []int32, limit int) ([]float32, error) {
	var runs []int32
	for i, r := range rows {
		if i == 0 || r != rows[i-1] {
			runs = append(runs, r, int32(i), 0)
		}
		runs[len(runs)-1] = int32(i) + 1
	}
	d.enter()
	v := view(logits)
	result := d.scratch(4 * len(ids))
	d.launch("tokenprobs"+d.working().suffix(), along(len(runs)/runWords), along(rowThreads(limit)), 0,
		append(v[:], d.stage(runs), d.stage(ids), i32(limit), at(result))...)
	raw, err := d.fetch(result, 4*len(ids))
	if err != nil {
		return nil, err
	}
	out := make([]float32, len(ids))
	for i := range out {
		out[i] = math.Float32frombits(word(raw, i))
	}
	return out, nil
}

// word is word number i of what came back.
func word(raw []byte, i int) uint32 { return binary.LittleEndian.Uint32(raw[4*i:]) }
