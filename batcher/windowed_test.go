package batcher

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// bench drives a Former of policy windowed on a device that takes so much a batch and so much a window.
type bench struct {
	*desk
	fixed  float64           // seconds
	each   [numLanes]float64 // seconds that a window adds
	device [numLanes]float64 // seconds that a lane's turns have taken
}

func newBench(c Config) *bench {
	c.NoAdapt = true
	if c.CostCapMillis == 0 {
		c.CostCapMillis = 720_000
	}
	b := &bench{desk: newDeskFor(c), fixed: 0.6, each: [numLanes]float64{0.021, 0.021}}
	b.now = time.Unix(0, 0)
	return b
}

// next runs a batch and returns it as text; the device's time goes to the lane whose turn it is.
func (d *bench) next() string {
	if b, _ := d.run(); b != nil {
		return d.show(b)
	}
	return ""
}

// run is next for those who don't read what it was.
func (d *bench) run() (b *Batch[string], seconds float64) {
	b, _ = d.f.Next(d.now)
	if b == nil {
		return nil, 0
	}
	seconds = d.fixed
	for _, p := range b.Parts {
		seconds += d.each[p.Item.Lane] * float64(len(p.Windows))
	}
	d.device[b.Lane] += seconds
	d.now = d.now.Add(time.Duration(seconds * 1e9))
	d.f.Done(d.now)
	return b, seconds
}

// by has the next items belong to a caller.
func (d *bench) by(caller string, lane Lane, costMillis int64, windows int, names ...string) {
	for _, name := range names {
		var step []string
		for i := range windows {
			step = append(step, fmt.Sprint(name, ".", i))
		}
		it := &Item[string]{Request: Request[string]{Lane: lane, CostMillis: costMillis, Caller: caller, Work: &script{step}}}
		d.items[name] = it
		d.f.Add(it, d.now)
	}
}

func (d *bench) wantNext(t *testing.T, want ...string) {
	t.Helper()
	for _, w := range want {
		if got := d.next(); got != w {
			t.Fatalf("got %q, want %q", got, w)
		}
	}
}

func TestRule9SharesOfTheDevice(t *testing.T) {
	for _, share := range []float64{0.3, 0.5, 0.8, 0.89} {
		d := newBench(Config{RecordingsShare: share, NoBackfill: true})
		d.fixed, d.each = 0.05, [numLanes]float64{0.1, 0.31} // no batch is a whole number of the other's windows
		clips := 0
		for turn := range 400 {
			for d.f.clips.n < 24 {
				d.clip(5000, fmt.Sprint("c", clips))
				clips++
			}
			for d.f.recordings.n < 4 {
				d.recording(50, fmt.Sprint("r", turn, d.f.recordings.n))
			}
			d.next()
			if turn == 20 { // once it has learned what windows cost
				d.device = [numLanes]float64{}
			}
		}
		got := d.device[Recordings] / (d.device[Clips] + d.device[Recordings])
		if got < share-0.02 || got > share+0.02 {
			t.Errorf("recordings have %.3f of the device, want %.2f", got, share)
		}
	}
}

// TestRule9AtLeastOneWindow: where no clip waits, whoever had the turn before doesn't keep the device idle.
func TestRule9AtLeastOneWindow(t *testing.T) {
	d := newBench(Config{RecordingsShare: 0.1, NoBackfill: true})
	d.fixed, d.each = 0, [numLanes]float64{0.01, 5}
	d.recording(100, "R", "S")
	d.next()
	for turn := 2; turn < 20; turn += 2 {
		d.clip(1, fmt.Sprint(turn))
		d.wantNext(t, fmt.Sprintf("%d: %d", turn, turn), fmt.Sprintf("%d: R", turn+1))
	}
}

// TestRule9SharesBelowAWindow: a share is kept too where one window after each clip turn is more, and a window
// waits no longer than that share implies.
func TestRule9SharesBelowAWindow(t *testing.T) {
	const clipTurn, window = 0.05 + 4*0.1, 0.05 + 1.95
	for _, share := range []float64{MinShare, 0.1, 0.3, 0.5} {
		d := newBench(Config{RecordingsShare: share, NoBackfill: true})
		d.fixed, d.each = 0.05, [numLanes]float64{0.1, 1.95}
		clips, gap, longest := 0, 0.0, 0.0
		for turn := range 20_000 {
			for ; d.f.clips.n < 4; clips++ {
				d.clip(5000, fmt.Sprint("c", clips))
			}
			for d.f.recordings.n < 4 {
				d.recording(50, fmt.Sprint("r", turn, ".", d.f.recordings.n))
			}
			b, seconds := d.run()
			if turn == 40 { // once it has learned what windows cost
				d.device, longest = [numLanes]float64{}, 0
			}
			if b.Lane == Clips {
				gap += seconds
				continue
			}
			longest, gap = max(longest, gap), 0
		}
		if got := d.device[Recordings] / (d.device[Clips] + d.device[Recordings]); got < share-0.01 || got > share+0.01 {
			t.Errorf("recordings have %.3f of the device, want %.2f", got, share)
		}
		if most := 2*window*(1-share)/share + clipTurn; longest > most {
			t.Errorf("share %v: a window waits for %.1f s of clips, want %.1f at most", share, longest, most)
		}
	}
}

