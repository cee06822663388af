package audioprep

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// cheapest tries every way from cut i of a plan to its last one.
func cheapest(p *plan, i int) float64 {
	if i == len(p.cuts)-1 {
		return 0
	}
	best := math.Inf(1)
	for j := i + 1; j < len(p.cuts) && p.cuts[j].end-p.cuts[i].start <= p.maxSamples; j++ {
		best = min(best, p.windowCost(&p.cuts[i], &p.cuts[j])+cheapest(p, j))
	}
	return best
}

// TestPlanIsCheapest: no other choice among the cuts costs less.
func TestPlanIsCheapest(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		p := newPlan(clipLimit)
		p.begin(second)
		at := second
		for range 3 + rnd.IntN(12) {
			at += second + rnd.IntN(12*second)
			silence := rnd.IntN(3 * second)
			p.add(cut{end: at, start: at + silence, flaw: rnd.Float64()})
			at += silence
		}
		windows := p.finish(at + 5*second)
		got := p.cuts[len(p.cuts)-1].cost
		if want := cheapest(p, 0); math.Abs(got-want) > 1e-9 {
			t.Fatalf("got windows %v that cost %v, want %v", windows, got, want)
		}
		checkWindows(t, windows, at+5*second, clipLimit)
	}
}

// planned are the windows' lengths in seconds, of speech with pauses of the same worth at
// these seconds, the last of which is its end.
func planned(flaw func(at int) float64, at ...int) (lengths []int) {
	p := newPlan(clipLimit)
	p.begin(0)
	end := at[len(at)-1]
	for _, s := range at[:len(at)-1] {
		p.add(cut{end: s * second, start: s * second, flaw: flaw(s)})
	}
	for _, w := range p.finish(end * second) {
		lengths = append(lengths, (w.End-w.Start)/second)
	}
	return lengths
}

func TestPlanBalances(t *testing.T) {
	alike := func(int) float64 { return 0.5 }
	better := func(at int) float64 { return map[bool]float64{true: 0, false: 1}[at == 17] }
	for name, c := range map[string]struct {
		flaw func(at int) float64
		at   []int
		want []int
	}{
		"a few seconds more than a window": {alike, []int{5, 10, 15, 20, 25, 29, 33}, []int{15, 18}},
		"a minute":                         {alike, []int{4, 10, 15, 20, 25, 29, 35, 40, 45, 50, 55, 60}, []int{20, 20, 20}},
		"nothing but the window's end":     {alike, []int{30, 60}, []int{30, 30}},
		"a better pause nearby":            {better, []int{15, 17, 20, 36}, []int{17, 19}},
	} {
		if got := planned(c.flaw, c.at...); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}

// TestPlanCutsHard: where there is no cut for longer than a window, windows are full and overlap.
func TestPlanCutsHard(t *testing.T) {
	p := newPlan(clipLimit)
	p.begin(0)
	got := p.finish(70 * second)
	want := []Window{{0, 30 * second, 0}, {28 * second, 58 * second, 2 * second}, {56 * second, 70 * second, 2 * second}}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestPlanBeginsAnew: a plan that was finished has forgotten its cuts.
func TestPlanBeginsAnew(t *testing.T) {
	p := newPlan(clipLimit)
	p.begin(0)
	p.add(cut{end: 20 * second, start: 21 * second})
	p.finish(45 * second)
	p.begin(60 * second)
	if got, want := p.finish(70*second), []Window{{60 * second, 70 * second, 0}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
