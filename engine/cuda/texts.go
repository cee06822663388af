package cuda

import (
	"fmt"
	"math"

	"hark/engine"
	"hark/engine/cuda/driver"
)

var _ engine.AheadDevice = (*Device)(nil)

// texts are the texts of one call of Ahead: where the GPU has what it knows of them.
type texts struct {
	count, steps int // how many, and the most steps that any of them may take
	// What the texts ask for at most: ids of masks, tokens, slots and positions.
	masked, token, slot, position int
	embedded                      int // ids that Embed has rows for
	// ids and positions are [count], places [count][2], rules [count][ruleWords], states [count][5], draws
	// what the texts need of them; chosen are [count] pairs of id and log-probability.
	ids, positions, places, rules, states, draws driver.DevicePtr
	chosen                                       answers
}

// Ahead goes on with texts while the host looks on, some steps behind.
func (d *Device) Ahead(list []engine.Continuation, step func(engine.Device) engine.Tensor,
	take func([]engine.Choice) bool) error {
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
	return d.goAhead(&t.chosen, t.steps, func() { d.choosing(t, step(on)) }, func(raw []byte) bool {
		return take(readChoices(raw, t.count, 1))
	})
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
	err := d.bringState(statePart{&t.chosen.at, make([]int32, 2*t.count)}, statePart{&t.ids, ids},
		statePart{&t.positions, positions},
		statePart{&t.places, places}, statePart{&t.rules, rules}, statePart{&t.states, states},
		statePart{&t.draws, draws})
	return t, err
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
	t := &texts{count: len(list), chosen: answers{bytes: 8 * len(list)}}
	slots := map[int32]bool{}
	for i := range list {
		c := &list[i]
		token, p := c.Written[len(c.Written)-1], c.Place
		if c.Room < 1 || token < 0 || p.Slot < 0 || p.Position < 0 || slots[p.Slot] {
			panic(fmt.Sprintf("cuda: Ahead: token %d at position %d of slot %d, with room for %d", token,
				p.Position, p.Slot, c.Room))
		}
		slots[p.Slot] = true
		t.steps = max(t.steps, c.Room)
		t.token, t.slot, t.position = max(t.token, int(token)), max(t.slot, int(p.Slot)),
			max(t.position, int(p.Position)+c.Room-1)
		if c.Rule.Mask != nil {
			t.masked = max(t.masked, c.Rule.Mask.Size())
		}
	}
	if t.chosen.bytes > answerBytes {
		panic(fmt.Sprintf("cuda: Ahead: %d texts", t.count))
	}
	return t
}

// choosing queues a step's choice, and what makes the next step go on from it.
func (d *Device) choosing(t *texts, logits engine.Tensor) {
	need("Ahead", "logits", logits, t.count, logits.Cols)
	if t.masked > logits.Cols || t.embedded > 0 && logits.Cols > t.embedded {
		panic(fmt.Sprintf("cuda: Ahead: a mask of %d ids for %d logits, and rows for %d tokens", t.masked,
			logits.Cols, t.embedded))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.enter()
	d.launchSelect(logits, at(t.rules), 1, at(t.chosen.at))
	d.launch("advance", along(ceilDiv(t.count, aheadThreads)), along(aheadThreads), 0, at(t.chosen.at), i32(t.count),
		at(t.ids), at(t.positions), at(t.places), at(t.rules), at(t.states), at(t.draws))
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
		panic(fmt.Sprintf("cuda: Embed: token %d of %d, position %d of %d", s.texts.token, l.n,
			s.texts.position, tab.rows))
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
