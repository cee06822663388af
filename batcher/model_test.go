package batcher

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// The slow model: one flat list of requests in arrival order, searched and sorted afresh at every step, as the rules
// read.

type modelRequest struct {
	id      int
	lane    Lane
	cost    int64
	chain   bool // hands out one window a call
	left    int  // windows not yet in a batch
	given   int  // windows that have been
	owed    bool
	inTurn  bool
	running bool
}

// chunk is how many windows it hands out next.
func (r *modelRequest) chunk(maxBatch int) int {
	if r.chain {
		return min(r.left, 1)
	}
	return min(r.left, maxBatch)
}

type model struct {
	c       Config
	all     []*modelRequest // everybody who has not ended, by arrival
	turn    []*modelRequest // who takes part in the turn and waits for its next batch, in order
	turns   int
	last    Lane
	inTurn  bool
	running []*modelRequest
}

func (m *model) waitingFor(lane Lane) []*modelRequest {
	var out []*modelRequest
	for _, r := range m.all {
		if r.lane == lane && !r.inTurn {
			out = append(out, r)
		}
	}
	return out
}

func (m *model) remove(r *modelRequest) {
	is := func(x *modelRequest) bool { return x == r }
	m.all = slices.DeleteFunc(m.all, is)
	m.turn = slices.DeleteFunc(m.turn, is)
	m.endTurnIfDone()
}

func (m *model) endTurnIfDone() {
	if len(m.turn) == 0 && len(m.running) == 0 {
		m.inTurn = false
	}
}

func (m *model) begin() bool {
	clips, recordings := m.waitingFor(Clips), m.waitingFor(Recordings)
	switch {
	case len(clips)+len(recordings) == 0:
		return false
	case len(clips) == 0:
		m.last = Recordings
	case len(recordings) == 0:
		m.last = Clips
	case m.turns == 0:
		m.last = Clips
		if slices.Index(m.all, recordings[0]) < slices.Index(m.all, clips[0]) {
			m.last = Recordings
		}
	default:
		m.last = 1 - m.last
	}
	m.turns++
	m.inTurn = true
	if m.last == Recordings {
		m.turn = recordings[:1]
	} else {
		order := slices.Clone(clips)
		slices.SortStableFunc(order, func(a, b *modelRequest) int {
			switch {
			case a.owed && b.owed:
				return 0
			case a.owed:
				return -1
			case b.owed:
				return 1
			}
			return cmp.Compare(a.cost, b.cost)
		})
		var sum int64
		n := 0
		for n < len(order) && (n == 0 || sum+order[n].cost <= m.c.CostCapMillis) {
			sum += order[n].cost
			n++
		}
		m.turn = order[:n]
		for _, r := range order[n:] {
			r.owed = true
		}
	}
	m.turn = slices.Clone(m.turn)
	for _, r := range m.turn {
		r.inTurn = true
	}
	return true
}

// next returns the next batch as text, "" for none, and who ended.
func (m *model) next() (batch string, ended []int) {
	if len(m.running) > 0 {
		return "", nil
	}
	for {
		if !m.inTurn && !m.begin() {
			return "", ended
		}
		var parts []string
		places, audio := m.c.MaxBatch, int64(0)
		for len(m.turn) > 0 {
			r := m.turn[0]
			n := r.chunk(m.c.MaxBatch)
			if n > places || n > 0 && len(parts) > 0 && r.lane == Clips && audio+r.cost > m.c.MaxBatchAudioMillis {
				break
			}
			m.turn = m.turn[1:]
			if n == 0 {
				m.all = slices.DeleteFunc(m.all, func(x *modelRequest) bool { return x == r })
				ended = append(ended, r.id)
				continue
			}
			parts = append(parts, fmt.Sprintf("%d[%d:%d]", r.id, r.given, r.given+n))
			r.given += n
			r.left -= n
			r.running = true
			m.running = append(m.running, r)
			places -= n
			audio += r.cost
		}
		if len(parts) > 0 {
			return fmt.Sprintf("turn %d, %v: %s", m.turns, m.last, strings.Join(parts, " ")), ended
		}
		m.endTurnIfDone()
	}
}

func (m *model) done() (ended []int) {
	var again []*modelRequest
	for _, r := range m.running {
		r.running = false
		switch {
		case !slices.Contains(m.all, r):
		case r.left == 0:
			ended = append(ended, r.id)
			m.all = slices.DeleteFunc(m.all, func(x *modelRequest) bool { return x == r })
		default:
			again = append(again, r)
		}
	}
	m.running = nil
	m.turn = append(again, m.turn...)
	m.endTurnIfDone()
	return ended
}

