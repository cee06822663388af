package cuda

import (
	"encoding/binary"
	"fmt"

	"hark/engine/cuda/driver"
)

const (
	// stageMost is the most that one operation may stage.
	stageMost = stagingBytes / 4
	// segmentBytes is what a segment's part of the staging block starts on a multiple of, so that it lies where it lay
	// before though the segment in front of it staged a little more or less.
	segmentBytes = 4096
	// queuedCommands is how many commands make a queue long: the GPU should not wait while the host thinks.
	queuedCommands = 512
)

// command is something to be done on the GPU.
type command interface {
	// submit gives it to a stream.
	submit(c *driver.Context, s driver.Stream) error
	// appendKey appends what tells it from any other command, its addresses included.
	appendKey(key []byte) []byte
}

// group is queued work, from one submission to the next.
type group struct {
	uploads  []upload
	staged   []byte // contents of the staging block
	segments []segment
	commands int
}

// upload is a copy from pinned memory, done before everything else in its group.
type upload struct {
	to   driver.DevicePtr
	from []byte
}

// segment is a run of commands that may become a graph.
type segment struct {
	commands []command
	key      []byte
}

// enter is called by an operation before it queues anything, with the lock held: it makes sure that what it stages
// and what it launches are in the same group.
func (d *Device) enter() {
	if d.queue.commands >= queuedCommands || len(d.queue.staged) > stagingBytes-stageMost-segmentBytes {
		d.flush()
	}
}

// add queues a command. The lock is held.
func (d *Device) add(c command) {
	if d.failed() {
		return
	}
	q := &d.queue
	if len(q.segments) == 0 {
		q.segments = append(q.segments, segment{})
	}
	s := &q.segments[len(q.segments)-1]
	s.commands = append(s.commands, c)
	s.key = c.appendKey(s.key)
	q.commands++
}

// boundary ends a segment: what is queued before it and what comes after it are graphs of their own. It's for work that
// is done between steps, each time another amount of it. The lock is held.
func (d *Device) boundary() {
	q := &d.queue
	if q.commands == 0 {
		return
	}
	q.segments = append(q.segments, segment{})
	if over := len(q.staged) % segmentBytes; over > 0 {
		q.staged = append(q.staged, make([]byte, segmentBytes-over)...)
	}
}

// copyUp queues a copy from pinned memory to the GPU. Copies come first in a group, so that what follows can be a graph
// however often they lie in another page. The lock is held.
func (d *Device) copyUp(to driver.DevicePtr, from []byte) {
	if d.queue.commands > 0 {
		d.flush()
	}
	if !d.failed() {
		d.queue.uploads = append(d.queue.uploads, upload{to, from})
	}
}

// stage puts numbers in the staging block and returns their address there, a multiple of 16. They are there for the
// kernels of this operation. The lock is held.
func (d *Device) stage(values []int32) arg {
	if 4*len(values) > stageMost {
		panic(fmt.Sprintf("cuda: %d numbers to be staged at once", len(values)))
	}
	q := &d.queue
	offset := len(q.staged)
	q.staged = append(q.staged, make([]byte, (4*len(values)+15)&^15)...)
	putWords(q.staged[offset:], values)
	return at(d.staging.block) + arg(offset)
}

// scratch returns the address of so many bytes that the operation's kernels may use among themselves, until the next
// call of it. An operation that needs several calls it once and divides. The lock is held.
func (d *Device) scratch(bytes int) driver.DevicePtr {
	if d.scratchBuffer == nil || int(d.scratchBuffer.block.bytes) < bytes {
		d.flush()
		if d.scratchBuffer != nil {
			d.free(d.scratchBuffer)
			d.scratchBuffer = nil
		}
		b, err := d.alloc(ceilDiv(bytes, 4), f32)
		if err != nil {
			d.fail(err)
			return 0
		}
		d.scratchBuffer = b
	}
	return d.scratchBuffer.address()
}

// flush gives what is queued to the GPU, without waiting. The lock is held.
func (d *Device) flush() {
	g := d.queue
	if g.commands == 0 && len(g.uploads) == 0 {
		d.queue.staged = d.queue.staged[:0]
		return
	}
	d.queue = group{}
	d.executor.Go(func(c *driver.Context) { d.fail(d.submit(c, &g)) })
}

// submit gives a group to the GPU. It runs on the executor.
func (d *Device) submit(c *driver.Context, g *group) error {
	if d.failed() {
		return nil
	}
	for _, u := range g.uploads {
		if err := c.CopyToDevice(u.to, u.from, d.stream); err != nil {
			return err
		}
	}
	if len(g.staged) > 0 {
		if err := d.staging.send(c, g.staged, d.stream); err != nil {
			return err
		}
	}
	for i := range g.segments {
		if err := d.graphs.run(c, &g.segments[i], d.stream); err != nil {
			return err
		}
	}
	return nil
}

// wait submits what is queued, waits for it and returns the first failure since the last wait. The lock is held.
func (d *Device) wait() error {
	d.flush()
	d.fail(d.executor.Do(func(c *driver.Context) error { return c.SynchronizeStream(d.stream) }))
	return d.takeFailure()
}

// fetch waits for what is queued and returns bytes of the GPU's memory, at most pageBytes. They are
// valid until the next call. The lock is held.
func (d *Device) fetch(from driver.DevicePtr, bytes int) ([]byte, error) {
	d.flush()
	d.fail(d.executor.Do(func(c *driver.Context) error {
		if d.failed() {
			return nil
		}
		if err := d.reserveFetched(c, bytes); err != nil {
			return err
		}
		if err := c.CopyToHost(d.fetched[:bytes], from, d.stream); err != nil {
			return err
		}
		return c.SynchronizeStream(d.stream)
	}))
	if err := d.takeFailure(); err != nil {
		return nil, err
	}
	return d.fetched[:bytes], nil
}

// reserveFetched makes the pinned memory that results come back in large enough.
func (d *Device) reserveFetched(c *driver.Context, bytes int) error {
	if bytes <= len(d.fetched) {
		return nil
	}
	if d.fetched != nil {
		if err := c.HostFree(d.fetched); err != nil {
			return err
		}
		d.fetched = nil
	}
	block, err := c.HostAlloc(max(bytes, 64<<10))
	d.fetched = block
	return err
}

// appendNumbers appends numbers to a key.
func appendNumbers(key []byte, numbers ...uint64) []byte {
	for _, n := range numbers {
		key = binary.LittleEndian.AppendUint64(key, n)
	}
	return key
}
