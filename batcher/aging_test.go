package batcher

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func agingDesk(c Config) *desk {
	d := newDesk(c)
	d.now = time.Unix(0, 0)
	return d
}

func (d *desk) wait(t time.Duration) { d.now = d.now.Add(t) }

func TestRule5TheOldestGoesFirstOutsideTheLanes(t *testing.T) {
	d := agingDesk(Config{MaxBatch: 1})
	d.clip(9, "dear")
	d.wait(DefaultBatchWait)
	d.clip(1, "a", "b")
	// It has not waited past the batch wait yet.
	if got := d.next(); got != "1: a" {
		t.Fatal(got)
	}
	d.wait(time.Millisecond)
	d.want(t, "2: dear", "3: b")
}

func TestRule5OnlyTheOldestIsPromoted(t *testing.T) {
	d := agingDesk(Config{MaxBatch: 2})
	d.clip(9, "dear", "dear too")
	d.clip(1, "a", "b", "c")
	d.wait(time.Second)
	d.want(t, "1: dear a", "2: dear too b", "3: c")
}

func TestRule5NoAgingGoesByCostAlone(t *testing.T) {
	d := agingDesk(Config{MaxBatch: 2, NoAging: true})
	d.clip(9, "dear")
	d.clip(1, "a", "b", "c")
	d.wait(time.Second)
	d.want(t, "1: a b", "2: c dear")
}

func TestRule5PlainTurnsAreSingleBatchesAndOweNothing(t *testing.T) {
	d := agingDesk(Config{MaxBatch: 2, NoAging: true})
	d.clip(5, "a", "b", "c")
	if got := d.next(); got != "1: a b" || d.f.Owed() != 0 {
		t.Fatalf("%s, %d owed", got, d.f.Owed())
	}
	d.clip(1, "late")
	d.want(t, "2: late c")
}

func TestRule5NothingIsPromotedWhileARecordingIsPending(t *testing.T) {
	d := agingDesk(Config{MaxBatch: 1, CostCapMillis: 2})
	d.clip(2, "dear")
	d.clip(1, "a", "b")
	d.recording(1, "R", "S", "T")
	d.wait(time.Second)
	d.want(t, "1: a", "1: b", "2: R", "3: dear", "4: S", "5: T")
}

func TestRule5TheTurnAfterTheLastRecordingKeepsToTheLanes(t *testing.T) {
	d := agingDesk(Config{MaxBatch: 1, CostCapMillis: 4})
	d.recording(1, "R")
	if got := d.next(); got != "1: R" {
		t.Fatal(got)
	}
	d.clip(4, "dear")
	d.clip(1, "a", "b", "c", "d")
	d.wait(time.Second)
	// Cheapest first, and the oldest is owed. Then it goes first; so would it by its age.
	for _, want := range []string{"2: a", "2: b", "2: c", "2: d"} {
		if got := d.next(); got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
	}
	d.clip(1, "e")
	d.wait(time.Second)
	d.clip(2, "f", "g")
	d.want(t, "3: dear", "4: e", "5: f", "6: g")
}

func TestRule5ALastRecordingThatHangsUpCounts(t *testing.T) {
	d := agingDesk(Config{MaxBatch: 2, CostCapMillis: 4})
	d.clip(4, "dear")
	d.clip(1, "a", "b", "c", "d", "e")
	d.recording(1, "R")
	d.hangUp("R")
	d.wait(time.Second)
	// One more turn by the rules for lanes: several batches, cheapest first. Left-overs keep their place after it.
	d.want(t, "1: a b", "1: c d", "2: dear", "3: e")
}

func TestARecordingThatHasWaitedLongestWaitsForTheClipTurnUnderWay(t *testing.T) {
	d := agingDesk(Config{MaxBatch: 1})
	d.clip(1, "a")
	d.recording(1, "R", "S")
	d.clip(1, "b", "c")
	d.wait(time.Hour)
	d.want(t, "1: a", "1: b", "1: c", "2: R", "3: S")
}

