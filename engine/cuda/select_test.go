//go:build linux && amd64 && !nocuda

package cuda

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"hark/engine"
)

// logitLayouts are how logits lie in tests: in single precision as in models, and in the storage's format.
var logitLayouts = []layout{{4, 4, true}, {3, 1, true}, {5, 3, false}}

// logits makes rows of logits on both devices.
func (b *bench) logits(rows [][]float32, l layout) pair {
	return b.put(b.rounded(slices.Concat(rows...)), len(rows), len(rows[0]), l)
}

// sameChoices holds choices to the CPU's.
func (b *bench) sameChoices(what string, got, want []engine.Choice) {
	b.Helper()
	for i := range want {
		if !slices.Equal(got[i].IDs, want[i].IDs) || len(got[i].LogProbs) != len(want[i].LogProbs) {
			b.Fatalf("%s: row %d: got %v, want %v", what, i, got[i], want[i])
		}
		for j, w := range want[i].LogProbs {
			if g := got[i].LogProbs[j]; !(math.Abs(float64(g-w)) <= 1e-5) || g > 0 {
				b.Fatalf("%s: row %d: id %d has log-probability %v, want %v", what, i, got[i].IDs[j], g, w)
			}
		}
	}
}

func TestSelect(t *testing.T) {
	onBoth(t, func(b *bench) {
		const massFrom = 500
		ranges := [4]engine.Range{{From: 0, To: 2}, {From: 100, To: 400}, {From: 9, To: 9}, {From: 550, To: 9000}}
		for i, vocabulary := range []int{600, 5100} {
			l := logitLayouts[i]
			banned := []int32{7, 3, 3, 599}
			rules := func(d engine.Device) []engine.Rule {
				m := must(d.NewMask(banned, vocabulary))
				if m.Size() != vocabulary {
					t.Errorf("mask of %d", m.Size())
				}
				return []engine.Rule{
					{},
					{Mask: m},
					{Ban: ranges},
					{MassFrom: massFrom},
					{Mask: m, Ban: ranges, MassFrom: massFrom},
					{Ban: [4]engine.Range{{From: massFrom, To: int32(vocabulary)}}, MassFrom: massFrom},
					{Ban: [4]engine.Range{{From: 0, To: massFrom}}, MassFrom: massFrom},
					{Ban: [4]engine.Range{{From: -5, To: 597}}},
					{Ban: [4]engine.Range{{From: 0, To: int32(vocabulary)}}},
					{MassFrom: int32(vocabulary) + 1},
				}
			}
			here, there := rules(b.gpu), rules(b.cpu)
			for _, k := range []int{1, 3, 11, vocabulary + 5}[:4-i] {
				var rows [][]float32
				for range here {
					row := b.random(vocabulary)
					row[50], row[20], row[510] = 4, 4, 3.5 // the best of most rows, as good and lower, the best from massFrom on
					rows = append(rows, row)
				}
				b.inBothOrders(func(order string) {
					x := b.logits(rows, l)
					got, want := must(b.gpu.Select(x.gpu, here, k)), must(b.cpu.Select(x.cpu, there, k))
					b.sameChoices(fmt.Sprint(vocabulary, k, order), got, want)
				})
			}
		}
	})
}

// TestSelectMass has cases on both sides of the mass rule's edge.
func TestSelectMass(t *testing.T) {
	onBoth(t, func(b *bench) {
		inf := float32(math.Inf(1))
		for _, c := range []struct {
			name   string
			logits []float32
			want   []int32
		}{
			{"one likelier text", []float32{2, 0, 1, 1}, []int32{0, 2, 3, 1}},
			{"times likelier together", []float32{1.5, 0, 1, 1}, []int32{2, 3}},
			{"exactly as likely", []float32{1, 0, 1, -inf}, []int32{0, 2, 1}},
			{"no times", []float32{1, 0, -inf, -inf}, []int32{0, 1}},
			{"no text", []float32{-inf, -inf, -50, -60}, []int32{2, 3}},
		} {
			for _, l := range logitLayouts {
				got := must(b.gpu.Select(b.logits([][]float32{c.logits}, l).gpu, []engine.Rule{{MassFrom: 2}}, 4))
				if !slices.Equal(got[0].IDs, c.want) {
					t.Errorf("%s: got %v, want %v", c.name, got[0].IDs, c.want)
				}
			}
		}
	})
}

// TestSelectDraws holds draws to the CPU's for the same points. Where a point is closer to the edge
// between two ids than rounding, either will do.
func TestSelectDraws(t *testing.T) {
	onBoth(t, func(b *bench) {
		for _, vocabulary := range []int{40, 3000} {
			const n = 60
			one := b.random(vocabulary)
			for _, temperature := range []float32{0.2, 1, 3} {
				var rows [][]float32
				var rules []engine.Rule
				for i := range n {
					rows = append(rows, one)
					rules = append(rules, engine.Rule{Ban: [4]engine.Range{{From: 5, To: 9}}, Temperature: temperature, Uniform: float32(i) / n})
				}
				b.inBothOrders(func(order string) {
					x := b.logits(rows, logitLayouts[0])
					got, want := must(b.gpu.Select(x.gpu, rules, 5)), must(b.cpu.Select(x.cpu, rules, 5))
					differ := 0
					for i := range got {
						if len(got[i].IDs) != 1 || len(got[i].LogProbs) != 1 {
							t.Fatalf("drew %v", got[i])
						}
						if got[i].IDs[0] == want[i].IDs[0] {
							if math.Abs(float64(got[i].LogProbs[0]-want[i].LogProbs[0])) > 1e-5 {
								t.Fatalf("got log-probability %v, want %v", got[i].LogProbs[0], want[i].LogProbs[0])
							}
							continue
						}
						differ++
						if d := edgeDistance(one, rules[i], got[i].IDs[0]); d > 1e-5 {
							t.Fatalf("temperature %v, point %v: drew %d, %v off its stretch; want %d",
								temperature, rules[i].Uniform, got[i].IDs[0], d, want[i].IDs[0])
						}
					}
					if differ > n/10 {
						t.Errorf("%d of %d draws differ", differ, n)
					}
				})
			}
		}
	})
}