func (m *model) waiting(lane Lane) (n int) {
	for _, r := range m.all {
		if r.lane == lane && r.given == 0 {
			n++
		}
	}
	return n
}

func (m *model) owed() (n int) {
	for _, r := range m.all {
		if r.owed && !r.inTurn {
			n++
		}
	}
	return n
}

// countedWork hands out the numbers of its windows.
type countedWork struct {
	chain       bool
	given, left int
}

func (w *countedWork) Next(max int) []int {
	n := min(w.left, max)
	if w.chain {
		n = min(w.left, 1)
	}
	var out []int
	for range n {
		out = append(out, w.given)
		w.given++
		w.left--
	}
	return out
}

// drawConfig draws limits from one that always binds to one that never does.
func drawConfig(t *rapid.T) Config {
	return Config{
		MaxBatch:            rapid.SampledFrom([]int{1, 2, 3, 12, 64}).Draw(t, "max batch"),
		CostCapMillis:       rapid.SampledFrom([]int64{4096, 16_384, 65_536, 180_000, 720_000}).Draw(t, "cap"),
		MaxBatchAudioMillis: rapid.SampledFrom([]int64{20_000, 60_000, 720_000}).Draw(t, "batch audio"),
	}
}

type shape struct {
	lane    Lane
	cost    int64
	windows int
	chain   bool
}

func drawShape(t *rapid.T, minWindows int) shape {
	s := shape{chain: rapid.Bool().Draw(t, "chain")}
	if rapid.IntRange(0, 3).Draw(t, "lane") == 0 {
		s.lane = Recordings
		s.cost = rapid.Int64Range(0, 600_000).Draw(t, "cost")
		s.windows = rapid.IntRange(minWindows, 30).Draw(t, "windows")
	} else {
		s.cost = rapid.SampledFrom([]int64{0, 500, 2000, 2000, 8000, 15_000, 30_000}).Draw(t, "cost")
		s.windows = max(minWindows, rapid.SampledFrom([]int{0, 1, 1, 1, 1, 1, 2, 5, 14}).Draw(t, "windows"))
	}
	return s
}

// pair is the Former and the model, driven through the same events; the same must come of both.
type pair struct {
	f        *Former[int]
	m        *model
	items    []*Item[int]
	requests []*modelRequest
	ids      map[*Item[int]]int
}

// failer is what a test, a fuzz target and a rapid property have in common.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

func newPair(c Config) *pair {
	return &pair{f: NewFormer[int](c), m: &model{c: c}, ids: map[*Item[int]]int{}}
}

func (p *pair) idsOf(ended []*Item[int]) (out []int) {
	for _, it := range ended {
		out = append(out, p.ids[it])
	}
	return out
}

func (p *pair) arrive(s shape) {
	r := &modelRequest{id: len(p.items), lane: s.lane, cost: s.cost, chain: s.chain, left: s.windows}
	it := &Item[int]{Request: Request[int]{Lane: s.lane, CostMillis: s.cost, Work: &countedWork{chain: s.chain, left: s.windows}}}
	p.ids[it] = r.id
	p.items, p.requests = append(p.items, it), append(p.requests, r)
	p.f.Add(it, time.Time{})
	p.m.all = append(p.m.all, r)
}

// remove takes out request id, which may have ended long ago.
func (p *pair) remove(id int) {
	p.f.Remove(p.items[id])
	p.m.remove(p.requests[id])
}

func (p *pair) next(t failer) (any bool) {
	t.Helper()
	b, ended := p.f.Next()
	got := ""
	if b != nil {
		var parts []string
		for _, part := range b.Parts {
			w := part.Windows
			parts = append(parts, fmt.Sprintf("%d[%d:%d]", p.ids[part.Item], w[0], w[len(w)-1]+1))
		}
		got = fmt.Sprintf("turn %d, %v: %s", b.Turn, b.Lane, strings.Join(parts, " "))
	}
	want, wantEnded := p.m.next()
	if got != want {
		t.Fatalf("batch\n got %s\nwant %s", got, want)
	}
	if got := p.idsOf(ended); !slices.Equal(got, wantEnded) {
		t.Fatalf("ended in next: got %v, want %v", got, wantEnded)
	}
	return b != nil
}

