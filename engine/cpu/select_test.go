package cpu

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"testing"

	"hark/engine"
)

// choose is Select for a single row, by the definition: what is left, best first, and the
// logarithm of each one's probability.
func choose(logits []float64, banned func(id int) bool, massFrom int) (ids []int32, logProbs []float64) {
	left := slices.Clone(logits)
	for i, v := range left {
		if banned(i) || math.IsNaN(v) {
			left[i] = math.Inf(-1)
		}
	}
	lse := func(row []float64) float64 {
		var s float64
		for _, v := range row {
			s += math.Exp(v)
		}
		return math.Log(s)
	}
	if massFrom > 0 && lse(left[massFrom:]) > slices.Max(left[:massFrom]) {
		for i := range massFrom {
			left[i] = math.Inf(-1)
		}
	}
	for i, v := range left {
		if !math.IsInf(v, -1) {
			ids = append(ids, int32(i))
		}
	}
	sort.SliceStable(ids, func(a, b int) bool { return left[ids[a]] > left[ids[b]] })
	all := lse(left)
	for _, id := range ids {
		logProbs = append(logProbs, left[id]-all)
	}
	return ids, logProbs
}

// sameChoice compares a choice with the first k of what is expected.
func sameChoice(t *testing.T, got engine.Choice, ids []int32, logProbs []float64, k int) {
	t.Helper()
	n := min(k, len(ids))
	if !slices.Equal(got.IDs, ids[:n]) || len(got.LogProbs) != n {
		t.Fatalf("got ids %v with %d log-probabilities, want %v", got.IDs, len(got.LogProbs), ids[:n])
	}
	for i, lp := range got.LogProbs {
		if !(math.Abs(float64(lp)-logProbs[i]) <= 1e-5) || lp > 0 {
			t.Fatalf("id %d: got log-probability %v, want %v", got.IDs[i], lp, logProbs[i])
		}
	}
}

func TestSelect(t *testing.T) {
	onDevices(t, func(t *testing.T, d *Device) {
		const vocab, massFrom = 600, 500
		r := rng()
		m := must(d.NewMask([]int32{7, 3, 3, 599}, vocab))
		if m.Size() != vocab {
			t.Errorf("mask of %d", m.Size())
		}
		masked := func(id int) bool { return id == 3 || id == 7 || id == 599 }
		in := func(id int, rs ...engine.Range) bool {
			return slices.ContainsFunc(rs, func(r engine.Range) bool { return int(r.From) <= id && id < int(r.To) })
		}
		ranges := [4]engine.Range{{From: 0, To: 2}, {From: 100, To: 400}, {From: 9, To: 9}, {From: 550, To: 9000}}
		rules := []engine.Rule{
			{},
			{Mask: m},
			{Ban: ranges},
			{MassFrom: massFrom},
			{Mask: m, Ban: ranges, MassFrom: massFrom},
			{Ban: [4]engine.Range{{From: massFrom, To: vocab}}, MassFrom: massFrom},
			{Ban: [4]engine.Range{{From: 0, To: massFrom}}, MassFrom: massFrom},
			{Ban: [4]engine.Range{{From: -5, To: 597}}},
			{Ban: [4]engine.Range{{From: 0, To: vocab}}},
			{MassFrom: vocab + 1},
		}
		for _, k := range []int{1, 3, 11, vocab + 5} {
			logits := random(r, len(rules), vocab)
			for i := range logits {
				logits[i][50] = 4    // the best of most rows
				logits[i][20] = 4    // as good, and lower
				logits[i][510] = 3.5 // the best from massFrom on
			}
			got, err := d.Select(put(t, d, logits, vocab), rules, k)
			if err != nil {
				t.Fatal(err)
			}
			for i, rule := range rules {
				from := min(int(rule.MassFrom), vocab)
				ids, lps := choose(logits[i], func(id int) bool {
					return rule.Mask != nil && masked(id) || in(id, rule.Ban[:]...)
				}, from)
				sameChoice(t, got[i], ids, lps, k)
			}
		}
	})
}

// TestSelectMass has cases on both sides of the mass rule's edge.
func TestSelectMass(t *testing.T) {
	d := newDevice(t, 1)
	for _, c := range []struct {
		name   string
		logits []float64
		want   []int32
	}{
		{"one likelier text", []float64{2, 0, 1, 1}, []int32{0, 2, 3, 1}},
		{"times likelier together", []float64{1.5, 0, 1, 1}, []int32{2, 3}},
		{"exactly as likely", []float64{1, 0, 1, math.Inf(-1)}, []int32{0, 2, 1}},
		{"no times", []float64{1, 0, math.Inf(-1), math.Inf(-1)}, []int32{0, 1}},
		{"no text", []float64{math.Inf(-1), math.Inf(-1), -50, -60}, []int32{2, 3}},
	} {
		got := must(d.Select(put(t, d, matrix{c.logits}, 4), []engine.Rule{{MassFrom: 2}}, 4))
		if !slices.Equal(got[0].IDs, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got[0].IDs, c.want)
		}
	}
}

