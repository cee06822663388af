package cuda

import (
	"fmt"

	"hark/engine"
	"hark/engine/cuda/driver"
)

var _ engine.TransducerDevice = (*Device)(nil)

// utterances are those of one call of Transduce: where the GPU has what it knows of them.
type utterances struct {
	engine.Transducer
	count, steps int // how many, and the most steps that any of them may take
	// What they ask for at most: pieces, frames and states.
	piece, frame, state int
	// pieces, told and frames are what a step tells the prediction network and asks about, asked the
	// states that it asks with, each [count]; states is [count][4]; ranges and durations are the
	// transducer's; found are [count] pairs of peaks.
	pieces, told, frames, asked, states, ranges, durations driver.DevicePtr
	found                                                  answers
}

// Transduce goes on with utterances while the host looks on, some steps behind.
func (d *Device) Transduce(list []engine.Utterance, t engine.Transducer, step func(engine.Device) engine.Tensor,
	take func([]engine.Peak) bool) error {
	if len(list) == 0 {
		return nil
	}
	d.ahead.mu.Lock()
	defer d.ahead.mu.Unlock()
	u := measureUtterances(list, t)
	if err := d.bringUtterances(u, list); err != nil {
		return err
	}
	on := &transducing{d, u}
	return d.goAhead(&u.found, u.steps, func() { d.finding(u, step(on)) }, func(raw []byte) bool {
		return take(appendPeaks(nil, raw))
	})
}

// measureUtterances counts what utterances ask for. It panics where they can't be gone on with.
func measureUtterances(list []engine.Utterance, t engine.Transducer) *utterances {
	u := &utterances{Transducer: t, count: len(list), piece: int(t.Blank) - 1,
		found: answers{bytes: 2 * 4 * peakWords * len(list)}}
	states := map[int32]bool{}
	for _, l := range list {
		if l.Frame < 0 || l.Frame >= l.End || min(l.State, l.Spare) < 0 || l.State == l.Spare ||
			states[l.State] || states[l.Spare] {
			panic(fmt.Sprintf("cuda: Transduce: frame %d of %d with states %d and %d", l.Frame,
				l.End, l.State, l.Spare))
		}
		states[l.State], states[l.Spare] = true, true
		u.steps = max(u.steps, int(l.End-l.Frame)*max(1, t.MostSymbols))
		u.piece, u.frame, u.state = max(u.piece, int(l.Piece)), max(u.frame, int(l.End)-1),
			max(u.state, int(max(l.State, l.Spare)))
	}
	if u.found.bytes > answerBytes || t.Blank < 1 || len(t.Durations) == 0 {
		panic(fmt.Sprintf("cuda: Transduce: %d utterances, %d pieces, %d durations", u.count,
			t.Blank, len(t.Durations)))
	}
	return u
}

// bringUtterances brings utterances to the GPU.
func (d *Device) bringUtterances(u *utterances, list []engine.Utterance) error {
	var pieces, told, frames, asked, states, durations []int32
	for _, l := range list {
		tell := l.State
		if l.Piece < 0 {
			tell = l.Spare
		}
		pieces, told = append(pieces, max(l.Piece, 0)), append(told, tell)
		frames, asked = append(frames, l.Frame), append(asked, l.State)
		states = append(states, l.End, l.State, l.Spare, l.Symbols)
	}
	for _, n := range u.Durations {
		durations = append(durations, int32(n))
	}
	behind := u.Blank + 1
	return d.bringState(statePart{&u.found.at, make([]int32, u.found.bytes/4)}, statePart{&u.pieces, pieces},
		statePart{&u.told, told},
		statePart{&u.frames, frames}, statePart{&u.asked, asked}, statePart{&u.states, states},
		statePart{&u.ranges, []int32{0, behind, behind, behind + int32(len(durations))}},
		statePart{&u.durations, durations})
}

// finding queues a step's answer, and what makes the next step go on from it.
func (d *Device) finding(u *utterances, logits engine.Tensor) {
	pieces, durations := int(u.Blank)+1, len(u.Durations)
	need("Transduce", "logits", logits, u.count, pieces+durations)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.enter()
	d.launchPeaks(logits, at(u.ranges), 2, max(pieces, durations), u.Power, at(u.found.at))
	d.launch("transduce", along(ceilDiv(u.count, aheadThreads)), along(aheadThreads), 0, at(u.found.at),
		i32(u.count), i32(int(u.Blank)),
		at(u.durations), i32(u.MostSymbols), at(u.pieces), at(u.told), at(u.frames), at(u.states))
}

// transducing is the device as a step of Transduce sees it: pieces, states and frames are those that the GPU has.
type transducing struct {
	*Device
	utterances *utterances
}

// Gather sets row i of dst to that of src for the piece that utterance i is told.
func (t *transducing) Gather(dst, src engine.Tensor, rows []int32) {
	u := t.utterances
	u.needAll("Gather", len(rows), u.piece, src.Rows)
	need("Gather", "dst", dst, u.count, src.Cols)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.enter()
	t.launchCopy(dst, src, u.count, at(u.pieces), 0)
}

// Scatter sets the row of dst for the state that utterance i tells to row i of src.
func (t *transducing) Scatter(dst, src engine.Tensor, rows []int32) {
	u := t.utterances
	u.needAll("Scatter", len(rows), u.state, dst.Rows)
	need("Scatter", "src", src, u.count, dst.Cols)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.enter()
	t.launchCopy(dst, src, u.count, 0, at(u.told))
}

// LSTM takes the state that each utterance tells a step on.
func (t *transducing) LSTM(dst, x, h, c engine.Tensor, w engine.LSTM, rows []int32) {
	u, l := t.utterances, w.(*lstm)
	u.needAll("LSTM", len(rows), u.state, h.Rows)
	l.check(dst, x, h, c, u.count)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.enter()
	fresh := t.scratch(l.freshBytes(u.count))
	t.lstm(dst, x, h, c, l, at(u.told), at(fresh))
}

// AddRows sets row i of dst to act(the frame that utterance i asks about, of a + its state, of b).
func (t *transducing) AddRows(dst, a engine.Tensor, aRows []int32, b engine.Tensor,
	bRows []int32, act engine.Activation) {
	u := t.utterances
	u.needAll("AddRows", len(aRows), u.frame, a.Rows)
	u.needAll("AddRows", len(bRows), u.state, b.Rows)
	need("AddRows", "dst", dst, u.count, a.Cols)
	need("AddRows", "b", b, b.Rows, a.Cols)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.enter()
	t.launchAddRows(dst, a, at(u.frames), b, at(u.asked), act)
}

// needAll panics unless there is a row for each utterance, and the last row that they may ask for.
func (u *utterances) needAll(op string, rows, last, there int) {
	if rows != u.count || last >= there {
		panic(fmt.Sprintf("cuda: %s: %d rows in a step of %d utterances, row %d of %d", op, rows, u.count, last, there))
	}
}
