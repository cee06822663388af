package batcher

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// watched is what the rules' property tests remember of a request, without any notion of how the Former works.
type watched struct {
	shape
	item      *Item[int]
	caller    string
	arrival   int
	seen      int // windows that have been in a batch
	flying    int // windows of these that have not ended
	begunIn   int // turn that served it first; 0 before
	gone      bool
	owedSince int // clip turn that left it behind; 0 for none
	clipTurns int // begun since it arrived
	bound     int // n + 1; 0 until the first of its clip turns has ended
	callers   int // most callers that had clips waiting in one of its clip turns
	firstOpen bool
}

// watcher checks every batch against the rules as it comes. It knows two policies, lanes (with a recording always
// waiting, so that the rules for lanes hold throughout) and windowed.
type watcher struct {
	c        Config
	f        *Former[int]
	now      time.Time
	fixed    float64 // what its device takes, in seconds
	each     float64
	all      []*watched
	byItem   map[*Item[int]]*watched
	turn     int
	lane     Lane
	members  []*watched // of the turn, in the order in which they began
	spent    int64      // what they cost
	batches  int        // of the turn
	running  []*watched // one for each window that runs
	lastRec  int        // arrival of the recording that had the last recordings' turn
	lateFrom int        // arrivals from here on are too late for the turn
	size     int        // windows of the batch so far
	passed   int        // turns in a row that recordings have left to clips

	unbounded bool // a clip may have more windows than a turn has places, so that no bound holds
}

func newWatcher(c Config) *watcher {
	return &watcher{c: c.withDefaults(), f: NewFormer[int](c), byItem: map[*Item[int]]*watched{}, now: time.Unix(0, 0)}
}

func (w *watcher) waiting(lane Lane) (out []*watched) {
	for _, r := range w.all {
		if r.lane == lane && r.begunIn == 0 && !r.gone {
			out = append(out, r)
		}
	}
	return out
}

func (w *watcher) add(s shape, caller string) {
	r := &watched{shape: s, caller: caller, arrival: len(w.all)}
	r.item = &Item[int]{Request: Request[int]{Lane: s.lane, CostMillis: s.cost, Caller: caller, Work: &countedWork{chain: s.chain, left: s.windows}}}
	w.all = append(w.all, r)
	w.byItem[r.item] = r
	w.f.Add(r.item, w.now)
}

func (w *watcher) remove(r *watched) {
	r.gone = true
	w.f.Remove(r.item)
	w.noteTurnEnd()
}

// pending reports whether a lane has work for a new turn.
func (w *watcher) pending(lane Lane) bool {
	for _, r := range w.all {
		if r.lane == lane && !r.gone {
			return true
		}
	}
	return false
}

func (w *watcher) next(t *rapid.T) bool {
	newTurn := !w.f.InTurn()
	if w.c.Policy == Lanes && newTurn && len(w.waiting(Recordings)) == 0 && len(w.all) > 0 && len(w.waiting(Clips)) > 0 {
		w.add(shape{lane: Recordings, cost: 40_000, windows: 2}, "")
	}
	clips, recordings := w.pending(Clips), w.pending(Recordings)
	waitingClips := w.waiting(Clips)
	busy := w.f.running != nil
	b, ended := w.f.Next(w.now)
	if len(ended) > 0 {
		t.Fatalf("%d requests with windows ended in Next", len(ended))
	}
	if b == nil {
		if w.f.running == nil && (clips || recordings) {
			t.Fatalf("no batch although there are clips: %v, recordings: %v", clips, recordings)
		}
		return false
	}
	if busy {
		t.Fatal("a batch while another one runs")
	}
	if newTurn != (b.Turn == w.turn+1) {
		t.Fatalf("turn %d after turn %d, new: %v", b.Turn, w.turn, newTurn)
	}
	if newTurn {
		w.beginTurn(t, b, clips, recordings, waitingClips)
	}
	w.batches++
	if w.c.Policy == Windowed && b.Lane == Clips && w.batches > 1 {
		t.Fatal("two batches in a clip turn")
	}
	w.size = 0
	w.checkParts(t, b, b.Parts)
	if w.size != b.NumWindows || w.size != len(b.Windows()) {
		t.Fatalf("%d windows in a batch, it says %d", w.size, b.NumWindows)
	}
	return true
}