func TestSelectDraws(t *testing.T) {
	onDevices(t, func(t *testing.T, d *Device) {
		const vocab, n = 40, 300
		r := rng()
		one := random(r, 1, vocab)[0]
		for _, temperature := range []float32{0.2, 1, 3} {
			var logits matrix
			var rules []engine.Rule
			for i := range n {
				logits = append(logits, one)
				rules = append(rules, engine.Rule{Ban: [4]engine.Range{{From: 5, To: 9}}, Temperature: temperature, Uniform: float32(i) / n})
			}
			got := must(d.Select(put(t, d, logits, vocab), rules, 5))
			ids, lps := choose(one, func(id int) bool { return id >= 5 && id < 9 }, 0)
			logProb := map[int32]float64{}
			scores := make([]float64, vocab)
			for i := range scores {
				scores[i] = math.Inf(-1)
			}
			for i, id := range ids {
				logProb[id] = lps[i]
				scores[id] = one[id] / float64(temperature)
			}
			p := softmax(scores)
			for i, c := range got {
				if len(c.IDs) != 1 {
					t.Fatalf("drew %d ids", len(c.IDs))
				}
				id := c.IDs[0]
				var below float64
				for _, v := range p[:id] {
					below += v
				}
				u := float64(rules[i].Uniform)
				if p[id] == 0 || u < below-1e-6 || u > below+p[id]+1e-6 {
					t.Fatalf("temperature %v: point %v drew id %d, which covers [%v, %v)", temperature, u, id, below, below+p[id])
				}
				if math.Abs(float64(c.LogProbs[0])-logProb[id]) > 1e-5 {
					t.Fatalf("id %d: got log-probability %v, want %v: that at temperature 1", id, c.LogProbs[0], logProb[id])
				}
			}
		}
	})
}

// TestSelectNonsense has logits and rules that a sound model never makes.
func TestSelectNonsense(t *testing.T) {
	d := newDevice(t, 2)
	nan, inf := math.NaN(), math.Inf(1)
	rows := map[string]struct {
		logits []float64
		best   int32 // -1 for none
	}{
		"all NaN":      {[]float64{nan, nan, nan, nan}, -1},
		"some NaN":     {[]float64{nan, 1, 2, nan}, 2},
		"all -Inf":     {[]float64{-inf, -inf, -inf, -inf}, -1},
		"+Inf":         {[]float64{0, inf, nan, inf}, 1},
		"huge":         {[]float64{-3e38, 3e38, -3e38, 0}, 1},
		"hugely below": {[]float64{-3e38, -3e38, -3e38, -2e38}, 3},
	}
	for name, c := range rows {
		for _, rule := range []engine.Rule{
			{}, {MassFrom: 2}, {Temperature: 1, Uniform: 0.999}, {Temperature: 1e-30}, {Temperature: float32(nan)},
			{Temperature: float32(inf), Uniform: 0.5}, {Temperature: 1, Uniform: float32(nan)}, {Temperature: 1, Uniform: 7},
			{Temperature: 1, Uniform: -1}, {MassFrom: -3}, {Ban: [4]engine.Range{{From: 3, To: -3}, {From: -9, To: 0}}},
		} {
			for _, k := range []int{1, 3} {
				got := must(d.Select(put(t, d, matrix{c.logits}, 4), []engine.Rule{rule}, k))[0]
				if (len(got.IDs) == 0) != (c.best < 0) || len(got.IDs) != len(got.LogProbs) {
					t.Fatalf("%s, %+v: got %+v", name, rule, got)
				}
				for i, id := range got.IDs {
					if id < 0 || id > 3 || !(got.LogProbs[i] <= 0) || math.IsNaN(c.logits[id]) || math.IsInf(c.logits[id], -1) {
						t.Errorf("%s, %+v: got %+v", name, rule, got)
					}
				}
				if !(rule.Temperature > 0) && len(got.IDs) > 0 && rule.MassFrom <= 0 && got.IDs[0] != c.best {
					t.Errorf("%s, %+v: got %d, want %d", name, rule, got.IDs[0], c.best)
				}
			}
		}
	}
	logits := put(t, d, newMatrix(1, 4), 4)
	for name, f := range map[string]func(){
		"the best none":      func() { _, _ = d.Select(logits, make([]engine.Rule, 1), 0) },
		"two rules, one row": func() { _, _ = d.Select(logits, make([]engine.Rule, 2), 1) },
		"mask too large":     func() { _, _ = d.Select(logits, []engine.Rule{{Mask: must(d.NewMask(nil, 5))}}, 1) },
	} {
		if !panics(f) {
			t.Errorf("%s: no panic", name)
		}
	}
	for _, id := range []int32{-1, 4} {
		if _, err := d.NewMask([]int32{id}, 4); err == nil {
			t.Errorf("a mask of id %d of 4", id)
		}
	}
}