func TestRule9BatchesThatCostNothingMoreAreFilled(t *testing.T) {
	d := newBench(Config{NoBackfill: true})
	d.recording(400, "R")
	var sizes []int
	for turn := range 20 {
		d.clip(1, fmt.Sprint("a", turn))
		if turn%2 == 0 {
			d.clip(1, fmt.Sprint("b", turn))
		}
		b, _ := d.f.Next(d.now)
		if b.Lane == Recordings {
			sizes = append(sizes, b.NumWindows)
		}
		d.now = d.now.Add(time.Duration((0.6 + 0.021*float64(b.NumWindows)) * 1e9))
		d.f.Done(d.now)
	}
	if len(sizes) != 10 {
		t.Errorf("recordings have %d turns of 20, want every second one: nothing is gained by saving", len(sizes))
	}
	// A clip turn of three takes 0.663 s, in which three windows fit; but nine more cost no more than 0.19 s.
	for _, n := range sizes[len(sizes)-5:] {
		if n != 12 {
			t.Errorf("batches of %v windows, want 12 in the end", sizes)
			break
		}
	}
}

func TestRule9TheQuantumIsForClipsThatCompete(t *testing.T) {
	d := newBench(Config{NoBackfill: true})
	d.fixed, d.each = 0.05, [numLanes]float64{0.1, 0.3}
	d.recording(50, "R")
	d.clip(1, "a")
	d.wantNext(t, "1: R*12", "2: a", "3: R", "4: R*5", "5: R*5")
}

func TestRule9WithoutClipsBatchesAreNoLargerThanUseful(t *testing.T) {
	for _, tt := range []struct {
		name        string
		fixed, each float64
		want        int
	}{
		{"a GPU, where a batch costs little more than a window", 0.6, 0.021, 12},
		{"a CPU, where windows cost what they cost", 0, 1, 1},
		{"something between", 0.05, 0.3, 5}, // 0.31 s a window instead of 0.304
	} {
		d := newBench(Config{})
		d.fixed, d.each = tt.fixed, [numLanes]float64{tt.each, tt.each}
		d.recording(200, "R")
		d.wantNext(t, "1: R*12", "2: R*6")
		b, _ := d.f.Next(d.now)
		if b.NumWindows != tt.want {
			t.Errorf("%s: a batch of %d windows, want %d", tt.name, b.NumWindows, tt.want)
		}
	}
}

func TestRule9WhatNobodyUsedIsNotSaved(t *testing.T) {
	d := newBench(Config{MaxBatch: 6, NoBackfill: true})
	d.fixed, d.each = 0, [numLanes]float64{0.5, 1}
	d.recording(7, "Q")
	d.wantNext(t, "1: Q*6", "2: Q")
	for i, lone := range []string{"R", "S", "T"} {
		d.clip(1, "a", "b", "c", "d", "e", "f")
		d.recording(1, lone)
		d.wantNext(t, fmt.Sprintf("%d: a b c d e f", 3+2*i), fmt.Sprintf("%d: %s", 4+2*i, lone))
	}
	d.clip(1, "a", "b", "c", "d", "e", "f")
	d.recording(9, "U")
	// Clips took 3 s, and so may this one, whatever those before it left.
	d.wantNext(t, "9: a b c d e f", "10: U*3")
}

// panicWork hands out windows as long as it has any, then breaks.
type panicWork struct{ left int }

func (w *panicWork) Next(max int) []string {
	if w.left == 0 {
		panic(errBroken)
	}
	n := min(max, w.left)
	w.left -= n
	return make([]string, n)
}

func TestARecordingThatBreaksHalfwayEnds(t *testing.T) {
	d := newBench(Config{})
	it := &Item[string]{Request: Request[string]{Lane: Recordings, CostMillis: 1000, Work: &panicWork{fetchWindows}}}
	d.items["R"] = it
	d.f.Add(it, d.now)
	for d.next() != "" {
	}
	if it.Err() == nil || itemsIn(d.f) != 0 {
		t.Errorf("err %v, %d items are left", it.Err(), itemsIn(d.f))
	}
}

