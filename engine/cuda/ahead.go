package cuda

import (
	"errors"
	"sync"

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
	// answerBytes is the size of the pinned memory for a step's answer, stateBytes the
	// least for what the GPU knows of texts.
	answerBytes = 64 << 10
	stateBytes  = 64 << 10
	// aheadThreads is how many texts or utterances a block has. (kernels/cuda/advance.cu, transduce.cu)
	aheadThreads = 128
)

// errDropped comes after another failure, which may have come back from another call.
var errDropped = errors.New("cuda: a step was dropped after a failure")

// ahead is what a device has for decoding ahead of the host. One call of Ahead or Transduce has it at a time.
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

// statePart is numbers of what the GPU knows of texts, and where they are.
type statePart struct {
	at    *driver.DevicePtr
	words []int32
}

// bringState brings numbers to the GPU, one part behind the other, in the place of those that were there.
func (d *Device) bringState(parts ...statePart) error {
	var words []int32
	for _, p := range parts {
		words = append(words, p.words...)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.reserveState(4 * len(words)); err != nil {
		return err
	}
	at := d.ahead.state.address()
	for _, p := range parts {
		*p.at = at
		at += driver.DevicePtr(4 * len(p.words))
	}
	raw := make([]byte, 4*len(words))
	putWords(raw, words)
	d.sendBytes(d.ahead.state.address(), raw)
	return nil
}

// reserveState makes the memory for the state large enough. The lock is held.
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

// answers are what steps leave for the host, one after another in the same place: each is copied down behind its step.
type answers struct {
	at     driver.DevicePtr
	bytes  int
	copied int // how many are on their way; the executor's
}

// goAhead queues steps, at most most of them, and has their answers taken, some steps behind, until take says no. A
// step is a graph, as soon as it has been seen before, and a copy down: its tokens, places and rules lie where the step
// before it left them, so nothing has to go up.
func (d *Device) goAhead(a *answers, most int, step func(), take func(answer []byte) bool) error {
	goOn := true
	for queued, taken := 0, 0; ; taken++ {
		for ; goOn && queued < min(most, taken+stepsUnderWay); queued++ {
			step()
			d.bringBack(a, queued)
		}
		if taken == queued {
			return nil
		}
		answer, err := d.answer(a, taken)
		if err != nil {
			return err
		}
		goOn = take(answer) && goOn
	}
}

// bringBack gives a step to the GPU and queues the copying of its answer.
func (d *Device) bringBack(a *answers, step int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.flush()
	slot := &d.ahead.slots[step%stepsUnderWay]
	d.executor.Go(func(c *driver.Context) {
		if d.failed() {
			return
		}
		err := slot.ready(c, answerBytes)
		if err == nil {
			err = c.CopyToHost(slot.bytes[:a.bytes], a.at, d.stream)
		}
		if err == nil {
			err = c.RecordEvent(slot.done, d.stream)
		}
		if err == nil {
			a.copied++
		}
		d.fail(err)
	})
}

// answer waits for a step's answer, but not for the steps behind it, and without the lock,
// so that others may queue work meanwhile.
func (d *Device) answer(a *answers, step int) ([]byte, error) {
	slot := &d.ahead.slots[step%stepsUnderWay]
	d.fail(d.executor.Do(func(c *driver.Context) error {
		if a.copied <= step {
			return errDropped
		}
		return c.SynchronizeEvent(slot.done)
	}))
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.takeFailure(); err != nil {
		return nil, err
	}
	return slot.bytes[:a.bytes], nil
}
