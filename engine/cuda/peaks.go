package cuda

import (
	"fmt"
	"math"

	"hark/engine"
)

// peakWords is how many numbers a peak takes. (kernels/cuda/peaks.cu)
const peakWords = 4

// Peaks returns the best id of every range for each row of logits.
func (d *Device) Peaks(logits engine.Tensor, ranges []engine.Range, power float32) ([]engine.Peak, error) {
	widest, words := 0, []int32(nil)
	for _, r := range ranges {
		if r.From < 0 || r.To <= r.From || int(r.To) > logits.Cols {
			panic(fmt.Sprintf("cuda: Peaks: ids [%d, %d) of %d", r.From, r.To, logits.Cols))
		}
		widest, words = max(widest, int(r.To-r.From)), append(words, r.From, r.To)
	}
	peaks := make([]engine.Peak, 0, logits.Rows*len(ranges))
	d.mu.Lock()
	defer d.mu.Unlock()
	if cap(peaks) == 0 {
		return peaks, d.wait()
	}
	most := max(1, min(maxGridY, pageBytes/(4*peakWords*len(ranges))))
	for first := 0; first < logits.Rows; first += most {
		some := logits.Slice(first, min(first+most, logits.Rows))
		d.enter()
		v := view(some)
		n := some.Rows * len(ranges)
		out := d.scratch(4 * peakWords * n)
		d.launch("peaks"+d.working().suffix(), dim3{X: len(ranges), Y: some.Rows, Z: 1}, along(rowThreads(widest)), 0,
			append(v[:], d.stage(words), flt(power), at(out))...)
		raw, err := d.fetch(out, 4*peakWords*n)
		if err != nil {
			return nil, err
		}
		for i := range n {
			number := func(j int) float32 { return math.Float32frombits(word(raw, peakWords*i+j)) }
			peaks = append(peaks, engine.Peak{ID: int32(word(raw, peakWords*i)), Logit: number(1), LogProb: number(2), PowerSum: number(3)})
		}
	}
	return peaks, nil
}