// plain is plain packing as it reads: the oldest first if it has waited, then by cost.
func plain(c Config, now time.Time, waiting []*Item[string]) []*Item[string] {
	order := slices.Clone(waiting)
	oldest := order[0]
	slices.SortStableFunc(order, func(a, b *Item[string]) int { return cmp.Compare(a.CostMillis, b.CostMillis) })
	if !c.NoAging && now.Sub(oldest.arrived) > DefaultBatchWait {
		order = slices.DeleteFunc(order, func(it *Item[string]) bool { return it == oldest })
		order = slices.Insert(order, 0, oldest)
	}
	var sum int64
	for i, it := range order {
		if i == c.MaxBatch || i > 0 && sum+it.CostMillis > c.CostCapMillis {
			return order[:i]
		}
		sum += it.CostMillis
	}
	return order
}

func TestOutsideTheLanesBatchesAreThoseOfPlainPacking(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 0))
		c := lanesOnly(Config{MaxBatch: 1 + rng.IntN(12), CostCapMillis: 4096 << rng.IntN(8), NoAging: seed%2 == 1})
		d := newDeskFor(c)
		d.now = time.Unix(0, 0)
		var waiting []*Item[string]
		for i := range 200 {
			name := fmt.Sprint(i)
			d.clip(int64(rng.IntN(30_000)), name)
			waiting = append(waiting, d.items[name])
			d.wait(time.Duration(rng.IntN(5)) * time.Millisecond)
			if rng.IntN(4) > 0 {
				continue
			}
			b, _ := d.f.Next(d.now)
			want := plain(c, d.now, waiting)
			if len(b.Parts) != len(want) {
				t.Fatalf("seed %d: %d clips in a batch, want %d", seed, len(b.Parts), len(want))
			}
			for i, p := range b.Parts {
				if p.Item != want[i] {
					t.Fatalf("seed %d: a batch with a clip of %d ms, want %d", seed, p.Item.CostMillis, want[i].CostMillis)
				}
			}
			waiting = slices.DeleteFunc(waiting, func(it *Item[string]) bool { return slices.Contains(want, it) })
			d.f.Done(d.now)
		}
	}
}

// TestAgedIsUnagedWhileARecordingIsPending runs the same events with and without aging.
func TestAgedIsUnagedWhileARecordingIsPending(t *testing.T) {
	for seed := range uint64(24) {
		var runs [2][]string
		for i, noAging := range []bool{false, true} {
			rng := rand.New(rand.NewPCG(seed, 0))
			d := newDeskFor(Config{
				Policy:        Lanes,
				Depth:         1 + int(seed%2),
				MaxBatch:      1 + rng.IntN(12),
				CostCapMillis: []int64{4096, 16_384, 65_536, 180_000, 720_000}[rng.IntN(5)],
				NoAging:       noAging,
				NoAdapt:       true,
			})
			d.now = time.Unix(0, 0)
			for n := range 300 {
				for d.f.recordings.n < 3 {
					d.recording(1+rng.IntN(30), fmt.Sprint("r", n, d.f.recordings.n))
				}
				for j := range rng.IntN(10) {
					d.clip(int64(rng.IntN(30_000)), fmt.Sprint("c", n, ".", j))
				}
				d.wait(time.Duration(rng.IntN(100)) * time.Millisecond)
				runs[i] = append(runs[i], d.next())
			}
		}
		if !slices.Equal(runs[0], runs[1]) {
			t.Errorf("seed %d: aging changed what runs while a recording is pending", seed)
		}
	}
}

func TestRule8ATurnIsBoundWhileTheOneBeforeItRuns(t *testing.T) {
	for depth, want := range map[int][]string{
		2: {"2: a b", "3: S", "4: late"},
		1: {"2: late a b", "3: S"},
	} {
		d := newDeskFor(Config{Policy: Lanes, Depth: depth, CostCapMillis: 720_000, NoAdapt: true})
		d.recording(1, "R", "S")
		d.clip(5, "a", "b")
		b, _ := d.f.Next(d.now)
		d.clip(1, "late")
		d.f.Done(d.now)
		if got := d.show(b); got != "1: R" {
			t.Fatal(got)
		}
		d.want(t, want...)
	}
}

func TestRule8AnEmptiedTurnIsForgotten(t *testing.T) {
	d := newDeskFor(Config{Policy: Lanes, CostCapMillis: 720_000, NoAdapt: true})
	d.recording(1, "R", "S")
	d.clip(5, "a")
	if b, _ := d.f.Next(d.now); d.show(b) != "1: R" {
		t.Fatal(d.show(b))
	}
	d.hangUp("a")
	d.clip(5, "b") // it is still the clips' turn
	d.f.Done(d.now)
	d.want(t, "2: b", "3: S")
}