// beginTurn checks whose turn it is (rules 1 and 9).
func (w *watcher) beginTurn(t *rapid.T, b *Batch[int], clips, recordings bool, waiting []*watched) {
	again := clips && recordings && w.turn > 0 && b.Lane == w.lane
	if again && (w.c.Policy == Lanes || b.Lane == Recordings) {
		t.Fatalf("turn %d goes to %v again", b.Turn, b.Lane)
	}
	if w.passed++; !again {
		w.passed = 0
	}
	if w.passed > savedTurns {
		t.Fatalf("turn %d is the %d. that recordings pass", b.Turn, w.passed)
	}
	w.turn, w.lane = b.Turn, b.Lane
	w.members, w.spent, w.batches, w.lateFrom = nil, 0, 0, len(w.all)
	if b.Lane != Clips {
		return
	}
	callers := map[string]bool{}
	for _, r := range waiting {
		callers[r.caller] = true
	}
	if w.c.Policy == Lanes {
		callers = map[string]bool{"": true}
	}
	for _, r := range waiting {
		r.clipTurns++
		r.firstOpen = r.clipTurns == 1
		r.callers = max(r.callers, len(callers))
		if !w.unbounded && r.bound > 0 && r.clipTurns > r.bound*r.callers {
			t.Fatalf("clip %d waits in its clip turn %d, bound %d for each of %d callers", r.arrival, r.clipTurns, r.bound, r.callers)
		}
	}
}

// checkParts checks what joins a batch against the rules.
func (w *watcher) checkParts(t *rapid.T, b *Batch[int], parts []Part[int]) {
	audio, before := int64(0), w.size
	for _, p := range parts {
		r := w.byItem[p.Item]
		switch {
		case r.gone:
			t.Fatalf("request %d has left", r.arrival)
		case r.lane != b.Lane && (w.c.Policy == Lanes || w.c.NoBackfill):
			t.Fatalf("request %d of %v in a batch of %v", r.arrival, r.lane, b.Lane)
		case b.Lane != w.lane:
			t.Fatalf("a batch of %v in a turn of %v", b.Lane, w.lane)
		case w.c.Policy == Lanes && r.arrival >= w.lateFrom:
			t.Fatalf("request %d came during the turn", r.arrival)
		case w.c.Policy == Windowed && r.lane == Clips && before > 0 && r.arrival >= w.lateFrom:
			t.Fatalf("clip %d came during the turn and joined its batch", r.arrival)
		case w.c.Policy == Lanes && r.begunIn != 0 && r.begunIn != b.Turn:
			t.Fatalf("request %d began in turn %d and goes on in %d", r.arrival, r.begunIn, b.Turn)
		case len(p.Windows) == 0 || r.chain && len(p.Windows) > 1 || r.chain && r.flying > 0:
			t.Fatalf("request %d has %d windows in a batch", r.arrival, len(p.Windows))
		}
		for _, number := range p.Windows {
			if number != r.seen {
				t.Fatalf("request %d runs window %d, want %d", r.arrival, number, r.seen)
			}
			r.seen++
			r.flying++
			w.running = append(w.running, r)
		}
		w.size += len(p.Windows)
		audio += r.cost
		if r.begunIn == 0 {
			w.beginRequest(t, r, b)
		}
	}
	if len(w.running) > w.c.MaxBatch {
		t.Fatalf("%d windows run at once, at most %d", len(w.running), w.c.MaxBatch)
	}
	if w.c.Policy == Lanes && b.Lane == Clips && audio > w.c.MaxBatchAudioMillis && len(parts) > 1 {
		t.Fatalf("%d ms of audio in a batch, at most %d", audio, w.c.MaxBatchAudioMillis)
	}
}

// beginRequest checks that it was this request's time, and not another's.
func (w *watcher) beginRequest(t *rapid.T, r *watched, b *Batch[int]) {
	r.begunIn = w.turn
	if r.lane != b.Lane { // back-filled
		return
	}
	if w.c.Policy == Lanes && r.lane == Recordings {
		if len(w.members) > 0 {
			t.Fatal("two recordings in a turn")
		}
		if r.arrival < w.lastRec {
			t.Fatalf("recording %d after recording %d", r.arrival, w.lastRec)
		}
		w.lastRec = r.arrival
	} else if w.c.Policy == Lanes && len(w.members) > 0 {
		before := w.members[len(w.members)-1]
		switch {
		case before.owedSince == 0 && r.owedSince > 0:
			t.Fatalf("clip %d is owed, and comes after %d, which isn't", r.arrival, before.arrival)
		case r.owedSince > 0 || before.owedSince == 0 && before.cost == r.cost:
			if before.arrival > r.arrival {
				t.Fatalf("clip %d comes after clip %d", r.arrival, before.arrival)
			}
		case before.owedSince == 0 && before.cost > r.cost:
			t.Fatalf("a clip of %d ms comes after one of %d ms", r.cost, before.cost)
		}
	}
	w.members = append(w.members, r)
	w.spent += r.cost
	if r.lane == Clips && len(w.members) > 1 && w.spent > w.c.CostCapMillis {
		t.Fatalf("clips of a turn cost %d ms, at most %d", w.spent, w.c.CostCapMillis)
	}
}

