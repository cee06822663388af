//go:build linux && amd64 && !nocuda

package cuda

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"hark/engine"
	"hark/engine/cuda/emu"
)

// toyDecoder is a graph of one layer from tokens to logits.
type toyDecoder struct {
	tokens, qkv, out  engine.Linear
	positions         engine.Table
	cache             engine.Cache
	mask              engine.Mask
	x, mixed, logits  engine.Tensor
	vocabulary, width int
}

const toyPositions = 24

func newToyDecoder(b *bench, vocabulary, rows int) *toyDecoder {
	const width = 32
	d := b.gpu
	room := func(alloc func(int) (engine.Buffer, error), cols int) engine.Tensor {
		return engine.NewTensor(must(alloc(rows*cols)), rows, cols)
	}
	return &toyDecoder{
		tokens: must(d.NewLinear(b.random(vocabulary*width), nil, vocabulary, width)), qkv: must(d.NewLinear(b.random(3*width*width), nil, 3*width, width)),
		out: must(d.NewLinear(b.random(vocabulary*width), nil, vocabulary, width)), positions: must(d.NewTable(b.random(toyPositions*width), toyPositions, width)),
		cache: must(d.NewCache(1, rows, toyPositions, width)), mask: must(d.NewMask([]int32{1, 2, 3}, vocabulary)),
		x: room(d.Alloc, width), mixed: room(d.Alloc, 3*width), logits: room(d.AllocSingle, vocabulary), vocabulary: vocabulary, width: width,
	}
}

// step makes logits of tokens in their places.
func (m *toyDecoder) step(d engine.Device, ids []int32, places []engine.CacheRow) engine.Tensor {
	n := len(ids)
	x, mixed, logits := m.x.Slice(0, n), m.mixed.Slice(0, n), m.logits.Slice(0, n)
	positions := make([]int32, n)
	for i, p := range places {
		positions[i] = p.Position
	}
	d.Embed(x, m.tokens, ids, m.positions, positions)
	d.Linear(mixed, x, m.qkv, engine.NoActivation, engine.Tensor{})
	d.CachedAttention(x, mixed, m.cache, 0, 2, places)
	d.Linear(logits, x, m.out, engine.NoActivation, engine.Tensor{})
	return logits
}

// continuations are texts of all kinds.
func (m *toyDecoder) continuations(b *bench) []engine.Continuation {
	end := int32(m.vocabulary / 2)
	list := []engine.Continuation{
		{Rule: engine.Rule{Mask: m.mask}, Room: 9},
		{Rule: engine.Rule{Ban: [4]engine.Range{{}, {}, {From: 0, To: 9}}}, Room: 1},
		{Rule: engine.Rule{Mask: m.mask, Temperature: 1}, Room: 12},
		{Rule: engine.Rule{Ban: [4]engine.Range{{From: 0, To: end}, {From: end + 1, To: 9999}}}, Room: 5},
		{Rule: engine.Rule{Ban: [4]engine.Range{{From: 0, To: 9999}}}, Room: 5},
		{Rule: engine.Rule{Temperature: 0.5}, Room: 4},
	}
	for i := range list {
		c := &list[i]
		c.Written, c.Place, c.End = []int32{int32(5 + i)}, engine.CacheRow{Slot: int32(len(list) - 1 - i), Position: int32(i)}, end
		for range c.Room {
			c.Uniforms = append(c.Uniforms, b.r.Float32())
		}
	}
	return list
}

// written is a text, and with what log-probabilities.
type written struct {
	ids      []int32
	logProbs []float32
	ended    bool
}

func (w *written) take(c engine.Choice, t *engine.Continuation) {
	if w.ended {
		return
	}
	if len(c.IDs) > 0 {
		w.ids, w.logProbs = append(w.ids, c.IDs[0]), append(w.logProbs, c.LogProbs[0])
	}
	w.ended = len(c.IDs) == 0 || c.IDs[0] == t.End || len(w.ids) == t.Room
}

// stepByStep goes on with texts as long as one of them goes on, each choice waited for.
func (m *toyDecoder) stepByStep(d *Device, list []engine.Continuation) []written {
	all := make([]written, len(list))
	for !allEnded(all) {
		var ids []int32
		var places []engine.CacheRow
		var rules []engine.Rule
		var going []int
		for i := range list {
			c, n := &list[i], len(all[i].ids)
			if all[i].ended {
				continue
			}
			ids = append(ids, slices.Concat(c.Written, all[i].ids)[n])
			places = append(places, engine.CacheRow{Slot: c.Place.Slot, Position: c.Place.Position + int32(n)})
			rule := c.Rule
			rule.Uniform = c.Uniforms[n]
			rules, going = append(rules, rule), append(going, i)
		}
		choices := must(d.Select(m.step(d, ids, places), rules, 1))
		for j, i := range going {
			all[i].take(choices[j], &list[i])
		}
	}
	return all
}

func allEnded(all []written) bool {
	return !slices.ContainsFunc(all, func(w written) bool { return !w.ended })
}

