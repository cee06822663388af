package cuda

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"hark/engine"
	"hark/engine/cuda/driver"
)

const (
	// stepsUnderWay is how many steps are queued before the host reads what the first of them chose. With two the host
	// would have the time of one step to hear of a choice, think, and queue the next step: by estimate a tenth of a
	// millisecond for the smallest model on a large GPU, as much as waking two threads and launching a graph take. So
	// there is a third. A text that ends wastes its row in the two steps behind, and a batch's last text two steps.
	//
	// Groups of N steps, read all at once, would wait less often, but the GPU stands still at the end of each, a text
	// that ends wastes N/2 steps on average, and a window that waits for its place loses as many.
	stepsUnderWay = 3
	// choicesBytes is the size of the pinned memory for a step's choices, stateBytes the least for the state of texts.
	choicesBytes = 64 << 10
	stateBytes   = 64 << 10
	// textWords is how many numbers are kept of a text beside its token, place and rule, advanceThreads how many
	// texts a block has. (kernels/cuda/advance.cu)
	textWords      = 5
	advanceThreads = 128
)

var _ engine.AheadDevice = (*Device)(nil)

// errDropped comes after another failure, which may have come back from another call.
var errDropped = errors.New("cuda: a step was dropped after a failure")

// ahead is what a device has for decoding ahead of the host. One call of Ahead has it at a time.
type ahead struct {
	mu    sync.Mutex
	state *buffer // nil: none was needed yet
	slots [stepsUnderWay]slot
}

// close gives back what isn't the device's own, after all copies.
func (a *ahead) close(c *driver.Context) {
	for i := range a.slots {
		a.slots[i].close(c)
	}
}

// texts are the texts of one call of Ahead: where the GPU has what it knows of them.
type texts struct {
	count, steps int // how many, and the most steps that any of them may take
	copied       int // steps whose choices are on their way; the executor's
	// What the texts ask for at most: ids of masks, tokens, slots and positions.
	masked, token, slot, position int
	embedded                      int // ids that Embed has rows for
	// ids and positions are [count], places [count][2], rules [count][ruleWords], states [count][textWords], draws
	// what the texts need of them; chosen is a step's answer, [count] pairs of id and log-probability.
	ids, positions, places, rules, states, draws, chosen driver.DevicePtr
}

// Ahead goes on with texts while the host looks on, some steps behind. A step is a graph, as soon as it has been seen
// before, and a copy down of what it chose: its tokens, places and rules lie where the step before it left them
// (kernels/cuda/advance.cu), so nothing has to go up.
func (d *Device) Ahead(list []engine.Continuation, step func(engine.Device) engine.Tensor, take func([]engine.Choice) bool) error {
	if len(list) == 0 {
		return nil
	}
	d.ahead.mu.Lock()
	defer d.ahead.mu.Unlock()
	t, err := d.bring(list)
	if err != nil {
		return err
	}
	on := &stepping{d, t}
	goOn := true
	for queued, taken := 0, 0; ; taken++ {
		for ; goOn && queued < min(t.steps, taken+stepsUnderWay); queued++ {
			d.choosing(t, step(on), queued)
		}
		if taken == queued {
			return nil
		}
		choices, err := d.chosen(t, taken)
		if err != nil {
			return err
		}
		goOn = take(choices) && goOn
	}
}

// bring brings texts to the GPU.
func (d *Device) bring(list []engine.Continuation) (*texts, error) {
	t := measure(list)
	var ids, positions, places, rules, states, draws []int32
	for i := range list {
		c := &list[i]
		rule, draw := c.Rule, int32(-1)
		if rule.Temperature > 0 {
			rule.Uniform, draw = c.Uniforms[0], int32(len(draws))
			for _, u := range c.Uniforms[1:c.Room] {
				draws = append(draws, int32(math.Float32bits(u)))
			}
		}
		ids, positions = append(ids, c.Written[len(c.Written)-1]), append(positions, c.Place.Position)
		places = append(places, c.Place.Slot, c.Place.Position)
		rules = appendRule(rules, &rule)
		states = append(states, int32(c.Room), c.End, c.FirstTimestamp, lastTimestamp(c), draw)
	}
	chosen := make([]int32, 2*t.count)
	words := slices.Concat(chosen, ids, positions, places, rules, states, draws)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.reserveState(4 * len(words)); err != nil {
		return nil, err
	}
	at := d.ahead.state.address()
	for _, part := range []struct {
		at    *driver.DevicePtr
		words []int32
	}{
		{&t.chosen, chosen}, {&t.ids, ids}, {&t.positions, positions}, {&t.places, places}, {&t.rules, rules},
		{&t.states, states}, {&t.draws, draws},
	} {
		*part.at = at
		at += driver.DevicePtr(4 * len(part.words))
	}
	raw := make([]byte, 4*len(words))
	putWords(raw, words)
	d.sendBytes(d.ahead.state.address(), raw)
	return t, nil
}

// lastTimestamp is the last timestamp of a text, or -1 where there is none.
func lastTimestamp(c *engine.Continuation) int32 {
	for i := len(c.Written) - 1; i >= 0 && c.FirstTimestamp > 0; i-- {
		if c.Written[i] >= c.FirstTimestamp {
			return c.Written[i]
		}
	}
	return -1
}

