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

// toyTransducer is a graph of a prediction network of one layer and a joint network.
type toyTransducer struct {
	engine.Transducer
	embedding, h, c, predicted, frames engine.Tensor
	lstm                               engine.LSTM
	pred, out                          engine.Linear
	x, z, logits                       engine.Tensor
	sound                              []float32
}

const (
	toyFrames, toyStates = 40, 12
	toySpoilt            = 21 // a frame that is no number
)

func newToyTransducer(b *bench) *toyTransducer {
	const width, joint, blank = 24, 16, 6
	d := b.gpu
	room := func(alloc func(int) (engine.Buffer, error), rows, cols int) engine.Tensor {
		return engine.NewTensor(must(alloc(rows*cols)), rows, cols)
	}
	m := &toyTransducer{
		Transducer: engine.Transducer{Blank: blank, Durations: []int{0, 1, 2, 4}, MostSymbols: 2, Power: 0.5},
		embedding:  room(d.Alloc, blank+1, width), h: room(d.Alloc, toyStates, width), c: room(d.AllocSingle, toyStates, width),
		predicted: room(d.Alloc, toyStates, joint), frames: room(d.Alloc, toyFrames, joint),
		lstm: must(d.NewLSTM(b.random(4*width*width), b.random(4*width*width), b.random(4*width), width, width)),
		pred: must(d.NewLinear(b.random(joint*width), nil, joint, width)),
		out:  must(d.NewLinear(b.random((blank+5)*joint), nil, blank+5, joint)),
		x:    room(d.Alloc, toyStates, width), z: room(d.Alloc, toyStates, joint), logits: room(d.AllocSingle, toyStates, blank+5),
	}
	d.Upload(m.embedding, b.random((blank+1)*width))
	m.sound = b.random(toyFrames * joint)
	for i := range joint {
		m.sound[toySpoilt*joint+i] = float32(math.NaN())
	}
	return m
}

// begin has all states be what a text starts with, and the frames what is heard.
func (m *toyTransducer) begin(d engine.Device) {
	for _, t := range []engine.Tensor{m.h, m.c, m.predicted} {
		d.Upload(t, make([]float32, t.Rows*t.Cols))
	}
	d.Upload(m.frames, m.sound)
}

// tell tells states a piece each.
func (m *toyTransducer) tell(d engine.Device, pieces, states []int32) {
	n := len(pieces)
	x, z := m.x.Slice(0, n), m.z.Slice(0, n)
	d.Gather(x, m.embedding, pieces)
	d.LSTM(x, x, m.h, m.c, m.lstm, states)
	d.Linear(z, x, m.pred, engine.NoActivation, engine.Tensor{})
	d.Scatter(m.predicted, z, states)
}

// ask makes the logits for some frames and states.
func (m *toyTransducer) ask(d engine.Device, frames, states []int32) engine.Tensor {
	n := len(frames)
	z, logits := m.z.Slice(0, n), m.logits.Slice(0, n)
	d.AddRows(z, m.frames, frames, m.predicted, states, engine.ReLU)
	d.Linear(logits, z, m.out, engine.NoActivation, engine.Tensor{})
	return logits
}

// utterances are of all kinds.
func (m *toyTransducer) utterances() []engine.Utterance {
	return []engine.Utterance{
		{Frame: 0, End: 10, State: 0, Spare: 1, Piece: -1},
		{Frame: 12, End: 13, State: 3, Spare: 2, Piece: 4},
		{Frame: 15, End: 30, State: 4, Spare: 5, Piece: -1, Symbols: 1}, // with the spoilt frame
		{Frame: 30, End: 40, State: 7, Spare: 9, Piece: 2, Symbols: 1},
	}
}

// follow is how an utterance goes on after an answer.
func (m *toyTransducer) follow(u *engine.Utterance, piece, duration engine.Peak) {
	u.Piece = -1
	by := int32(m.Durations[duration.ID-m.Blank-1])
	if piece.ID == m.Blank || !(piece.LogProb > float32(math.Inf(-1))) {
		by = max(by, 1)
	} else {
		u.Piece = piece.ID
		u.Symbols++
		if by == 0 && int(u.Symbols) == m.MostSymbols {
			by = 1
		}
	}
	if u.Frame += by; by > 0 {
		u.Symbols = 0
	}
}

