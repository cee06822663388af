package parakeet

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"hark/engine"
)

// scored is a greedy search that adds up its log-probability, blanks and durations included.
type scored struct {
	*greedy
	sum float64
}

func (s *scored) take(answers []answer) {
	s.sum += float64(answers[0].piece.LogProb) + float64(answers[0].duration.LogProb)
	s.greedy.take(answers)
}

// listen encodes a recording and returns its frames and how many there are.
func listen(t testing.TB, m *Model, samples []float32) (engine.Tensor, int) {
	t.Helper()
	x := m.sound(&window{samples: samples})
	n := m.enc.frames(x.frames)
	frames := alloc(t, m.dev, max(1, n), m.config.JointWidth).Slice(0, n)
	if err := m.enc.encode(frames, []sound{x}); err != nil {
		t.Fatal(err)
	}
	return frames, n
}

// follow runs a search over frames to its end.
func follow(t testing.TB, m *Model, frames engine.Tensor, s search, width int) {
	t.Helper()
	for !s.ended() {
		if steps := s.predictions(nil); len(steps) > 0 {
			m.dec.predict(steps)
		}
		looks := s.looks(nil)
		beams := len(looks)
		if width == 1 {
			beams = 0
		}
		answers, err := m.dec.ask(frames, looks, beams, candidates(width))
		if err != nil {
			t.Fatal(err)
		}
		s.take(answers)
	}
}

// slotsOf are all slots of a place, its first one holding the state that texts start from.
func slotsOf(m *Model) []int32 {
	slots := make([]int32, m.placeSlots)
	for i := range slots {
		slots[i] = int32(i)
	}
	m.dec.begin(0)
	return slots
}

// TestBeamIsAtLeastAsLikely: no beam ends with a text that is less likely than the
// greedy one; and it gives all its states back.
func TestBeamIsAtLeastAsLikely(t *testing.T) {
	for _, c := range []struct {
		name string
		load func() *Model
	}{
		{"tiny", func() *Model { return loadTiny(t).unpadded() }},
		{"shape", func() *Model { return loadShape(t, newFormula(t, 2)) }},
	} {
		m := c.load()
		for _, u := range utterances(t, c.name) {
			t.Run(c.name+"/"+u.Name, func(t *testing.T) {
				frames, n := listen(t, m, recordingSamples(t, u.Name))
				g := &scored{greedy: &greedy{steps: &m.dec.steps, slot: slotsOf(m)[0], frames: n}}
				follow(t, m, frames, g, 1)
				checkTokens(t, g.tokens(), &u)
				for _, width := range []int{2, 4, maxBeam} {
					b := newBeam(&m.dec.steps, width, n, nil, slotsOf(m))
					follow(t, m, frames, b, width)
					r := b.result()
					if r.sum < g.sum-1e-3 {
						t.Errorf("width %d: log-probability %.4f, greedy has %.4f", width, r.sum, g.sum)
					}
					if r.best > r.sum+1e-9 {
						t.Errorf("width %d: one way is likelier than all, %.6f than %.6f", width, r.best, r.sum)
					}
					checkSlots(t, b)
				}
			})
		}
	}
}

// checkSlots holds a beam's free slots to what its hypotheses don't use.
func checkSlots(t *testing.T, b *beam) {
	t.Helper()
	used := map[int32]bool{}
	for _, h := range b.finished {
		for x := h.text; x != nil; x = x.before {
			if x.slot >= 0 {
				used[x.slot] = true
			}
		}
	}
	free := slices.Clone(b.free)
	slices.Sort(free)
	if n := len(slices.Compact(free)); n != len(b.free) {
		t.Errorf("%d of %d free slots are free twice", len(b.free)-n, len(b.free))
	}
	for _, s := range b.free {
		if used[s] {
			t.Errorf("slot %d is free and used", s)
		}
	}
	if want := beamSlots(b.durations, maxBeam); len(b.free)+len(used) != want {
		t.Errorf("%d slots are free and %d used, want %d in all", len(b.free), len(used), want)
	}
}

// toyModel is a joint network whose answers depend on frame and text by a hash, over a vocabulary of pieces pieces.
type toyModel struct {
	steps  *steps
	pieces int
	seed   uint64
	texts  map[int32]string // by slot
}

