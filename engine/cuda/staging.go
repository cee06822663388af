package cuda

import (
	"bytes"

	"hark/engine/cuda/driver"
)

const (
	// stagingBytes is the size of the staging block.
	stagingBytes = 1 << 20
	// stagingSlots is how many groups may be on their way at once.
	stagingSlots = 4
)

// staging is the block of the GPU's memory that a group's kernels find the host's small arrays in. It lies in the
// same place for every group, so that graphs hold; each group's copy to it waits in the stream for the kernels of
// the one before. On the host the contents lie in one of a few pinned slots until they are copied. All but the
// address belongs to the executor's thread.
type staging struct {
	block driver.DevicePtr
	slots [stagingSlots]slot
	next  int
	last  []byte // what was last copied to the block
}

// slot is pinned memory that is not touched while copies from it, or to it, are under way.
type slot struct {
	bytes []byte
	done  driver.Event // behind the last of them; 0: none was made
}

// send queues the copying of contents to the block, unless they are there from the last time: steps that the GPU
// decodes by itself stage the same again and again.
func (s *staging) send(c *driver.Context, contents []byte, stream driver.Stream) error {
	if bytes.HasPrefix(s.last, contents) {
		return nil
	}
	slot := &s.slots[s.next]
	s.next = (s.next + 1) % stagingSlots
	if err := slot.ready(c, stagingBytes); err != nil {
		return err
	}
	copy(slot.bytes, contents)
	if err := c.CopyToDevice(s.block, slot.bytes[:len(contents)], stream); err != nil {
		return err
	}
	s.last = append(s.last[:0], contents...)
	return c.RecordEvent(slot.done, stream)
}

// ready makes the slot, of so many bytes, or waits until it's free. What fails may be tried again.
func (s *slot) ready(c *driver.Context, bytes int) error {
	if s.bytes != nil {
		return c.SynchronizeEvent(s.done)
	}
	var err error
	if s.done == 0 {
		if s.done, err = c.NewEvent(false); err != nil {
			return err
		}
	}
	s.bytes, err = c.HostAlloc(bytes)
	return err
}

// close gives the slot back, after its last copy.
func (s *slot) close(c *driver.Context) {
	if s.bytes != nil {
		_ = c.HostFree(s.bytes) // at the end nobody is left to be told
	}
	if s.done != 0 {
		_ = c.DestroyEvent(s.done)
	}
}

// close gives the slots back, after all copies.
func (s *staging) close(c *driver.Context) {
	for i := range s.slots {
		s.slots[i].close(c)
	}
}