func (p *pair) done(t failer) {
	t.Helper()
	if got, want := p.idsOf(p.f.Done()), p.m.done(); !slices.Equal(got, want) {
		t.Fatalf("ended in done: got %v, want %v", got, want)
	}
}

func (p *pair) check(t failer) {
	t.Helper()
	for lane := range numLanes {
		if got, want := p.f.Waiting(lane), p.m.waiting(lane); got != want {
			t.Fatalf("%d %v wait, want %d", got, lane, want)
		}
	}
	if got, want := p.f.Owed(), p.m.owed(); got != want {
		t.Fatalf("%d owed, want %d", got, want)
	}
	if p.f.InTurn() != p.m.inTurn {
		t.Fatalf("in turn: %v, want %v", p.f.InTurn(), p.m.inTurn)
	}
}

// drain runs what is left and checks that nothing remains.
func (p *pair) drain(t failer) {
	t.Helper()
	p.done(t)
	for p.next(t) {
		p.done(t)
	}
	p.check(t)
	f := p.f
	if n := len(p.m.all) + f.clips.len() + len(f.clips.cheap) + f.recordings.n + f.turn.n; n != 0 || f.InTurn() {
		t.Fatalf("%d requests are left at the end, in turn: %v", n, f.InTurn())
	}
}

func TestFormerAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPair(drawConfig(t))
		t.Repeat(map[string]func(*rapid.T){
			"arrive": func(t *rapid.T) {
				for range rapid.IntRange(1, 30).Draw(t, "n") {
					p.arrive(drawShape(t, 0))
				}
			},
			"hang up": func(t *rapid.T) {
				if len(p.items) == 0 {
					t.Skip("nobody")
				}
				p.remove(rapid.IntRange(0, len(p.items)-1).Draw(t, "who"))
			},
			"next": func(t *rapid.T) { p.next(t) },
			"done": func(t *rapid.T) { p.done(t) },
			"fail": func(t *rapid.T) {
				for _, r := range p.m.running {
					if rapid.Bool().Draw(t, "fails") {
						p.remove(r.id)
					}
				}
				p.done(t)
			},
			"run": func(t *rapid.T) {
				for range rapid.IntRange(1, 10).Draw(t, "n") {
					p.next(t)
					p.done(t)
				}
			},
			"": func(t *rapid.T) { p.check(t) },
		})
		p.drain(t)
	})
}

// FuzzFormer reads a configuration and then events, one or more bytes each.
func FuzzFormer(f *testing.F) {
	f.Add([]byte{2, 1, 0})
	f.Add([]byte("\x03\x02\x01 0A1B2C3D4 \x05\x06\x05\x06\x04\x01\x06"))
	f.Add([]byte{3, 0, 2, 0, 9, 1, 0, 200, 0, 0, 30, 70, 5, 4, 2, 6, 5, 6, 5, 6, 1, 20, 2, 5, 4, 0, 7, 3, 5, 6})
	f.Add([]byte{12, 4, 2, 0, 255, 255, 1, 255, 129, 2, 3, 4, 5, 7, 9, 5, 0, 1, 1, 6, 5, 6, 4, 3, 5, 6, 5, 6})
	f.Fuzz(func(t *testing.T, data []byte) {
		pop := func() int {
			if len(data) == 0 {
				return 0
			}
			b := data[0]
			data = data[1:]
			return int(b)
		}
		p := newPair(Config{
			MaxBatch:            1 + pop()%16,
			CostCapMillis:       4096 << (pop() % 8),
			MaxBatchAudioMillis: 20_000 << (pop() % 6),
		})
		for len(data) > 0 {
			switch op := pop() % 8; op {
			case 0, 1, 2, 3:
				cost, windows := pop(), pop()
				s := shape{cost: int64(cost) * 120, windows: 1 + windows%2*(windows>>3%4), chain: windows >= 128}
				if op == 0 {
					s = shape{lane: Recordings, cost: int64(cost) * 4000, windows: windows % 32, chain: windows >= 128}
				}
				if op == 3 {
					s.windows = windows % 20
				}
				p.arrive(s)
			case 4:
				if n := len(p.items); n > 0 {
					p.remove(n - 1 - pop()%n)
				}
			case 5:
				p.next(t)
			case 6:
				p.done(t)
			case 7: // some of the batch fail
				which := pop()
				for i, r := range slices.Clone(p.m.running) {
					if which>>(i%8)&1 == 1 {
						p.remove(r.id)
					}
				}
				p.done(t)
			}
			p.check(t)
		}
		p.drain(t)
	})
}
