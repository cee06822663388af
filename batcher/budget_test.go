package batcher

import (
	"math"
	"testing"
	"time"
)

func TestRule6CapAndItsRange(t *testing.T) {
	for _, tt := range []struct {
		name           string
		c              Config
		cap            int64
		floor, ceiling int64
	}{
		{"no budget", Config{}, 16_384, 4096, 65_536},
		{"of the model", Config{CostCapMillis: 720_000}, 720_000, 180_000, 2_880_000},
		{"small", Config{CostCapMillis: 400}, 400, 256, 1600},
		{"tiny", Config{CostCapMillis: 100}, 100, 100, 400},
		{"of the operator", Config{CostCapMillis: 720_000, MaxBatchCostMillis: 16_384}, 16_384, 4096, 65_536},
		{"range of the operator", Config{CostCapMillis: 720_000, MinCostMillis: 1000, MaxCostMillis: 2000}, 2000, 1000, 2000},
		{"only the lower end", Config{CostCapMillis: 1000, MinCostMillis: 50_000}, 50_000, 50_000, 50_000},
		{"only the upper end", Config{CostCapMillis: 720_000, MaxCostMillis: 100}, 100, 100, 100},
		{"both", Config{MaxBatchCostMillis: 720_000, MinCostMillis: 5000, MaxCostMillis: 900_000}, 720_000, 5000, 900_000},
	} {
		c := tt.c.withDefaults()
		if got := c.startCap(); got != tt.cap {
			t.Errorf("%s: the cap starts at %d, want %d", tt.name, got, tt.cap)
		}
		if got, want := c.capRange(), (capRange{tt.floor, tt.ceiling}); got != want {
			t.Errorf("%s: range %v, want %v", tt.name, got, want)
		}
	}
}

func TestRule6AnotherBudgetMovesTheRange(t *testing.T) {
	f := NewFormer[int](Config{CostCapMillis: 720_000})
	for i := range 100 {
		f.Add(&Item[int]{Request: Request[int]{CostMillis: int64(i), Work: &oneWindow{}}}, time.Time{})
	}
	f.SetBudget(16_384)
	if got := f.Cap(); got != 65_536 {
		t.Errorf("cap %d, want the new ceiling", got)
	}
	f.SetBudget(2_000_000)
	if got := f.Cap(); got != 500_000 {
		t.Errorf("cap %d, want the new floor", got)
	}
	if got := f.Waiting(Clips); got != 100 {
		t.Errorf("%d clips wait, want all 100", got)
	}
	pinned := NewFormer[int](Config{CostCapMillis: 720_000, MaxBatchCostMillis: 30_000})
	pinned.SetBudget(2_000_000)
	if got := pinned.Cap(); got != 30_000 {
		t.Errorf("cap %d although the operator pinned it to 30000", got)
	}
}

// feed has an adapter see so many full batches whose clips took so long.
func feed(a *adapter, now *time.Time, batches int, took, run time.Duration) (steps int) {
	for range batches {
		*now = now.Add(run)
		for range 12 {
			a.clipDone(took)
		}
		if a.batchDone(*now, 12, 96_000, run) {
			steps++
		}
	}
	return steps
}

func TestRule7CapFollowsTheHeadroom(t *testing.T) {
	c := Config{CostCapMillis: 720_000, TargetP50: time.Second}.withDefaults()
	for _, tt := range []struct {
		took time.Duration
		want float64
	}{
		{500 * time.Millisecond, 720_000 * (1 + 0.15*0.5)},
		{time.Second, 720_000},
		{1400 * time.Millisecond, 720_000 * (1 - 0.15*0.4)},
		{time.Minute, 720_000 * 0.85}, // never more than 15 % a step
	} {
		a := newAdapter(c)
		now := time.Unix(0, 0)
		if feed(a, &now, 9, tt.took, time.Second) != 0 {
			t.Fatal("a step before the tenth batch")
		}
		if feed(a, &now, 1, tt.took, time.Second) != 1 {
			t.Fatal("no step at the tenth batch")
		}
		if math.Abs(a.capMillis-tt.want) > 1 {
			t.Errorf("clips of %v: cap %.0f, want %.0f", tt.took, a.capMillis, tt.want)
		}
	}
	for took, want := range map[time.Duration]int64{time.Millisecond: 2_880_000, time.Hour: 180_000} {
		a := newAdapter(c)
		now := time.Unix(0, 0)
		feed(a, &now, 1000, took, time.Second)
		if got := a.cap(); got != want {
			t.Errorf("clips of %v: cap %d in the end, want %d", took, got, want)
		}
	}
}

