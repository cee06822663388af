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
		bytes := 4 * peakWords * some.Rows * len(ranges)
		out := d.scratch(bytes)
		d.launchPeaks(some, d.stage(words), len(ranges), widest, power, at(out))
		raw, err := d.fetch(out, bytes)
		if err != nil {
			return nil, err
		}
		peaks = appendPeaks(peaks, raw)
	}
	return peaks, nil
}

// launchPeaks queues the kernel, with some ranges, and room for the answer, on the GPU. The lock is held.
func (d *Device) launchPeaks(logits engine.Tensor, ranges arg, count, widest int, power float32, out arg) {
	v := view(logits)
	d.launch("peaks"+d.working().suffix(), dim3{X: count, Y: logits.Rows, Z: 1}, along(rowThreads(widest)), 0,
		append(v[:], ranges, flt(power), out)...)
}

// appendPeaks reads the kernel's answer.
func appendPeaks(peaks []engine.Peak, raw []byte) []engine.Peak {
	for ; len(raw) > 0; raw = raw[4*peakWords:] {
		number := func(j int) float32 { return math.Float32frombits(word(raw, j)) }
		peaks = append(peaks, engine.Peak{ID: int32(word(raw, 0)), Logit: number(1),
			LogProb: number(2), PowerSum: number(3)})
	}
	return peaks
}