func TestTokenProbs(t *testing.T) {
	onDevices(t, func(t *testing.T, d *Device) {
		const m, vocab, limit = 5, 300, 257
		logits := random(rng(), m, vocab)
		logits[4][9] = math.NaN()
		x := put(t, d, logits, vocab)
		before := get(t, d, x)
		rows, ids := []int32{0, 0, 3, 1, 1, 0, 2, 2, 4}, []int32{5, 256, 0, 257, 299, 5, -1, 17, 8}
		got, err := d.TokenProbs(x, rows, ids, limit)
		if err != nil {
			t.Fatal(err)
		}
		for i := range rows {
			var want float64
			if rows[i] != 4 && ids[i] >= 0 && ids[i] < limit {
				want = softmax(logits[rows[i]][:limit])[ids[i]]
			}
			if !(math.Abs(float64(got[i])-want) <= 1e-6) {
				t.Errorf("row %d, id %d: got %v, want %v", rows[i], ids[i], got[i], want)
			}
		}
		after := get(t, d, x)
		before[4*vocab+9], after[4*vocab+9] = 0, 0 // NaN is not even itself
		if !slices.Equal(after, before) {
			t.Error("the logits were changed")
		}
		if got := must(d.TokenProbs(x, nil, nil, limit)); len(got) != 0 {
			t.Errorf("got %v for nothing", got)
		}
	})
}

// shared is a path in the folder of reference values. Without it the test is skipped, unless CI is set.
func shared(t *testing.T, path string) string {
	t.Helper()
	dir := os.Getenv("HARK_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared")
	}
	path = filepath.Join(dir, path)
	if _, err := os.Stat(path); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("reference values: %v", err)
		}
		t.Skipf("no reference values: %v (set HARK_SHARED to where they are)", err)
	}
	return path
}

// timestampRule is Whisper's timestamp rules for a step as a Rule, after openai-whisper's
// ApplyTimestampRules (decoding.py).
func timestampRule(sampled []int32, begin, eot, noTimestamps, vocab int32) engine.Rule {
	r := engine.Rule{MassFrom: begin}
	r.Ban[0] = engine.Range{From: noTimestamps, To: noTimestamps + 1}
	n := len(sampled)
	isTime := func(i int) bool { return i < 0 || sampled[i] >= begin }
	last := int32(-1)
	for _, id := range sampled {
		if id >= begin {
			last = id
		}
	}
	closing := n > 0 && isTime(n-1) && !isTime(n-2)
	switch {
	case n == 0:
		r.Ban[1] = engine.Range{From: 0, To: begin}
		r.Ban[2] = engine.Range{From: begin + 50 + 1, To: vocab}
	case closing:
		r.Ban[1] = engine.Range{From: 0, To: eot}
	case isTime(n - 1):
		r.Ban[1] = engine.Range{From: begin, To: vocab}
	}
	if last >= 0 {
		if !closing {
			last++
		}
		r.Ban[3] = engine.Range{From: begin, To: last}
	}
	return r
}

// TestSelectTimestampRules replays what openai-whisper leaves to be chosen after some sequences.
func TestSelectTimestampRules(t *testing.T) {
	const vocab, begin, eot, noTimestamps = 51864, 50363, 50256, 50362 // tiny.en
	data, err := os.ReadFile(shared(t, "golden/whisper/rules.json"))
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Cases []struct {
			Case, Logits string
			Sampled      []int32
			Allowed      [][2]int32 `json:"allowed_ranges_half_open"`
		} `json:"timestamp_rule_cases_tiny.en"`
	}
	if err := json.Unmarshal(data, &golden); err != nil {
		t.Fatal(err)
	}
	if len(golden.Cases) == 0 {
		t.Fatal("no cases")
	}
	d := newDevice(t, 2)
	for _, c := range golden.Cases {
		logits := newMatrix(1, vocab)
		switch c.Logits {
		case "all 0 except id 1000 = 12.0":
			logits[0][1000] = 12
		case "all 0 except id 1000 = 0.5":
			logits[0][1000] = 0.5
		default:
			t.Fatalf("unknown logits: %s", c.Logits)
		}
		got := must(d.Select(put(t, d, logits, vocab), []engine.Rule{timestampRule(c.Sampled, begin, eot, noTimestamps, vocab)}, vocab))[0].IDs
		slices.Sort(got)
		var want []int32
		for _, r := range c.Allowed {
			for id := r[0]; id < r[1]; id++ {
				want = append(want, id)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s, %s: %d ids are left, want %d: %v", c.Case, c.Logits, len(got), len(want), c.Allowed)
		}
	}
}
