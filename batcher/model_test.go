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

// The slow model of the policies lanes and cost: one flat list of requests in arrival order, searched and sorted afresh
// at every step, as the rules read.

type modelRequest struct {
	id      int
	lane    Lane
	cost    int64
	arrived time.Time
	chain   bool // hands out one window a call
	left    int  // windows not yet in a batch
	given   int  // windows that have been
	owed    bool
	bound   bool // to a turn
	running bool
}

// chunk is how many windows it hands out next.
func (r *modelRequest) chunk(maxBatch int) int {
	if r.chain {
		return min(r.left, 1)
	}
	return min(r.left, maxBatch)
}

// modelTurn is what waits for its next batch, in order.
type modelTurn struct {
	lane, before Lane
	waiting      []*modelRequest
}

type model struct {
	c       Config // with every field set
	budget  int64
	all     []*modelRequest // everybody who has not ended, by arrival
	turns   int             // begun
	any     bool            // one has been bound
	last    Lane            // of the turn bound last
	laned   bool            // a recording has waited since the last clip turn that kept to rules 3 and 4 was bound
	turn    *modelTurn      // under way, or nil
	ahead   *modelTurn
	aheadAt time.Time
	running []*modelRequest
}

func (m *model) pending(lane Lane) (out []*modelRequest) {
	for _, r := range m.all {
		if !r.bound && (r.lane == lane || m.c.Policy == CostOrder && lane == Clips) && !(m.c.Policy == CostOrder && lane == Recordings) {
			out = append(out, r)
		}
	}
	return out
}

func cost(all []*modelRequest) (sum int64) {
	for _, r := range all {
		sum += r.cost
	}
	return sum
}

func (m *model) arrive(r *modelRequest, now time.Time) {
	if !m.aheadAt.IsZero() && !now.Before(m.aheadAt) {
		m.aheadAt = time.Time{}
		m.ahead = m.bind(now)
	}
	m.all = append(m.all, r)
	m.laned = m.laned || r.lane == Recordings && m.c.Policy == Lanes
	m.lookAhead(now)
}

// lookAhead is rule 8.
func (m *model) lookAhead(now time.Time) {
	clips, recordings := m.pending(Clips), m.pending(Recordings)
	if m.c.Depth < 2 || len(m.running) == 0 || m.ahead != nil || len(m.turn.waiting) > 0 || len(clips)+len(recordings) == 0 {
		return
	}
	full := len(recordings) > 0 || len(clips) >= m.c.MaxBatch || cost(clips) >= m.budget
	if !full && m.aheadAt.IsZero() {
		m.aheadAt = clips[0].arrived.Add(m.c.BatchWait)
		full = !now.Before(m.aheadAt)
	}
	if full {
		m.aheadAt = time.Time{}
		m.ahead = m.bind(now)
	}
}

// bind is rules 1 to 5; nil if nobody waits.
func (m *model) bind(now time.Time) *modelTurn {
	clips, recordings := m.pending(Clips), m.pending(Recordings)
	t := &modelTurn{before: m.last}
	switch {
	case len(clips)+len(recordings) == 0:
		return nil
	case len(clips) == 0:
		t.lane = Recordings
	case len(recordings) == 0:
		t.lane = Clips
	case !m.any:
		if recordings[0].id < clips[0].id {
			t.lane = Recordings
		}
	default:
		t.lane = 1 - m.last
	}
	m.any, m.last = true, t.lane
	if t.lane == Recordings {
		t.waiting = recordings[:1]
	} else {
		laned := m.c.Policy == Lanes && (m.laned || len(recordings) > 0)
		order := slices.Clone(clips)
		oldest := order[0]
		promote := !laned && !m.c.NoAging && now.Sub(oldest.arrived) > m.c.BatchWait
		slices.SortStableFunc(order, func(a, b *modelRequest) int {
			rank := func(r *modelRequest) int64 {
				switch {
				case promote && r == oldest:
					return -2
				case r.owed:
					return -1
				}
				return r.cost
			}
			return cmp.Compare(rank(a), rank(b))
		})
		most := m.c.MaxBatch
		if laned {
			most = len(order)
		}
		n := 0
		for n < len(order) && n < most && (n == 0 || cost(order[:n+1]) <= m.budget) {
			n++
		}
		t.waiting = order[:n]
		if laned {
			for _, r := range order[n:] {
				r.owed = true
			}
			m.laned = len(recordings) > 0
		}
	}
	t.waiting = slices.Clone(t.waiting)
	for _, r := range t.waiting {
		r.bound = true
	}
	return t
}