func TestRule9ALaneWithoutWorkGivesItsTurnAway(t *testing.T) {
	d := newBench(Config{})
	d.recording(30, "R")
	d.wantNext(t, "1: R*12", "2: R*6", "3: R*12", "")
	d.clip(1, "a")
	d.wantNext(t, "4: a", "")
}

func TestRule10AShortOneNeverWaitsForALongOne(t *testing.T) {
	d := newBench(Config{})
	d.recording(360, "podcast")
	d.recording(2, "note")
	// After 30 windows the note has its go, and the podcast the rest of that batch.
	d.wantNext(t, "1: podcast*12", "2: podcast*6", "3: podcast*12", "4: note*2 podcast*10")
}

func TestRule10AFinishedRecordingMakesRoomForTheNext(t *testing.T) {
	d := newBench(Config{})
	d.recording(5, "R", "S", "T")
	d.wantNext(t, "1: R*5 S*5 T*2", "2: T*3", "")
}

func TestRule10ARecordingGoesOnWhereItsTurnEnded(t *testing.T) {
	d := newBench(Config{NoBackfill: true})
	d.recording(20, "R", "S")
	d.clip(1, "a")
	d.wantNext(t, "1: R*12", "2: a")
	d.clip(1, "b")
	if got := d.next(); got[:8] != "3: R*8 S" {
		t.Errorf("got %q, want the rest of R before S", got)
	}
}

func TestRule11AClipTurnIsOneBatch(t *testing.T) {
	d := newBench(Config{MaxBatch: 2, NoBackfill: true})
	d.clip(5, "a", "b", "c")
	d.recording(1, "R", "S")
	if got := d.next(); got != "1: a b" {
		t.Fatal(got)
	}
	d.clip(1, "late") // binding is late: it's in time for the next clip turn, but what is owed goes first
	d.wantNext(t, "2: R S", "3: c late", "")
}

func TestRule11AChainGoesOnInTheNextClipTurn(t *testing.T) {
	d := newBench(Config{MaxBatch: 2, NoBackfill: true})
	d.add(Clips, 1, "chain", 1, 1, 1)
	d.add(Clips, 2, "three", 3)
	d.recording(8, "R")
	d.clip(3, "c")
	d.wantNext(t, "1: chain") // the two windows that three hands out at once don't fit beside it
	if got := d.next(); got[:4] != "2: R" {
		t.Fatal(got)
	}
	served := map[string]bool{}
	for s := d.next(); s != ""; s = d.next() {
		served[s[3:]] = true
	}
	for _, name := range []string{"chain", "three", "c"} {
		if d.items[name].phase != gone {
			t.Errorf("%s was never served: %v", name, served)
		}
	}
}

func TestRule12PlacesAreFilledFromTheTurnAlone(t *testing.T) {
	d := newBench(Config{MaxBatch: 4, RecordingsShare: 0.8, NoBackfill: true})
	d.clip(1, "a", "b", "c", "d", "e")
	d.recording(40, "R")
	b, _ := d.f.Next(d.now)
	d.f.Finish(b.Parts[0].Item, d.now)
	if parts, _ := d.f.More(1); len(parts) != 0 {
		t.Errorf("a clip of another turn joined: %v", d.show(&Batch[string]{Parts: parts}))
	}
	d.now = d.now.Add(700 * time.Millisecond)
	d.f.Done(d.now)

	// The quantum is four times the clip turn, 2.8 s, and so are the windows that may join.
	b, _ = d.f.Next(d.now)
	planned := d.f.quantum.planned
	if planned == 0 {
		t.Fatal("the quantum has room for one batch only")
	}
	for range b.NumWindows {
		d.f.Finish(d.items["R"], d.now)
	}
	joined := 0
	for {
		parts, _ := d.f.More(4)
		if len(parts) == 0 {
			break
		}
		for _, p := range parts {
			joined += len(p.Windows)
			for range p.Windows {
				d.f.Finish(p.Item, d.now)
			}
		}
	}
	if joined != planned || b.Added != planned {
		t.Errorf("%d windows joined, %d noted, want %d", joined, b.Added, planned)
	}
}

