package cuda

import (
	"sync"

	"hark/engine/cuda/driver"
)

// defaultRegionBytes is how much memory is asked of the driver at once. Small buffers are many, and a call takes long.
const defaultRegionBytes = 64 << 20

// memory is the GPU's memory, as far as it's ours. It's safe for concurrent use.
type memory struct {
	executor *driver.Executor
	limit    int64 // bytes; 0: what the driver gives

	mu    sync.Mutex
	arena arena
}

func newMemory(e *driver.Executor, c Config) *memory {
	m := &memory{executor: e, limit: c.MemoryBytes}
	m.arena = arena{regionBytes: int64(c.RegionBytes), newRegion: m.newRegion, endRegion: m.endRegion}
	if c.RegionBytes == 0 {
		m.arena.regionBytes = defaultRegionBytes
	}
	return m
}

// alloc hands out a block. The error is an *[OutOfMemoryError] or the driver's.
func (m *memory) alloc(bytes int64) (block, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, err := m.arena.alloc(bytes)
	if driver.IsOutOfMemory(err) {
		err = m.outOfMemory(bytes)
	}
	return b, err
}

// release takes a block back. Work that uses it must have been submitted.
func (m *memory) release(b block) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.arena.release(b)
}

// newRegion asks the driver for memory. The lock is held.
func (m *memory) newRegion(bytes int64) (uint64, error) {
	if m.limit > 0 && m.arena.held()+bytes > m.limit {
		return 0, &driver.Error{Call: "cuMemAlloc_v2", Status: driver.OutOfMemory, Name: "the limit that was set"}
	}
	var p driver.DevicePtr
	err := m.executor.Do(func(c *driver.Context) (err error) {
		p, err = c.MemAlloc(int(bytes))
		return err
	})
	return uint64(p), err
}

// endRegion gives memory back to the driver. The lock is held.
func (m *memory) endRegion(address uint64) error {
	return m.executor.Do(func(c *driver.Context) error { return c.MemFree(driver.DevicePtr(address)) })
}

// outOfMemory describes a want of memory. The lock is held.
func (m *memory) outOfMemory(bytes int64) error {
	free, limit := m.free()
	return &OutOfMemoryError{Want: bytes, Free: free, Limit: limit}
}

// free is how much may still be handed out, and how much there may be in all. The lock is held.
func (m *memory) free() (free, limit int64) {
	held := m.arena.held()
	_ = m.executor.Do(func(c *driver.Context) (err error) { // where it fails, there is nothing
		free, limit, err = c.MemInfo()
		return err
	})
	if m.limit > 0 {
		free, limit = min(free, m.limit-held), m.limit
	}
	return free + held - m.arena.used, limit
}

// Memory is how much of the GPU's memory may still be used, and how much there may be in all.
func (d *Device) Memory() (free, total int64) {
	d.memory.mu.Lock()
	defer d.memory.mu.Unlock()
	return d.memory.free()
}