func TestRule7OnlyFullBatchesMoveTheCap(t *testing.T) {
	for _, tt := range []struct {
		clips int
		cost  int64
		moves bool
	}{
		{8, 10_000, false}, // 8 of 12 places, little audio
		{9, 10_000, true},
		{2, 250_000, false}, // of 360 000, since the cap is above
		{2, 260_000, true},
	} {
		a := newAdapter(Config{CostCapMillis: 720_000, TargetP50: time.Second}.withDefaults())
		now := time.Unix(0, 0)
		for range 10 {
			now = now.Add(time.Second)
			a.clipDone(time.Minute)
			a.batchDone(now, tt.clips, tt.cost, time.Second)
		}
		if got := a.cap() != 720_000; got != tt.moves {
			t.Errorf("%d clips of %d ms: the cap moves: %v, want %v", tt.clips, tt.cost, got, tt.moves)
		}
	}
}

func TestRule7TargetIsMeasured(t *testing.T) {
	for run, want := range map[time.Duration]float64{800 * time.Millisecond: 1200, time.Millisecond: 5} {
		a := newAdapter(Config{}.withDefaults())
		now := time.Unix(0, 0)
		feed(a, &now, 10, time.Second, run)
		if math.Abs(a.target-want) > 1e-9 {
			t.Errorf("batches of %v: target %v ms, want %v", run, a.target, want)
		}
		feed(a, &now, 100, time.Second, time.Hour)
		if math.Abs(a.target-want) > 1e-9 {
			t.Errorf("the target moves to %v ms", a.target)
		}
	}
}

func TestRule7BatchWaitIsPI(t *testing.T) {
	a := newAdapter(Config{TargetP50: time.Second}.withDefaults())
	now := time.Unix(0, 0)
	step := func(after time.Duration, headroom float64) {
		now = now.Add(after)
		a.stepWait(now, headroom)
	}
	check := func(what string, wait, integral float64) {
		t.Helper()
		if math.Abs(a.wait-wait) > 1e-9 || math.Abs(a.integral-integral) > 1e-9 {
			t.Errorf("%s: wait %v ms, integral %v, want %v, %v", what, a.wait, a.integral, wait, integral)
		}
	}
	step(0, 10) // the first step has no past to integrate
	check("first", 13, 0)
	step(time.Second, 10)
	check("second", 13+3+0.05*10, 10)
	step(2*time.Second, 10)
	check("clamped", 16.5+3+0.05*20, 20)
	step(4*time.Second, 0) // two seconds beyond two: a quarter is left
	check("idle", 20.5+0.05*5, 5)
	step(time.Hour, 1) // counts as 5 s
	check("long idle", 20.75+0.3+0.05*(5*0.125+5), 5*0.125+5)
	step(time.Second, 1000)
	check("saturated", 50, 20)
	a.integral = 7
	step(time.Second, 1000)
	check("at the top", 50, 7)
	step(time.Second, -1000)
	step(time.Second, -1000)
	if a.wait != 1 || a.integral < -20 {
		t.Errorf("at the bottom: wait %v, integral %v", a.wait, a.integral)
	}
	at := a.integral
	step(time.Second, -1000)
	check("stays", 1, at)
}

func TestRule7NoHoldStaysNoHold(t *testing.T) {
	a := newAdapter(Config{BatchWait: -1, TargetP50: time.Second}.withDefaults())
	now := time.Unix(0, 0)
	feed(a, &now, 100, time.Millisecond, time.Millisecond)
	if a.batchWait() > 0 {
		t.Errorf("batch wait %v", a.batchWait())
	}
}

func TestRule7TheFormerAdaptsFromClipBatchesOnly(t *testing.T) {
	f := NewFormer[int](Config{Policy: Lanes, CostCapMillis: 100_000, TargetP50: time.Millisecond})
	now := time.Unix(0, 0)
	turn := func(lane Lane) {
		for range 12 {
			f.Add(&Item[int]{Request: Request[int]{Lane: lane, CostMillis: 8000, Work: &oneWindow{}}}, now)
		}
		for {
			b, _ := f.Next(now)
			if b == nil {
				return
			}
			now = now.Add(time.Second)
			f.Done(now)
		}
	}
	for range 10 {
		turn(Recordings)
	}
	if got := f.Cap(); got != 100_000 {
		t.Errorf("recordings moved the cap to %d", got)
	}
	for range 10 {
		turn(Clips)
	}
	if got := f.Cap(); got != 85_000 {
		t.Errorf("cap %d, want 85000", got)
	}
	if got := f.BatchWait(); got != MinBatchWait {
		t.Errorf("batch wait %v, want %v", got, MinBatchWait)
	}
}

func TestMedianIsExact(t *testing.T) {
	for _, tt := range []struct {
		values []float64
		want   float64
	}{{[]float64{3}, 3}, {[]float64{9, 1}, 5}, {[]float64{5, 1, 9}, 5}, {[]float64{4, 1, 9, 2}, 3}} {
		if got := median(tt.values); got != tt.want {
			t.Errorf("median of %v is %v, want %v", tt.values, got, tt.want)
		}
	}
	w := recent{size: 3}
	for v := range 10 {
		w.add(float64(v))
	}
	if got := w.mean(); got != 8 {
		t.Errorf("mean of the last three is %v, want 8", got)
	}
}
