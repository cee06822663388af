package cuda

import (
	"encoding/binary"

	"hark/engine/cuda/driver"
)

// pageBytes is the size of a page of pinned memory; pageCount how many are filled while the first is still being copied.
const (
	pageBytes = 4 << 20
	pageCount = 3
)

// pages is the host's pinned memory on its way to the GPU. One page is filled after another; one whose copies are under way is not
// touched. All but the pages' contents belongs to whoever holds the device's lock.
type pages struct {
	page [pageCount]page
	at   int // the page being filled
	used int // bytes of it
}

// page is one stretch of pinned memory.
type page struct {
	bytes []byte
	done  driver.Event // behind the last copy from it; 0: it was never left
	left  bool
}

// take returns n bytes, at most pageBytes, to be filled before they are queued for copying.
func (p *pages) take(d *Device, n int) []byte {
	n16 := (n + 15) &^ 15
	if p.page[p.at].bytes == nil || p.used+n16 > pageBytes {
		p.turn(d)
	}
	if p.page[p.at].bytes == nil { // the device has failed: nothing will be copied
		return make([]byte, n)
	}
	b := p.page[p.at].bytes[p.used:][:n:n]
	p.used += n16
	return b
}

// turn leaves the page and waits until the next one is free.
func (p *pages) turn(d *Device) {
	d.flush()
	err := d.executor.Do(func(c *driver.Context) error {
		if old := &p.page[p.at]; old.bytes != nil {
			if err := c.RecordEvent(old.done, d.stream); err != nil {
				return err
			}
			old.left = true
			p.at = (p.at + 1) % pageCount
		}
		next := &p.page[p.at]
		if next.bytes == nil {
			var err error
			if next.done, err = c.NewEvent(false); err != nil {
				return err
			}
			next.bytes, err = c.HostAlloc(pageBytes)
			return err
		}
		if next.left {
			return c.SynchronizeEvent(next.done)
		}
		return nil
	})
	p.used = 0
	d.fail(err)
}

// close gives the pages back, after all copies.
func (p *pages) close(c *driver.Context) {
	for i := range p.page {
		if p.page[i].bytes != nil {
			_ = c.HostFree(p.page[i].bytes) // at the end nobody is left to be told
			_ = c.DestroyEvent(p.page[i].done)
		}
	}
	*p = pages{}
}

// putWords writes words as the GPU reads them.
func putWords[T int32 | uint32](dst []byte, words []T) {
	for i, w := range words {
		binary.LittleEndian.PutUint32(dst[4*i:], uint32(w))
	}
}
