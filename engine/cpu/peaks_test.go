package cpu

import (
	"math"
	"testing"

	"hark/engine"
)

func TestPeaks(t *testing.T) {
	onDevices(t, func(t *testing.T, d *Device) {
		const rows, vocab, power = 9, 1030, 0.33
		logits := random(rng(), rows, vocab)
		logits[3][700], logits[3][200], logits[3][900] = 9, 9, 9 // the lowest of equals
		logits[4][1026] = 50                                     // next to certain
		for i := range 5 {
			logits[5][1025+i] = 1
		}
		ranges := []engine.Range{{From: 0, To: 1025}, {From: 1025, To: vocab}}
		x := put(t, d, logits, vocab)
		got := must(d.Peaks(x, ranges, power))
		if len(got) != rows*len(ranges) {
			t.Fatalf("%d peaks", len(got))
		}
		for i, row := range logits {
			for j, r := range ranges {
				p, part := got[i*len(ranges)+j], row[r.From:r.To]
				best, sum := 0, 0.0
				probs := softmax(part)
				for k, v := range part {
					if v > part[best] {
						best = k
					}
					sum += math.Pow(probs[k], power)
				}
				if p.ID != r.From+int32(best) || p.Logit != float32(part[best]) {
					t.Errorf("row %d, range %d: got id %d, want %d", i, j, p.ID, best)
				}
				if math.Abs(float64(p.LogProb)-math.Log(probs[best])) > 1e-5 || math.Abs(float64(p.PowerSum)-sum) > 1e-5*sum {
					t.Errorf("row %d, range %d: got log-probability %v and power sum %v, want %v and %v", i, j, p.LogProb, p.PowerSum, math.Log(probs[best]), sum)
				}
			}
		}
		logits.close(t, get(t, d, x))
		for _, p := range must(d.Peaks(x, ranges, 0)) {
			if p.PowerSum != 0 {
				t.Fatalf("a power sum of %v that nobody asked for", p.PowerSum)
			}
		}
	})
}

func TestPeaksNonsense(t *testing.T) {
	d := newDevice(t, 1)
	nan, inf := math.NaN(), math.Inf(1)
	x := put(t, d, matrix{{nan, nan, nan, 1}, {nan, 2, 3, 1}, {-inf, -inf, -inf, 1}, {0, inf, inf, 1}}, 4)
	got := must(d.Peaks(x, []engine.Range{{From: 0, To: 3}}, 0.5))
	for i, want := range []int32{0, 2, 0, 1} {
		if got[i].ID != want {
			t.Errorf("row %d: got id %d, want %d", i, got[i].ID, want)
		}
	}
	for _, r := range []engine.Range{{From: -1, To: 2}, {From: 2, To: 2}, {From: 0, To: 5}} {
		if !panics(func() { _, _ = d.Peaks(x, []engine.Range{r}, 0) }) {
			t.Errorf("%v: no panic", r)
		}
	}
}