// edgeDistance is how far a rule's point lies outside of an id's stretch of the cumulative sum.
func edgeDistance(logits []float32, r engine.Rule, id int32) float64 {
	weight := func(i int) float64 {
		if b := r.Ban[0]; int32(i) >= b.From && int32(i) < b.To {
			return 0
		}
		return math.Exp(float64(logits[i]) / float64(r.Temperature))
	}
	var below, all float64
	for i := range logits {
		if i == int(id) {
			below = all
		}
		all += weight(i)
	}
	u := float64(r.Uniform)
	return max(below/all-u, u-(below+weight(int(id)))/all)
}

// TestSelectNonsense has logits and rules that a sound model never makes.
func TestSelectNonsense(t *testing.T) {
	onBoth(t, func(b *bench) {
		nan, inf := float32(math.NaN()), float32(math.Inf(1))
		for _, c := range []struct {
			name   string
			logits []float32
			best   int32 // -1 for none
		}{
			{"all NaN", []float32{nan, nan, nan, nan}, -1},
			{"some NaN", []float32{nan, 1, 2, nan}, 2},
			{"all -Inf", []float32{-inf, -inf, -inf, -inf}, -1},
			{"+Inf", []float32{0, inf, nan, inf}, 1},
			{"huge", []float32{-3e38, 3e38, -3e38, 0}, 1},
			{"hugely below", []float32{-3e38, -3e38, -3e38, -2e38}, 3},
		} {
			x := b.put(c.logits, 1, 4, layout{4, 4, true})
			for _, rule := range []engine.Rule{
				{}, {MassFrom: 2}, {Temperature: 1, Uniform: 0.999}, {Temperature: 1e-30}, {Temperature: nan},
				{Temperature: inf, Uniform: 0.5}, {Temperature: 1, Uniform: nan}, {Temperature: 1, Uniform: 7},
				{Temperature: 1, Uniform: -1}, {MassFrom: -3}, {Ban: [4]engine.Range{{From: 3, To: -3}, {From: -9, To: 0}}},
			} {
				for _, k := range []int{1, 3} {
					got := must(b.gpu.Select(x.gpu, []engine.Rule{rule}, k))[0]
					if (len(got.IDs) == 0) != (c.best < 0) || len(got.IDs) != len(got.LogProbs) {
						t.Fatalf("%s, %+v: got %+v", c.name, rule, got)
					}
					for i, id := range got.IDs {
						if id < 0 || id > 3 || !(got.LogProbs[i] <= 0) || c.logits[id] != c.logits[id] || c.logits[id] == -inf {
							t.Errorf("%s, %+v: got %+v", c.name, rule, got)
						}
					}
					if !(rule.Temperature > 0) && len(got.IDs) > 0 && rule.MassFrom <= 0 && got.IDs[0] != c.best {
						t.Errorf("%s, %+v: got %d, want %d", c.name, rule, got.IDs[0], c.best)
					}
				}
			}
		}
		x := b.blank(1, 4, layout{4, 4, true})
		for name, f := range map[string]func(){
			"the best none":      func() { _, _ = b.gpu.Select(x.gpu, make([]engine.Rule, 1), 0) },
			"two rules, one row": func() { _, _ = b.gpu.Select(x.gpu, make([]engine.Rule, 2), 1) },
			"mask too large":     func() { _, _ = b.gpu.Select(x.gpu, []engine.Rule{{Mask: must(b.gpu.NewMask(nil, 5))}}, 1) },
		} {
			if !panics(f) {
				t.Errorf("%s: no panic", name)
			}
		}
		for _, id := range []int32{-1, 4} {
			if _, err := b.gpu.NewMask([]int32{id}, 4); err == nil {
				t.Errorf("a mask of id %d of 4", id)
			}
		}
		if got := must(b.gpu.Select(x.gpu.Slice(0, 0), nil, 3)); len(got) != 0 {
			t.Errorf("got %v for nothing", got)
		}
	})
}

// TestSelectManyRows takes more rows than come back at once.
func TestSelectManyRows(t *testing.T) {
	b := &bench{T: t, gpu: newDevice(t, Config{})}
	const vocabulary = 3
	rows := stageMost/(4*ruleWords) + 7
	x := engine.NewTensor(must(b.gpu.AllocSingle(rows*vocabulary)), rows, vocabulary)
	values := make([]float32, rows*vocabulary)
	for i := range rows {
		values[i*vocabulary+i*5%vocabulary] = 1
	}
	b.gpu.Upload(x, values)
	for i, c := range must(b.gpu.Select(x, make([]engine.Rule, rows), 1)) {
		if !slices.Equal(c.IDs, []int32{int32(i * 5 % vocabulary)}) {
			t.Fatalf("row %d: got %v", i, c.IDs)
		}
	}
}