func TestRule12AChainGoesOnInsideItsBatch(t *testing.T) {
	d := newBench(Config{})
	d.add(Clips, 1, "chain", 1, 1)
	d.clip(2, "a")
	if b, _ := d.f.Next(d.now); d.show(b) != "1: chain a" {
		t.Fatal(d.show(b))
	}
	if d.f.Finish(d.items["chain"], d.now) {
		t.Fatal("the chain ended after its first window")
	}
	parts, _ := d.f.More(11)
	if len(parts) != 1 || parts[0].Item != d.items["chain"] {
		t.Fatalf("%d parts joined", len(parts))
	}
	if !d.f.Finish(d.items["chain"], d.now) {
		t.Error("the chain goes on after its last window")
	}
}

func TestRule13BackfillWhereItHasBeenMeasuredToBeCheap(t *testing.T) {
	for _, tt := range []struct {
		name   string
		c      Config
		each   float64 // for a window of a recording
		filled bool
	}{
		{"cheap", Config{}, 0.021, true},
		{"dear", Config{}, 0.2, false},
		{"forbidden", Config{NoBackfill: true}, 0.021, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newBench(tt.c)
			d.recording(2000, "R")
			d.clip(1, "c0")
			d.clip(1, "c00")
			filled := 0
			for turn := range 60 {
				d.clip(1, fmt.Sprint("a", turn), fmt.Sprint("b", turn))
				b, _ := d.f.Next(d.now)
				if b.Lane == Clips && turn > 10 {
					filled += b.Backfilled
				}
				own := 0
				for _, p := range b.Parts {
					if p.Item.Lane == Recordings {
						own += len(p.Windows)
					}
				}
				d.now = d.now.Add(time.Duration((0.6 + tt.each*float64(own) + 0.021*float64(b.NumWindows-own)) * 1e9))
				d.f.Done(d.now)
			}
			if (filled > 0) != tt.filled {
				t.Errorf("%d windows of recordings in clip batches", filled)
			}
		})
	}
}

func TestRule13ABatchWhoseTimeIsAGuessIsNotFilled(t *testing.T) {
	d := newBench(Config{})
	for _, n := range []int{1, 12} {
		d.f.meters[Recordings].observe(n, 0.6+0.1*float64(n))
	}
	d.f.meters[Clips].observe(2, 0.642) // by which ten would take 3.2 s, of which 0.1 s is little
	for i := range 10 {
		d.clip(1, fmt.Sprint("c", i))
	}
	d.recording(30, "R")
	if b, _ := d.f.Next(d.now); b.Lane != Clips || b.Backfilled != 0 {
		t.Errorf("%v, %d windows back-filled", b.Lane, b.Backfilled)
	}
}

func TestRule13BackfillThatProvesDearStops(t *testing.T) {
	var b backfill
	lane := newMeter(12)
	lane.observe(1, 0.621)
	lane.observe(12, 0.852)
	if !b.worth(&lane, 0.7) {
		t.Fatal("a window of 0.021 s is not worth adding to a batch of 0.7 s")
	}
	if b.worth(&lane, 0.4) {
		t.Error("a window of 0.021 s is worth adding to a batch of 0.4 s")
	}
	b.observe(0.3)
	for range retryBackfill {
		if b.worth(&lane, 0.7) {
			t.Fatal("it is tried again at once")
		}
	}
	if !b.worth(&lane, 0.7) {
		t.Error("it is never tried again")
	}
	one := newMeter(12)
	one.observe(3, 0.6)
	if b.worth(&one, 100) {
		t.Error("one size of batch tells what a window costs")
	}
}

func TestRule14CallersTakeTurnsByCost(t *testing.T) {
	d := newBench(Config{MaxBatch: 4, NoBackfill: true})
	d.by("many", Clips, 1000, 1, "m1", "m2", "m3", "m4", "m5", "m6", "m7", "m8")
	d.by("few", Clips, 2000, 1, "f1", "f2")
	d.wantNext(t, "1: f1 m1 m2 f2", "2: m3 m4 m5 m6", "3: m7 m8")
}

func TestRule14OwedIsOwedToCallersInRotation(t *testing.T) {
	d := newBench(Config{MaxBatch: 2, NoBackfill: true})
	for _, caller := range []string{"a", "b", "c"} {
		for i := range 3 {
			d.by(caller, Clips, 1000, 1, fmt.Sprint(caller, i))
		}
	}
	d.wantNext(t, "1: a0 b0", "2: a1 b1", "3: c0 a2", "4: b2 c1", "5: c2")
}

func TestRule14RecordingsOfCallersTakeTurnsToo(t *testing.T) {
	d := newBench(Config{})
	d.by("many", Recordings, 120_000, 4, "m1", "m2", "m3", "m4", "m5", "m6")
	d.by("one", Recordings, 60_000, 2, "o")
	if got := d.next(); got != "1: m1*4 o*2 m2*4 m3*2" {
		t.Error(got)
	}
}

