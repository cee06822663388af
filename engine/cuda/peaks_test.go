//go:build linux && amd64 && !nocuda

package cuda

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"hark/engine"
)

func TestPeaks(t *testing.T) {
	onBoth(t, func(b *bench) {
		const rows, vocabulary = 6, 1030
		nan, inf := float32(math.NaN()), float32(math.Inf(1))
		var logits [][]float32
		for range rows {
			logits = append(logits, b.random(vocabulary))
		}
		logits[1][700], logits[1][200], logits[1][900] = 9, 9, 9 // the lowest of equals
		logits[2][1026] = 50                                     // next to certain
		for i := range 5 {
			logits[3][1025+i], logits[4][1025+i], logits[5][1025+i] = 1, nan, -inf
		}
		logits[4][3] = nan
		ranges := []engine.Range{{From: 0, To: 1025}, {From: 1025, To: vocabulary}, {From: 17, To: 18}}
		for _, l := range logitLayouts {
			x := b.logits(logits, l)
			before := b.get(x.gpu)
			for _, power := range []float32{0.33, 0} {
				b.inBothOrders(func(order string) {
					got, want := must(b.gpu.Peaks(x.gpu, ranges, power)), must(b.cpu.Peaks(x.cpu, ranges, power))
					for i, w := range want {
						g := got[i]
						if g.ID != w.ID || !sameNumber(g.Logit, w.Logit, 0) || !sameNumber(g.LogProb, w.LogProb, 1e-5) ||
							!sameNumber(g.PowerSum, w.PowerSum, 1e-5*w.PowerSum) {
							t.Errorf("%v %s, row %d, range %d: got %+v, want %+v", l, order, i/len(ranges), i%len(ranges), g, w)
						}
					}
				})
			}
			for i, v := range b.get(x.gpu) {
				if !sameNumber(v, before[i], 0) {
					t.Fatal("the logits were changed")
				}
			}
			if got := must(b.gpu.Peaks(x.gpu, nil, 1)); len(got) != 0 {
				t.Errorf("got %v for no ranges", got)
			}
			for _, r := range []engine.Range{{From: -1, To: 2}, {From: 2, To: 2}, {From: 0, To: vocabulary + 1}} {
				if !panics(func() { _, _ = b.gpu.Peaks(x.gpu, []engine.Range{r}, 0) }) {
					t.Errorf("%v: no panic", r)
				}
			}
		}
	})
}

// sameNumber reports whether a is b, up to an error, or both are no numbers.
func sameNumber(a, b, within float32) bool {
	return a == b || a != a && b != b || max(a-b, b-a) <= within
}

func TestTokenProbs(t *testing.T) {
	onBoth(t, func(b *bench) {
		const vocabulary, limit = 5000, 4257
		var logits [][]float32
		for range 7 {
			logits = append(logits, b.random(vocabulary))
		}
		logits[4][9] = float32(math.NaN())
		logits[5][9] = float32(math.Inf(1))
		for i := range logits[6] {
			logits[6][i] = float32(math.Inf(-1))
		}
		rows, ids := []int32{0, 0, 3, 1, 1, 0, 2, 2, 4, 5, 5, 6}, []int32{5, 4256, 0, 4257, 4999, 5, -1, 17, 8, 9, 10, 11}
		for _, l := range logitLayouts {
			x := b.logits(logits, l)
			b.inBothOrders(func(order string) {
				got, want := must(b.gpu.TokenProbs(x.gpu, rows, ids, limit)), must(b.cpu.TokenProbs(x.cpu, rows, ids, limit))
				for i, w := range want {
					if !(math.Abs(float64(got[i]-w)) <= 1e-6*float64(w)+1e-9) {
						t.Errorf("%v %s: row %d, id %d: got %v, want %v", l, order, rows[i], ids[i], got[i], w)
					}
				}
			})
			if got := must(b.gpu.TokenProbs(x.gpu, nil, nil, limit)); len(got) != 0 {
				t.Errorf("got %v for nothing", got)
			}
			if got := must(b.gpu.TokenProbs(x.gpu, []int32{0}, []int32{0}, 0)); !slices.Equal(got, []float32{0}) {
				t.Errorf("got %v out of no ids", got)
			}
			if !panics(func() { _, _ = b.gpu.TokenProbs(x.gpu, []int32{7}, []int32{0}, 1) }) {
				t.Error(fmt.Sprint(l), "a row that isn't there: no panic")
			}
		}
	})
}
