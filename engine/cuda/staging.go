package cuda

import "hark/engine/cuda/driver"

const (
	// stagingBytes is the size of the staging block.
	stagingBytes = 1 << 20
	// stagingSlots is how many groups may be on their way at once.
	stagingSlots = 4
)

// staging is the block of the GPU's memory that a group's kernels find the host's small arrays in. It lies in the same place for every
// group, so that graphs hold; each group's copy to it waits in the stream for the kernels of the one before. On the host the contents
// lie in one of a few pinned slots until they are copied. All but the address belongs to the executor's thread.
type staging struct {
	block driver.DevicePtr
	slots [stagingSlots]slot
	next  int
}

// slot is pinned memory for one group's staging.
type slot struct {
	bytes []byte
	done  driver.Event // behind the copy from it
}

// send queues the copying of contents to the block.
func (s *staging) send(c *driver.Context, contents []byte, stream driver.Stream) error {
	slot := &s.slots[s.next]
	s.next = (s.next + 1) % stagingSlots
	if err := slot.ready(c); err != nil {
		return err
	}
	copy(slot.bytes, contents)
	if err := c.CopyToDevice(s.block, slot.bytes[:len(contents)], stream); err != nil {
		return err
	}
	return c.RecordEvent(slot.done, stream)
}

// ready makes the slot, or waits until it's free.
func (s *slot) ready(c *driver.Context) error {
	if s.bytes != nil {
		return c.SynchronizeEvent(s.done)
	}
	var err error
	if s.done, err = c.NewEvent(false); err != nil {
		return err
	}
	s.bytes, err = c.HostAlloc(stagingBytes)
	return err
}

// close gives the slots back, after all copies.
func (s *staging) close(c *driver.Context) {
	for i := range s.slots {
		if s.slots[i].bytes != nil {
			_ = c.HostFree(s.slots[i].bytes) // at the end nobody is left to be told
			_ = c.DestroyEvent(s.slots[i].done)
		}
	}
}