func TestRule14WhoComesBackAtOnceHasNoAdvantage(t *testing.T) {
	d := newBench(Config{MaxBatch: 1})
	served := map[string]int{}
	names := map[string]string{}
	ask := func(caller string, n int) {
		name := fmt.Sprint(caller, n)
		names[name] = caller
		d.by(caller, Recordings, 30_000, 1, name)
	}
	for i, caller := range []string{"a", "b", "c", "d", "e"} {
		ask(caller, i)
	}
	for n := range 100 {
		name := d.next()
		name = name[len(fmt.Sprint(n+1))+2:]
		served[names[name]]++
		ask(names[name], 100+n)
	}
	for caller, n := range served {
		if n != 20 {
			t.Errorf("%s was served %d times of 100, want 20", caller, n)
		}
	}
}

// TestRule14CallersShareByWeight has three callers ask again at once, in either lane: each is served by its weight.
func TestRule14CallersShareByWeight(t *testing.T) {
	for _, lane := range []Lane{Clips, Recordings} {
		d := newBench(Config{})
		weights := map[string]float64{"a": 0, "b": 3, "c": 0.5}
		served := map[string]int{}
		n := 0
		ask := func(caller string) {
			n++
			d.f.Add(&Item[string]{Request: Request[string]{
				Lane: lane, CostMillis: 30_000, Caller: caller, Weight: weights[caller], Work: &script{{fmt.Sprint(caller, n)}},
			}}, d.now)
		}
		for caller := range weights {
			for range 40 { // more than any batch takes
				ask(caller)
			}
		}
		for served["a"]+served["b"]+served["c"] < 900 {
			b, _ := d.f.Next(d.now)
			d.now = d.now.Add(time.Second)
			d.f.Done(d.now)
			for _, p := range b.Parts {
				served[p.Item.Caller]++
				ask(p.Item.Caller)
			}
		}
		for caller, want := range map[string]int{"a": 200, "b": 600, "c": 100} {
			if got := served[caller]; got < want-15 || got > want+15 {
				t.Errorf("%v: %s was served %d times of 900, want about %d", lane, caller, got, want)
			}
		}
	}
}

func TestCallersAreForgotten(t *testing.T) {
	d := newBench(Config{})
	for i := range 20_000 {
		name := fmt.Sprint(i)
		d.by(name, Clips, int64(i%7), 1, name)
		d.by(name, Recordings, 1000, 1, "r"+name)
		d.next()
		delete(d.items, name)
		delete(d.items, "r"+name)
	}
	for d.next() != "" {
	}
	if n := len(d.f.clips.byKey) + len(d.f.recordings.byKey); n > 2100 {
		t.Errorf("%d callers are remembered although nobody waits", n)
	}
}

// TestRecordingsOfACallerStayWithinARound runs recordings that were there together: none gets further ahead of another
// than the stretch it keeps the lane for. (With more places than a stretch has windows it may, inside a batch.)
func TestRecordingsOfACallerStayWithinARound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWatcher(Config{MaxBatch: rapid.SampledFrom([]int{1, 3, 12, 30}).Draw(t, "max batch"), NoAdapt: true})
		w.fixed, w.each = 0.6, 0.021
		for range rapid.IntRange(2, 5).Draw(t, "recordings") {
			w.add(shape{lane: Recordings, cost: 3_000_000, windows: rapid.IntRange(1, 120).Draw(t, "windows")}, "")
		}
		for {
			for range rapid.IntRange(0, 5).Draw(t, "clips") {
				w.add(shape{cost: 1000, windows: 1}, "")
			}
			if !w.next(t) {
				break
			}
			for _, a := range w.all {
				for _, b := range w.all {
					both := a.lane == Recordings && b.lane == Recordings && !a.gone && !b.gone
					if both && a.seen < a.windows && b.seen > a.seen+leaseWindows {
						t.Fatalf("recording %d has run %d windows, recording %d only %d", b.arrival, b.seen, a.arrival, a.seen)
					}
				}
			}
			w.done(t)
			if len(w.all) > 400 {
				break
			}
		}
		w.drain(t)
	})
}

func FuzzWindowed(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) {
		w := newWatcher(drawConfig(t, Windowed))
		w.fixed, w.each = 0.6, rapid.SampledFrom([]float64{0.021, 0.6}).Draw(t, "each")
		w.unbounded = true
		w.repeat(t, func(t *rapid.T) shape { return drawShape(t, 1) })
	}))
}