func (m *model) remove(r *modelRequest) {
	is := func(x *modelRequest) bool { return x == r }
	m.all = slices.DeleteFunc(m.all, is)
	if m.turn != nil {
		m.turn.waiting = slices.DeleteFunc(m.turn.waiting, is)
	}
	if m.ahead != nil {
		m.ahead.waiting = slices.DeleteFunc(m.ahead.waiting, is)
		if len(m.ahead.waiting) == 0 {
			m.last, m.ahead = m.ahead.before, nil
		}
	}
	m.endTurnIfDone()
}

func (m *model) endTurnIfDone() {
	if m.turn != nil && len(m.turn.waiting) == 0 && len(m.running) == 0 {
		m.turn = nil
	}
}

// next returns the next batch as text, "" for none, and who ended.
func (m *model) next(now time.Time) (batch string, ended []int) {
	if len(m.running) > 0 {
		return "", nil
	}
	for {
		if m.turn == nil {
			m.turn, m.ahead, m.aheadAt = m.ahead, nil, time.Time{}
			if m.turn == nil {
				if m.turn = m.bind(now); m.turn == nil {
					return "", ended
				}
			}
			m.turns++
		}
		var parts []string
		places, audio := m.c.MaxBatch, int64(0)
		for len(m.turn.waiting) > 0 {
			r := m.turn.waiting[0]
			n := r.chunk(m.c.MaxBatch)
			if n > places || n > 0 && len(parts) > 0 && audio+r.cost > m.c.MaxBatchAudioMillis {
				break
			}
			m.turn.waiting = m.turn.waiting[1:]
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
			text := fmt.Sprintf("turn %d, %v: %s", m.turns, m.turn.lane, strings.Join(parts, " "))
			m.lookAhead(now)
			return text, ended
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
	if m.turn != nil {
		m.turn.waiting = append(again, m.turn.waiting...)
	}
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
		if r.owed && !r.bound {
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
func drawConfig(t *rapid.T, p Policy) Config {
	return Config{
		Policy:              p,
		MaxBatch:            rapid.SampledFrom([]int{1, 2, 3, 12, 64}).Draw(t, "max batch"),
		CostCapMillis:       rapid.SampledFrom([]int64{4096, 16_384, 65_536, 180_000, 720_000}).Draw(t, "cap"),
		MaxBatchAudioMillis: rapid.SampledFrom([]int64{20_000, 60_000, 720_000}).Draw(t, "batch audio"),
		Depth:               rapid.SampledFrom([]int{1, 2}).Draw(t, "depth"),
		NoAging:             rapid.Bool().Draw(t, "no aging"),
		NoAdapt:             true,
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
	now      time.Time
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
	c = c.withDefaults()
	return &pair{f: NewFormer[int](c), m: &model{c: c, budget: c.CostCapMillis}, now: time.Unix(0, 0), ids: map[*Item[int]]int{}}
}

func (p *pair) idsOf(ended []*Item[int]) (out []int) {
	for _, it := range ended {
		out = append(out, p.ids[it])
	}
	return out
}

func (p *pair) arrive(s shape) {
	r := &modelRequest{id: len(p.items), lane: s.lane, cost: s.cost, chain: s.chain, left: s.windows, arrived: p.now}
	it := &Item[int]{Request: Request[int]{Lane: s.lane, CostMillis: s.cost, Work: &countedWork{chain: s.chain, left: s.windows}}}
	it.Caller = fmt.Sprint(r.id % 3) // which these policies don't look at
	p.ids[it] = r.id
	p.items, p.requests = append(p.items, it), append(p.requests, r)
	p.f.Add(it, p.now)
	p.m.arrive(r, p.now)
}

// remove takes out request id, which may have ended long ago.
func (p *pair) remove(id int) {
	p.f.Remove(p.items[id])
	p.m.remove(p.requests[id])
}

func (p *pair) setBudget(millis int64) {
	p.f.SetBudget(millis)
	p.m.budget = millis
}

func (p *pair) next(t failer) (any bool) {
	t.Helper()
	b, ended := p.f.Next(p.now)
	got := ""
	if b != nil {
		var parts []string
		for _, part := range b.Parts {
			w := part.Windows
			parts = append(parts, fmt.Sprintf("%d[%d:%d]", p.ids[part.Item], w[0], w[len(w)-1]+1))
		}
		got = fmt.Sprintf("turn %d, %v: %s", b.Turn, b.Lane, strings.Join(parts, " "))
	}
	want, wantEnded := p.m.next(p.now)
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
	if got, want := p.idsOf(p.f.Done(p.now)), p.m.done(); !slices.Equal(got, want) {
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
	if p.f.InTurn() != (p.m.turn != nil) {
		t.Fatalf("in turn: %v, want %v", p.f.InTurn(), p.m.turn != nil)
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
	if n := len(p.m.all) + itemsIn(p.f); n != 0 || p.f.InTurn() {
		t.Fatalf("%d requests are left at the end, in turn: %v", n, p.f.InTurn())
	}
}

func TestFormerAgainstModel(t *testing.T) {
	for _, policy := range []Policy{Lanes, CostOrder} {
		t.Run(policy.String(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				p := newPair(drawConfig(t, policy))
				t.Repeat(map[string]func(*rapid.T){
					"arrive": func(t *rapid.T) {
						for range rapid.IntRange(1, 30).Draw(t, "n") {
							p.arrive(drawShape(t, 0))
						}
					},
					"time passes": func(t *rapid.T) {
						p.now = p.now.Add(time.Duration(rapid.IntRange(1, 30).Draw(t, "ms")) * time.Millisecond)
					},
					"hang up": func(t *rapid.T) {
						if len(p.items) == 0 {
							t.Skip("nobody")
						}
						p.remove(rapid.IntRange(0, len(p.items)-1).Draw(t, "who"))
					},
					"budget": func(t *rapid.T) {
						p.setBudget(rapid.SampledFrom([]int64{4096, 30_000, 720_000}).Draw(t, "budget"))
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
		})
	}
}

// FuzzFormer reads a configuration and then events, one or more bytes each.
func FuzzFormer(f *testing.F) {
	f.Add([]byte{2, 1, 0, 0})
	f.Add([]byte("\x03\x02\x01\x03 0A1B2C3D4 \x05\x06\x05\x06\x04\x01\x06"))
	f.Add([]byte{3, 0, 2, 5, 0, 9, 1, 0, 200, 0, 0, 30, 70, 5, 4, 2, 6, 5, 6, 5, 6, 1, 20, 2, 5, 4, 0, 7, 3, 5, 6})
	f.Add([]byte{12, 4, 2, 2, 0, 255, 255, 1, 255, 129, 2, 3, 4, 5, 7, 9, 5, 0, 1, 1, 6, 5, 6, 4, 3, 5, 6, 5, 6, 8, 200, 9, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		pop := func() int {
			if len(data) == 0 {
				return 0
			}
			b := data[0]
			data = data[1:]
			return int(b)
		}
		c := Config{
			MaxBatch:            1 + pop()%16,
			CostCapMillis:       4096 << (pop() % 8),
			MaxBatchAudioMillis: 20_000 << (pop() % 6),
			NoAdapt:             true,
		}
		settings := pop()
		c.Policy = Lanes + Policy(settings&1)
		c.Depth = 1 + settings>>1&1
		c.NoAging = settings>>2&1 == 1
		p := newPair(c)
		for len(data) > 0 {
			switch op := pop() % 10; op {
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
			case 8:
				p.now = p.now.Add(time.Duration(pop()) * time.Millisecond)
			case 9:
				p.setBudget(1024 << (pop() % 10))
			}
			p.check(t)
		}
		p.drain(t)
	})
}