func (w *watcher) done(t *rapid.T) {
	if w.f.running == nil {
		return
	}
	w.now = w.now.Add(time.Duration((w.fixed + w.each*float64(w.size)) * float64(time.Second)))
	for _, r := range w.running {
		r.flying = 0
	}
	for _, it := range w.f.Done(w.now) {
		w.ended(t, w.byItem[it])
	}
	w.running = nil
	w.noteTurnEnd()
}

func (w *watcher) ended(t *rapid.T, r *watched) {
	if r.gone || r.seen != r.windows {
		t.Fatalf("request %d ended after %d of %d windows", r.arrival, r.seen, r.windows)
	}
	r.gone = true
}

// finishSome ends some of the windows that run and fills their places.
func (w *watcher) finishSome(t *rapid.T, n int) {
	for range min(n, len(w.running)) {
		r := w.running[0]
		w.running = w.running[1:]
		r.flying--
		if w.f.Finish(r.item, w.now) {
			w.ended(t, r)
		}
	}
	b := w.f.running
	if b == nil {
		return
	}
	parts, ended := w.f.More(w.c.MaxBatch - len(w.running))
	if len(ended) > 0 {
		t.Fatalf("%d requests with windows ended in More", len(ended))
	}
	if len(parts) > 0 && w.c.Policy != Windowed {
		t.Fatal("a place was filled while the batch runs")
	}
	w.checkParts(t, b, parts)
}

// noteTurnEnd marks what a clip turn left behind and fixes the bound of those that saw their first clip turn.
func (w *watcher) noteTurnEnd() {
	if w.f.InTurn() || w.turn == 0 || w.lane != Clips {
		return
	}
	older := map[string]int{}
	for _, r := range w.waiting(Clips) {
		caller := r.caller
		if w.c.Policy == Lanes {
			caller = ""
		}
		older[caller]++
		if r.arrival >= w.lateFrom {
			continue
		}
		if r.owedSince == 0 {
			r.owedSince = w.turn
		}
		if r.firstOpen {
			r.firstOpen = false
			r.bound = older[caller] + 1
		}
	}
}

func (w *watcher) drain(t *rapid.T) {
	w.done(t)
	for w.next(t) {
		w.done(t)
	}
	for _, r := range w.all {
		if !r.gone {
			t.Fatalf("request %d was never served", r.arrival)
		}
	}
	if n := itemsIn(w.f); n != 0 {
		t.Fatalf("%d items are left", n)
	}
}

// repeat puts the watcher's former through random events.
func (w *watcher) repeat(t *rapid.T, draw func(t *rapid.T) shape) {
	caller := func(t *rapid.T) string { return fmt.Sprint("caller ", rapid.IntRange(0, 3).Draw(t, "caller")) }
	t.Repeat(map[string]func(*rapid.T){
		"arrive": func(t *rapid.T) {
			for range rapid.IntRange(1, 20).Draw(t, "n") {
				w.add(draw(t), caller(t))
			}
		},
		"hang up": func(t *rapid.T) {
			if len(w.all) == 0 {
				t.Skip("nobody")
			}
			w.remove(rapid.SampledFrom(w.all).Draw(t, "who"))
		},
		"next": func(t *rapid.T) { w.next(t) },
		"done": w.done,
		"finish some": func(t *rapid.T) {
			w.finishSome(t, rapid.IntRange(1, 20).Draw(t, "n"))
		},
		"run": func(t *rapid.T) {
			for range rapid.IntRange(1, 10).Draw(t, "n") {
				w.next(t)
				w.done(t)
			}
		},
	})
	w.drain(t)
}

func TestLanesKeepTheRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawConfig(t, Lanes)
		c.Depth = 1
		w := newWatcher(c)
		w.repeat(t, func(t *rapid.T) shape { return drawShape(t, 1) })
	})
}

func TestWindowedKeepsTheRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawConfig(t, Windowed)
		c.NoBackfill = rapid.Bool().Draw(t, "no back-fill")
		w := newWatcher(c)
		w.fixed = rapid.SampledFrom([]float64{0, 0.1, 0.6}).Draw(t, "fixed")
		w.each = rapid.SampledFrom([]float64{0, 0.021, 0.6}).Draw(t, "each")
		w.repeat(t, func(t *rapid.T) shape {
			s := drawShape(t, 1)
			if s.lane == Clips {
				s.windows, s.chain = 1, false
			}
			return s
		})
	})
}

// TestWindowedLosesNothing is for clips of many windows too, of which a turn serves what fits.
func TestWindowedLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWatcher(drawConfig(t, Windowed))
		w.fixed, w.each = 0.6, 0.021
		w.unbounded = true
		w.repeat(t, func(t *rapid.T) shape { return drawShape(t, 1) })
	})
}