func (m *toyModel) answer(l look) answer {
	h := m.seed
	for _, c := range fmt.Sprintf("%d/%s", l.frame, m.texts[l.slot]) {
		h = (h ^ uint64(c)) * 0x100000001b3
	}
	draw := func(n int) []float64 {
		x := make([]float64, n)
		sum := 0.0
		for i := range x {
			h = h*6364136223846793005 + 1442695040888963407
			x[i] = math.Exp(4 * float64(h>>40) / (1 << 24))
			sum += x[i]
		}
		for i := range x {
			x[i] /= sum
		}
		return x
	}
	var a answer
	p, d := draw(m.pieces+1), draw(len(m.steps.durations))
	for _, x := range d {
		a.durations = append(a.durations, float32(math.Log(x)))
	}
	for i := range p {
		a.best.IDs = append(a.best.IDs, int32(i))
	}
	slices.SortStableFunc(a.best.IDs, func(i, j int32) int {
		if p[i] > p[j] {
			return -1
		}
		return 1
	})
	for _, id := range a.best.IDs {
		a.best.LogProbs = append(a.best.LogProbs, float32(math.Log(p[id])))
	}
	return a
}

// exhaust adds up the probabilities of all ways to say each text from a frame on.
func (m *toyModel) exhaust(sums map[string]float64, frame, frames int, text string, symbols int, p float64) {
	if frame >= frames {
		sums[text] += p
		return
	}
	m.texts[-1] = text
	a := m.answer(look{frame: frame, slot: -1})
	for i, id := range a.best.IDs {
		for j, d := range m.steps.durations {
			q := p * math.Exp(float64(a.best.LogProbs[i])+float64(a.durations[j]))
			switch {
			case id == m.steps.blank:
				m.exhaust(sums, frame+max(d, 1), frames, text, 0, q)
			case d > 0:
				m.exhaust(sums, frame+d, frames, text+string('a'+id), 0, q)
			case symbols+1 >= m.steps.maxSymbols:
				m.exhaust(sums, frame+1, frames, text+string('a'+id), 0, q)
			default:
				m.exhaust(sums, frame, frames, text+string('a'+id), symbols+1, q)
			}
		}
	}
}

// TestBeamAddsUp holds a beam that drops nothing to the sum over all ways to say each text.
func TestBeamAddsUp(t *testing.T) {
	for _, c := range []struct {
		maxSymbols int
		tolerance  float64 // relative
	}{
		{1, 1e-5},
		// Ways that differ in how many symbols the frame has given are one hypothesis, and the
		// likeliest one's number counts for all.
		{2, 0.05},
	} {
		for seed := range uint64(20) {
			st := &steps{blank: 2, durations: []int{0, 1, 2}, maxSymbols: c.maxSymbols}
			m := &toyModel{steps: st, pieces: 2, seed: seed, texts: map[int32]string{}}
			const frames = 3
			want := map[string]float64{}
			m.exhaust(want, 0, frames, "", 0, 1)
			got := m.beam(frames, 4000, 4000)
			if len(got) != len(want) {
				t.Fatalf("seed %d: %d texts, want %d", seed, len(got), len(want))
			}
			for text, p := range want {
				if math.Abs(got[text]-p) > c.tolerance*(p+2e-3) {
					t.Errorf("%d symbols, seed %d: %q has %g, want %g", c.maxSymbols, seed, text, got[text], p)
				}
			}
		}
	}
}

// TestBeamIsItsOwn: what others in its batch want to know changes nothing.
func TestBeamIsItsOwn(t *testing.T) {
	for seed := range uint64(20) {
		m := &toyModel{steps: &steps{blank: 9, durations: []int{0, 1, 2, 3}, maxSymbols: 3}, pieces: 9, seed: seed, texts: map[int32]string{}}
		if got, want := m.beam(10, 2, 9), m.beam(10, 2, candidates(2)); !maps.Equal(got, want) {
			t.Errorf("seed %d: got %v, want %v", seed, got, want)
		}
	}
}

// beam runs a beam that is told the count best pieces, and returns the probability of every text that it ended with.
func (m *toyModel) beam(frames, width, count int) map[string]float64 {
	slots := make([]int32, beamSlots(m.steps.durations, width))
	for i := range slots {
		slots[i] = int32(i)
	}
	b := newBeam(m.steps, width, frames, nil, slots)
	b.behind, b.least = math.Inf(1), math.Inf(-1)
	m.texts[0] = ""
	for !b.ended() {
		for _, p := range b.predictions(nil) {
			m.texts[p.to] = m.texts[p.from] + string('a'+p.token)
		}
		var answers []answer
		for _, l := range b.looks(nil) {
			a := m.answer(l)
			a.best.IDs, a.best.LogProbs = a.best.IDs[:min(count, len(a.best.IDs))], a.best.LogProbs[:min(count, len(a.best.IDs))]
			answers = append(answers, a)
		}
		b.take(answers)
	}
	texts := map[string]float64{}
	for _, h := range b.finished {
		text := ""
		for s := h.said; s != nil; s = s.before {
			text = string('a'+s.id) + text
		}
		texts[text] = math.Exp(h.sum)
	}
	return texts
}