// stepByStep goes on with utterances to their ends, each answer waited for, and returns the answers of each.
func (m *toyTransducer) stepByStep(d *Device, list []engine.Utterance) []string {
	m.begin(d)
	all := make([]string, len(list))
	for i, u := range list {
		for u.Frame < u.End {
			if u.Piece >= 0 {
				m.tell(d, []int32{u.Piece}, []int32{u.State})
			}
			logits := m.ask(d, []int32{u.Frame}, []int32{u.State})
			peaks := must(d.Peaks(logits, []engine.Range{{From: 0, To: m.Blank + 1}, {From: m.Blank + 1, To: int32(logits.Cols)}}, m.Power))
			all[i] += fmt.Sprintln(peaks)
			m.follow(&u, peaks[0], peaks[1])
		}
	}
	return all
}

// ahead is stepByStep by Transduce, all at once.
func (m *toyTransducer) ahead(d *Device, list []engine.Utterance, look func()) ([]string, error) {
	m.begin(d)
	list = slices.Clone(list)
	all, any := make([]string, len(list)), make([]int32, len(list)) // rows that are not heeded
	err := d.Transduce(slices.Clone(list), m.Transducer, func(on engine.Device) engine.Tensor {
		m.tell(on, any, any)
		return m.ask(on, any, any)
	}, func(peaks []engine.Peak) bool {
		look()
		going := false
		for i := range list {
			if u := &list[i]; u.Frame < u.End {
				all[i] += fmt.Sprintln(peaks[2*i : 2*i+2])
				m.follow(u, peaks[2*i], peaks[2*i+1])
				going = going || u.Frame < u.End
			}
		}
		return going
	})
	return all, err
}

// TestTransduce holds utterances that the GPU goes on with by itself to the same step by step, each alone, to the bit.
func TestTransduce(t *testing.T) {
	onBoth(t, func(b *bench) {
		m := newToyTransducer(b)
		list := m.utterances()
		want := m.stepByStep(b.gpu, list)
		for round := range 3 { // graphs are made in the first two
			b.inBothOrders(func(order string) {
				got, err := m.ahead(b.gpu, list, func() {})
				if err != nil || !slices.Equal(got, want) {
					t.Fatalf("round %d %s: got %v, %v, want %v", round, order, got, err, want)
				}
			})
		}
		if err := b.gpu.Transduce(nil, m.Transducer, nil, nil); err != nil {
			t.Error(err)
		}
	})
}

// TestTransduceSteps: a step is a graph, a copy down and a wait, and while the host waits two more are queued. It
// ends by itself where take never says no.
func TestTransduceSteps(t *testing.T) {
	d, gpu := emulated(t, Config{})
	b := &bench{T: t, gpu: d, r: rand.New(rand.NewPCG(1, 2))}
	m := newToyTransducer(b)
	for range 3 {
		m.begin(d)
		before := gpu.Counts()
		var seen []emu.Counts
		any := make([]int32, 4)
		err := d.Transduce(m.utterances(), m.Transducer, func(on engine.Device) engine.Tensor {
			m.tell(on, any, any)
			return m.ask(on, any, any)
		}, func([]engine.Peak) bool { seen = append(seen, gpu.Counts().Since(before)); return true })
		if err != nil || len(seen) != 15*m.MostSymbols {
			t.Fatalf("%d steps, %v", len(seen), err)
		}
		if before.Captures == 0 {
			continue
		}
		for i, c := range seen {
			queued := uint64(min(i+stepsUnderWay, len(seen)))
			if c.GraphLaunches != queued || c.Launches != 0 || c.CopiesDown != queued || c.Waits != uint64(i)+1 || c.CopiesUp != seen[0].CopiesUp {
				t.Errorf("at answer %d: %+v", i, c)
			}
		}
	}
}

// TestTransduceFails: a step that fails ends it, and utterances that can't be gone on with panic.
func TestTransduceFails(t *testing.T) {
	d, gpu := emulated(t, Config{})
	b := &bench{T: t, gpu: d, r: rand.New(rand.NewPCG(1, 2))}
	m := newToyTransducer(b)
	good := m.utterances()
	gpu.Fail("cuMemcpyDtoHAsync_v2", 3, 2)
	taken := 0
	if _, err := m.ahead(d, good, func() { taken++ }); !errors.Is(err, engine.ErrOutOfMemory) || taken > 2 {
		t.Errorf("after %d answers: %v", taken, err)
	}
	if _, err := m.ahead(d, good, func() {}); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	for name, spoil := range map[string]func(u *engine.Utterance){
		"no frame left":  func(u *engine.Utterance) { u.Frame = u.End },
		"no such frame":  func(u *engine.Utterance) { u.End = toyFrames + 1 },
		"no such piece":  func(u *engine.Utterance) { u.Piece = 7 },
		"no such state":  func(u *engine.Utterance) { u.State = toyStates },
		"no spare state": func(u *engine.Utterance) { u.Spare = u.State },
		"state of two":   func(u *engine.Utterance) { u.State = 3 },
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
