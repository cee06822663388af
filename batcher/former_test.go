package batcher

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// desk drives a Former by hand: requests have names, batches come back as text.
type desk struct {
	f     *Former[string]
	items map[string]*Item[string]
	now   time.Time
}

// newDesk is for policy lanes without early binding and adaptation; other policies have tests of their own.
func newDesk(c Config) *desk {
	return newDeskFor(lanesOnly(c))
}

func lanesOnly(c Config) Config {
	c.Policy, c.Depth, c.NoAdapt = Lanes, 1, true
	if c.CostCapMillis == 0 {
		c.CostCapMillis = 720_000
	}
	return c
}

func newDeskFor(c Config) *desk {
	return &desk{f: NewFormer[string](c), items: map[string]*Item[string]{}}
}

// add adds a request of as many windows as it has steps, each step a window of its own; a step of 0 stands for none.
func (d *desk) add(lane Lane, costMillis int64, name string, steps ...int) {
	var s script
	for i, n := range steps {
		var step []string
		for j := range n {
			step = append(step, fmt.Sprintf("%s%d.%d", name, i, j))
		}
		if n > 0 {
			s = append(s, step)
		}
	}
	it := &Item[string]{Request: Request[string]{Lane: lane, CostMillis: costMillis, Work: &s}}
	d.items[name] = it
	d.f.Add(it, d.now)
}

func (d *desk) clip(costMillis int64, names ...string) {
	for _, name := range names {
		d.add(Clips, costMillis, name, 1)
	}
}

func (d *desk) recording(windows int, names ...string) {
	for _, name := range names {
		d.add(Recordings, int64(windows)*30_000, name, windows)
	}
}

func (d *desk) hangUp(names ...string) {
	for _, name := range names {
		d.f.Remove(d.items[name])
	}
}

// next forms and finishes a batch and returns it as "turn: names", a name times its windows where these are more than
// one.
func (d *desk) next() string {
	b, _ := d.f.Next(d.now)
	if b == nil {
		return ""
	}
	d.f.Done(d.now)
	return d.show(b)
}

func (d *desk) show(b *Batch[string]) string {
	var parts []string
	for _, p := range b.Parts {
		name := "?"
		for n, it := range d.items {
			if it == p.Item {
				name = n
			}
		}
		if len(p.Windows) > 1 {
			name += fmt.Sprintf("*%d", len(p.Windows))
		}
		parts = append(parts, name)
	}
	return fmt.Sprintf("%d: %s", b.Turn, strings.Join(parts, " "))
}

func (d *desk) drain() []string {
	var all []string
	for s := d.next(); s != ""; s = d.next() {
		all = append(all, s)
	}
	return all
}

func (d *desk) want(t *testing.T, want ...string) {
	t.Helper()
	if got := d.drain(); !slices.Equal(got, want) {
		t.Errorf("batches\n got %q\nwant %q", got, want)
	}
}

func TestRule1LanesAlternate(t *testing.T) {
	d := newDesk(Config{MaxBatch: 2, CostCapMillis: 2})
	d.recording(1, "R", "S", "T")
	d.clip(1, "a", "b", "c", "d", "e", "f")
	d.want(t, "1: R", "2: a b", "3: S", "4: c d", "5: T", "6: e f")
}

func TestRule1OlderHeadGoesFirstOnce(t *testing.T) {
	d := newDesk(Config{})
	d.clip(1, "a")
	d.recording(1, "R")
	d.want(t, "1: a", "2: R")
	// Idle or not, the lane not served last goes next, whoever is older.
	d.recording(1, "S")
	d.clip(1, "b")
	d.want(t, "3: b", "4: S")
}

func TestRule1ALaneAloneGoesOn(t *testing.T) {
	d := newDesk(Config{})
	d.recording(1, "R", "S")
	d.want(t, "1: R", "2: S")
	d.clip(1, "a")
	d.want(t, "3: a")
	d.clip(1, "b")
	d.want(t, "4: b")
}

func TestRule2ARecordingIsAloneInGroups(t *testing.T) {
	d := newDesk(Config{MaxBatchAudioMillis: 1}) // from which recordings are exempt
	d.recording(26, "R")
	d.recording(1, "S")
	d.want(t, "1: R*12", "1: R*12", "1: R*2", "2: S")
}

func TestRule2AChainKeepsItsTurn(t *testing.T) {
	d := newDesk(Config{})
	d.add(Recordings, 90_000, "R", 1, 1, 1)
	d.clip(1, "a")
	d.want(t, "1: R", "1: R", "1: R", "2: a")
}

func TestRule3OrderAndCap(t *testing.T) {
	d := newDesk(Config{CostCapMillis: 10})
	d.clip(5, "five")
	d.clip(3, "three")
	d.clip(2, "two", "deux")
	d.clip(9, "nine")
	// 2 + 2 + 3 fit, then 5 does not: filling stops.
	d.want(t, "1: two deux three", "2: five", "3: nine")
}

func TestRule3FillingStopsAtTheFirstThatDoesNotFit(t *testing.T) {
	d := newDesk(Config{CostCapMillis: 10})
	d.clip(11, "x", "y")
	d.clip(1, "a")
	d.recording(1, "R", "S", "T")
	if got := d.next(); got != "1: a" {
		t.Error(got)
	}
	d.clip(1, "b")
	// x is owed and alone exceeds the cap; y does not fit, and b, though it costs little, comes after y.
	d.want(t, "2: R", "3: x", "4: S", "5: y", "6: T", "7: b")
}