// measure counts what texts ask for. It panics where they can't be gone on with.
func measure(list []engine.Continuation) *texts {
	t := &texts{count: len(list)}
	slots := map[int32]bool{}
	for i := range list {
		c := &list[i]
		token, p := c.Written[len(c.Written)-1], c.Place
		if c.Room < 1 || token < 0 || p.Slot < 0 || p.Position < 0 || slots[p.Slot] {
			panic(fmt.Sprintf("cuda: Ahead: token %d at position %d of slot %d, with room for %d", token, p.Position, p.Slot, c.Room))
		}
		slots[p.Slot] = true
		t.steps = max(t.steps, c.Room)
		t.token, t.slot, t.position = max(t.token, int(token)), max(t.slot, int(p.Slot)), max(t.position, int(p.Position)+c.Room-1)
		if c.Rule.Mask != nil {
			t.masked = max(t.masked, c.Rule.Mask.Size())
		}
	}
	if 8*t.count > choicesBytes {
		panic(fmt.Sprintf("cuda: Ahead: %d texts", t.count))
	}
	return t
}

// reserveState makes the memory for the state of texts large enough. The lock is held.
func (d *Device) reserveState(bytes int) error {
	if d.ahead.state != nil {
		if int(d.ahead.state.block.bytes) >= bytes {
			return nil
		}
		d.flush()
		d.free(d.ahead.state)
		d.ahead.state = nil
	}
	state, err := d.alloc(ceilDiv(max(bytes, stateBytes), 4), f32)
	if err != nil {
		return err
	}
	d.ahead.state = state
	return nil
}

// choosing queues a step's choice, and what makes the next step go on from it, and gives the whole step to the GPU.
func (d *Device) choosing(t *texts, logits engine.Tensor, step int) {
	need("Ahead", "logits", logits, t.count, logits.Cols)
	if t.masked > logits.Cols || t.embedded > 0 && logits.Cols > t.embedded {
		panic(fmt.Sprintf("cuda: Ahead: a mask of %d ids for %d logits, and rows for %d tokens", t.masked, logits.Cols, t.embedded))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.enter()
	d.launchSelect(logits, at(t.rules), 1, at(t.chosen))
	d.launch("advance", along(ceilDiv(t.count, advanceThreads)), along(advanceThreads), 0, at(t.chosen), i32(t.count),
		at(t.ids), at(t.positions), at(t.places), at(t.rules), at(t.states), at(t.draws))
	d.flush()
	slot := &d.ahead.slots[step%stepsUnderWay]
	d.executor.Go(func(c *driver.Context) {
		if d.failed() {
			return
		}
		err := slot.ready(c, choicesBytes)
		if err == nil {
			err = c.CopyToHost(slot.bytes[:8*t.count], t.chosen, d.stream)
		}
		if err == nil {
			err = c.RecordEvent(slot.done, d.stream)
		}
		if err == nil {
			t.copied++
		}
		d.fail(err)
	})
}

// chosen waits for a step's choices, but not for the steps behind it, and without the lock, so that others may queue work meanwhile.
func (d *Device) chosen(t *texts, step int) ([]engine.Choice, error) {
	slot := &d.ahead.slots[step%stepsUnderWay]
	d.fail(d.executor.Do(func(c *driver.Context) error {
		if t.copied <= step {
			return errDropped
		}
		return c.SynchronizeEvent(slot.done)
	}))
	d.mu.Lock()
	err := d.takeFailure()
	d.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return readChoices(slot.bytes, t.count, 1), nil
}

// stepping is the device as a step of Ahead sees it: tokens and their places are those that the GPU has.
type stepping struct {
	*Device
	texts *texts
}

// Embed sets row i of dst to row t of the linear's weight plus row p of the table, t being the i-th text's last token
// and p its position.
func (s *stepping) Embed(dst engine.Tensor, tokens engine.Linear, ids []int32, t engine.Table, positions []int32) {
	s.needAll("Embed", len(ids))
	l, tab := embedding(dst, tokens, len(ids), t, len(positions))
	if s.texts.token >= l.n || s.texts.position >= tab.rows {
		panic(fmt.Sprintf("cuda: Embed: token %d of %d, position %d of %d", s.texts.token, l.n, s.texts.position, tab.rows))
	}
	s.texts.embedded = l.n
	s.mu.Lock()
	defer s.mu.Unlock()
	s.enter()
	s.embed(dst, l, at(s.texts.ids), tab, at(s.texts.positions))
}

// CachedAttention is causal self-attention of each text's last token.
func (s *stepping) CachedAttention(dst, qkv engine.Tensor, c engine.Cache, layer, heads int, rows []engine.CacheRow) {
	s.needAll("CachedAttention", len(rows))
	cc := c.(*cache)
	cc.check(dst, qkv, layer, len(rows))
	cc.checkPlace(s.texts.slot, s.texts.position)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.enter()
	s.attendCached(dst, qkv, cc, layer, heads, at(s.texts.places))
}

// needAll panics unless there is a row for each text.
func (s *stepping) needAll(op string, rows int) {
	if rows != s.texts.count {
		panic(fmt.Sprintf("cuda: %s: %d rows in a step of %d texts", op, rows, s.texts.count))
	}
}
