package batcher

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// watched is what the rules' property test remembers of a request, without any notion of how the Former works.
type watched struct {
	shape
	item      *Item[int]
	arrival   int
	seen      int // windows that have run
	begunIn   int // turn that served it first; 0 before
	gone      bool
	owedSince int // clip turn that left it behind; 0 for none
	clipTurns int // begun since it arrived
	bound     int // n + 1 of rule 4; 0 until the first of its clip turns has ended
	firstOpen bool
}

// watcher checks every batch against the rules as it comes.
type watcher struct {
	c        Config
	f        *Former[int]
	all      []*watched
	byItem   map[*Item[int]]*watched
	turn     int
	lane     Lane
	members  []*watched // of the turn, in the order in which they began
	spent    int64      // what they cost
	running  []*watched
	lastRec  int // arrival of the recording that had the last recordings' turn
	lateFrom int // arrivals from here on are too late for the turn
}

func (w *watcher) waiting(lane Lane) (out []*watched) {
	for _, r := range w.all {
		if r.lane == lane && r.begunIn == 0 && !r.gone {
			out = append(out, r)
		}
	}
	return out
}

func (w *watcher) add(s shape) {
	r := &watched{shape: s, arrival: len(w.all)}
	r.item = &Item[int]{Request: Request[int]{Lane: s.lane, CostMillis: s.cost, Work: &countedWork{chain: s.chain, left: s.windows}}}
	w.all = append(w.all, r)
	w.byItem[r.item] = r
	w.f.Add(r.item, time.Time{})
}

func (w *watcher) remove(r *watched) {
	r.gone = true
	w.f.Remove(r.item)
	w.noteTurnEnd()
}

func (w *watcher) next(t *rapid.T) bool {
	newTurn := !w.f.InTurn()
	clips, recordings := w.waiting(Clips), w.waiting(Recordings)
	b, ended := w.f.Next()
	if len(ended) > 0 {
		t.Fatalf("%d requests with windows ended in Next", len(ended))
	}
	if b == nil {
		if len(w.running) == 0 && len(clips)+len(recordings) > 0 {
			t.Fatalf("no batch although %d clips and %d recordings wait", len(clips), len(recordings))
		}
		return false
	}
	if len(w.running) > 0 {
		t.Fatal("a batch while another one runs")
	}
	if newTurn != (b.Turn == w.turn+1) {
		t.Fatalf("turn %d after turn %d, new: %v", b.Turn, w.turn, newTurn)
	}
	if newTurn {
		w.beginTurn(t, b, clips, recordings)
	}
	w.checkBatch(t, b)
	return true
}

// beginTurn checks whose turn it is (rule 1).
func (w *watcher) beginTurn(t *rapid.T, b *Batch[int], clips, recordings []*watched) {
	if len(clips) > 0 && len(recordings) > 0 {
		want := 1 - w.lane
		if w.turn == 0 {
			want = Clips
			if recordings[0].arrival < clips[0].arrival {
				want = Recordings
			}
		}
		if b.Lane != want {
			t.Fatalf("turn %d goes to %v, want %v", b.Turn, b.Lane, want)
		}
	}
	w.turn, w.lane = b.Turn, b.Lane
	w.members, w.spent, w.lateFrom = nil, 0, len(w.all)
	if b.Lane == Clips {
		for _, r := range clips {
			r.clipTurns++
			r.firstOpen = r.clipTurns == 1
			if r.bound > 0 && r.clipTurns > r.bound {
				t.Fatalf("clip %d waits in its clip turn %d, bound %d", r.arrival, r.clipTurns, r.bound)
			}
		}
	}
}

// checkBatch checks a batch against rules 2 to 4.
func (w *watcher) checkBatch(t *rapid.T, b *Batch[int]) {
	windows, audio := 0, int64(0)
	for _, p := range b.Parts {
		r := w.byItem[p.Item]
		switch {
		case r.gone:
			t.Fatalf("request %d has left", r.arrival)
		case r.lane != b.Lane || b.Lane != w.lane:
			t.Fatalf("request %d of %v in a batch of %v in a turn of %v", r.arrival, r.lane, b.Lane, w.lane)
		case r.arrival >= w.lateFrom:
			t.Fatalf("request %d came during the turn", r.arrival)
		case r.begunIn != 0 && r.begunIn != b.Turn:
			t.Fatalf("request %d began in turn %d and goes on in %d", r.arrival, r.begunIn, b.Turn)
		case len(p.Windows) == 0 || r.chain && len(p.Windows) > 1:
			t.Fatalf("request %d has %d windows in a batch", r.arrival, len(p.Windows))
		}
		for _, number := range p.Windows {
			if number != r.seen {
				t.Fatalf("request %d runs window %d, want %d", r.arrival, number, r.seen)
			}
			r.seen++
		}
		windows += len(p.Windows)
		audio += r.cost
		if r.begunIn == 0 {
			w.beginRequest(t, r)
		}
		w.running = append(w.running, r)
	}
	if windows > w.c.MaxBatch || windows != b.NumWindows || windows != len(b.Windows()) {
		t.Fatalf("%d windows in a batch, at most %d; it says %d", windows, w.c.MaxBatch, b.NumWindows)
	}
	if b.Lane == Clips && audio > w.c.MaxBatchAudioMillis && len(b.Parts) > 1 {
		t.Fatalf("%d ms of audio in a batch, at most %d", audio, w.c.MaxBatchAudioMillis)
	}
}

// beginRequest checks that it was this request's time, and not another's.
func (w *watcher) beginRequest(t *rapid.T, r *watched) {
	r.begunIn = w.turn
	if r.lane == Recordings {
		if len(w.members) > 0 {
			t.Fatal("two recordings in a turn")
		}
		if r.arrival < w.lastRec {
			t.Fatalf("recording %d after recording %d", r.arrival, w.lastRec)
		}
		w.lastRec = r.arrival
	} else if len(w.members) > 0 {
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
	if len(w.running) == 0 {
		return
	}
	for _, it := range w.f.Done() {
		r := w.byItem[it]
		if r.gone || r.seen != r.windows {
			t.Fatalf("request %d ended after %d of %d windows", r.arrival, r.seen, r.windows)
		}
		r.gone = true
	}
	w.running = nil
	w.noteTurnEnd()
}

// noteTurnEnd marks what a clip turn left behind and fixes the bound of those that saw their first clip turn.
func (w *watcher) noteTurnEnd() {
	if w.f.InTurn() || w.turn == 0 || w.lane != Clips {
		return
	}
	n := 0
	for _, r := range w.waiting(Clips) {
		n++
		if r.arrival >= w.lateFrom {
			continue
		}
		if r.owedSince == 0 {
			r.owedSince = w.turn
		}
		if r.firstOpen {
			r.firstOpen = false
			r.bound = n + 1
		}
	}
}

func TestRulesHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawConfig(t)
		w := &watcher{c: c, f: NewFormer[int](c), byItem: map[*Item[int]]*watched{}}
		t.Repeat(map[string]func(*rapid.T){
			"arrive": func(t *rapid.T) {
				for range rapid.IntRange(1, 20).Draw(t, "n") {
					w.add(drawShape(t, 1))
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
			"run": func(t *rapid.T) {
				for range rapid.IntRange(1, 10).Draw(t, "n") {
					w.next(t)
					w.done(t)
				}
			},
		})
		w.done(t)
		for w.next(t) {
			w.done(t)
		}
		for _, r := range w.all {
			if !r.gone {
				t.Fatalf("request %d was never served", r.arrival)
			}
		}
	})
}