func TestRule3BatchesOfATurn(t *testing.T) {
	d := newDesk(Config{MaxBatch: 3})
	d.clip(1, "a", "b", "c", "d", "e")
	d.recording(1, "R")
	d.want(t, "1: a b c", "1: d e", "2: R")
}

func TestRule3BatchAudioCap(t *testing.T) {
	d := newDesk(Config{MaxBatchAudioMillis: 10})
	d.clip(5, "a", "b", "c")
	d.clip(11, "x", "y")
	d.want(t, "1: a b", "1: c", "1: x", "1: y")
}

func TestRule3LateArrivalsWait(t *testing.T) {
	d := newDesk(Config{MaxBatch: 2})
	d.clip(5, "a", "b", "c")
	d.recording(1, "R")
	if got := d.next(); got != "1: a b" {
		t.Fatal(got)
	}
	d.clip(1, "late")
	d.want(t, "1: c", "2: R", "3: late")
}

func TestRule4OwedFirst(t *testing.T) {
	d := newDesk(Config{CostCapMillis: 10})
	d.clip(8, "eight")
	d.clip(6, "six")
	d.clip(7, "seven")
	d.recording(1, "R", "S")
	if got := d.next(); got != "1: six" {
		t.Fatal(got)
	}
	if got := d.f.Owed(); got != 2 {
		t.Errorf("%d owed, want 2", got)
	}
	d.clip(1, "new", "newer", "newest")
	// eight came before seven; the newer clips fill up what they leave.
	d.want(t, "2: R", "3: eight", "4: S", "5: seven new newer newest")
}

// TestPublishedCase is the case that made owing necessary: 24 clips of 8 s, each asked again as soon as it is served,
// keep one of 30 s from ever being the cheapest. By what it is owed it is served in every second clip turn; a cycle
// is two batches of clips and one recording.
func TestPublishedCase(t *testing.T) {
	d := newDesk(Config{CostCapMillis: 180_000})
	for i := range 24 {
		d.clip(8000, fmt.Sprintf("cheap%d", i))
	}
	d.clip(30_000, "dear")
	d.recording(1, "R")
	served := 0
	for range 300 {
		b, _ := d.f.Next(d.now)
		d.f.Done(d.now)
		for _, p := range b.Parts {
			if p.Item == d.items["dear"] {
				served++
			}
			for name, it := range d.items {
				if it == p.Item {
					d.add(it.Lane, it.CostMillis, name, 1)
				}
			}
		}
	}
	if served != 50 {
		t.Errorf("served %d times in 300 batches, want 50", served)
	}
}

func TestClipsOfSeveralWindows(t *testing.T) {
	d := newDesk(Config{MaxBatch: 4})
	d.add(Clips, 1, "a", 3)
	d.add(Clips, 2, "b", 2)
	d.add(Clips, 3, "c", 1)
	d.add(Clips, 4, "d", 5)
	d.add(Clips, 5, "e", 1, 1) // a chain
	d.add(Clips, 6, "f", 0)
	d.recording(1, "R")
	// Windows of a clip stay together when they fit; what goes on goes first.
	d.want(t, "1: a*3", "1: b*2 c", "1: d*4", "1: d e", "1: e", "2: R")
}

func TestRemove(t *testing.T) {
	d := newDesk(Config{MaxBatch: 2, CostCapMillis: 4})
	d.clip(1, "a", "b", "c", "d", "e", "f", "g")
	d.recording(1, "Q")
	d.hangUp("b")
	if got := d.next(); got != "1: a c" {
		t.Fatal(got)
	}
	d.hangUp("d", "f", "f") // in the turn; owed; twice
	d.clip(1, "h", "i")
	d.hangUp("h", "a") // fresh; already served
	d.want(t, "1: e", "2: Q", "3: g i")

	// The last of a turn's requests to leave ends the turn, during a batch or between two.
	d.recording(3, "R")
	d.add(Recordings, 1, "S", 1, 1)
	if b, _ := d.f.Next(d.now); d.show(b) != "4: R*2" {
		t.Fatal(d.show(b))
	}
	d.hangUp("R")
	if !d.f.InTurn() {
		t.Error("turn ended while its batch runs")
	}
	d.f.Done(d.now)
	if d.f.InTurn() {
		t.Error("turn goes on after its only recording left")
	}
	if got := d.next(); got != "5: S" {
		t.Fatal(got)
	}
	d.hangUp("S")
	if d.f.InTurn() || d.next() != "" {
		t.Error("turn goes on after its only recording left")
	}
}

func TestNothingRunsTwiceAtATime(t *testing.T) {
	d := newDesk(Config{})
	d.clip(1, "a")
	if d.f.Done(d.now) != nil {
		t.Error("Done without a batch ended something")
	}
	if b, _ := d.f.Next(d.now); b == nil {
		t.Fatal("no batch")
	}
	d.clip(1, "b")
	if b, _ := d.f.Next(d.now); b != nil {
		t.Error("two batches at a time")
	}
	d.f.Done(d.now)
	d.want(t, "2: b")
}

func TestTurnsWaited(t *testing.T) {
	d := newDesk(Config{MaxBatch: 1})
	d.recording(2, "R", "S")
	d.next()
	d.clip(1, "during")
	d.next()
	d.recording(1, "T")
	d.drain()
	for name, want := range map[string]int{"R": 0, "during": 1, "S": 2, "T": 2} {
		if got := d.items[name].TurnsWaited(); got != want {
			t.Errorf("%s waited %d turns, want %d", name, got, want)
		}
	}
}