// ahead is stepByStep by Ahead.
func (m *toyDecoder) ahead(d *Device, list []engine.Continuation, look func()) ([]written, error) {
	all := make([]written, len(list))
	places := make([]engine.CacheRow, len(list)) // any will do
	err := d.Ahead(list, func(on engine.Device) engine.Tensor { return m.step(on, make([]int32, len(list)), places) }, func(choices []engine.Choice) bool {
		look()
		for i, c := range choices {
			all[i].take(c, &list[i])
		}
		return !allEnded(all)
	})
	return all, err
}

// TestAhead holds texts that the GPU goes on with by itself to the same texts step by step, to the bit.
func TestAhead(t *testing.T) {
	onBoth(t, func(b *bench) {
		m := newToyDecoder(b, 200, 6)
		for round := range 3 { // graphs are made in the first two
			list := m.continuations(b)
			want := m.stepByStep(b.gpu, list)
			b.inBothOrders(func(order string) {
				got, err := m.ahead(b.gpu, list, func() {})
				if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
					t.Fatalf("round %d %s: got %v, %v, want %v", round, order, got, err, want)
				}
			})
		}
		if err := b.gpu.Ahead(nil, nil, nil); err != nil {
			t.Error(err)
		}
	})
}

// TestAheadSteps: a step is a graph, a copy down and a wait, and while the host waits two more are queued. Nothing
// goes up but at first.
func TestAheadSteps(t *testing.T) {
	d, gpu := emulated(t, Config{})
	b := &bench{T: t, gpu: d, r: rand.New(rand.NewPCG(1, 2))}
	m := newToyDecoder(b, 40, 6)
	for range 3 {
		before := gpu.Counts()
		var seen []emu.Counts
		if _, err := m.ahead(d, m.continuations(b), func() { seen = append(seen, gpu.Counts().Since(before)) }); err != nil {
			t.Fatal(err)
		}
		if len(seen) < 6 {
			t.Fatalf("%d steps", len(seen))
		}
		if before.Captures == 0 {
			continue
		}
		for i, c := range seen {
			queued := uint64(min(i+stepsUnderWay, len(seen)))
			if c.GraphLaunches != queued || c.Launches != 0 || c.CopiesUp != 1 || c.CopiesDown != queued || c.Waits != uint64(i)+1 {
				t.Errorf("at choice %d: %+v", i, c)
			}
		}
	}
}

// TestAheadMuchState: what is known of texts may be more than fits a page.
func TestAheadMuchState(t *testing.T) {
	d, _ := emulated(t, Config{})
	const room = pageBytes/4 + 100
	uniforms := make([]float32, room)
	uniforms[room-1] = 0.25
	text := engine.Continuation{Written: []int32{1}, Rule: engine.Rule{Temperature: 1}, Uniforms: uniforms, Room: room}
	at, err := d.bring([]engine.Continuation{text})
	if err != nil {
		t.Fatal(err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	last, err := d.fetch(at.draws+4*(room-2), 4)
	if err != nil || math.Float32frombits(word(last, 0)) != 0.25 {
		t.Errorf("the last draw: %v, %v", last, err)
	}
}

// TestAheadFails: a step that fails ends it, and so do texts that the decoder has no room for.
func TestAheadFails(t *testing.T) {
	d, gpu := emulated(t, Config{})
	b := &bench{T: t, gpu: d, r: rand.New(rand.NewPCG(1, 2))}
	m := newToyDecoder(b, 40, 6)
	good := m.continuations(b)
	gpu.Fail("cuMemcpyDtoHAsync_v2", 3, 2)
	taken := 0
	if _, err := m.ahead(d, good, func() { taken++ }); err == nil || errors.Is(err, engine.ErrDeviceLost) || taken > 2 {
		t.Errorf("after %d choices: %v", taken, err)
	}
	if _, err := m.ahead(d, good, func() {}); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	for name, spoil := range map[string]func(c *engine.Continuation){
		"no room":        func(c *engine.Continuation) { c.Room = 0 },
		"too much room":  func(c *engine.Continuation) { c.Room = toyPositions + 1 },
		"no such token":  func(c *engine.Continuation) { c.Written = []int32{40} },
		"no such slot":   func(c *engine.Continuation) { c.Place.Slot = 6 },
		"slot of two":    func(c *engine.Continuation) { c.Place.Slot = 0 },
		"few uniforms":   func(c *engine.Continuation) { c.Rule.Temperature, c.Uniforms = 1, nil },
		"mask too large": func(c *engine.Continuation) { c.Rule.Mask = must(d.NewMask(nil, 41)) },
	} {
		list := slices.Clone(good)
		spoil(&list[0])
		if !panics(func() { _, _ = m.ahead(d, list, func() {}) }) {
			t.Errorf("%s: no panic", name)
		}
	}
	gpu.Fail("cuEventSynchronize", 2, 700)
	if _, err := m.ahead(d, good, func() {}); !errors.Is(err, engine.ErrDeviceLost) {
		t.Errorf("got %v", err)
	}
}
