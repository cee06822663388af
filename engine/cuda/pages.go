package cuda

import (
	"encoding/binary"

	"hark/engine/cuda/driver"
)

// pageBytes is the size of a page of pinned memory; pageCount how many are filled
// while the first is still being copied.
const (
	pageBytes = 4 << 20
	pageCount = 3
)

// pages is the host's pinned memory on its way to the GPU. One page is filled after another; one whose copies are under
// way is not touched. All but the pages' contents belongs to whoever holds the device's lock.
type pages struct {
	page [pageCount]slot
	at   int // the page being filled
	used int // bytes of it
}

// take returns n bytes, at most pageBytes, to be filled before they are queued for copying.
func (p *pages) take(d *Device, n int) []byte {
	n16 := (n + 15) &^ 15
	if p.page[p.at].bytes == nil || p.used+n16 > pageBytes {
		if err := p.turn(d); err != nil {
			d.fail(err)
			return make([]byte, n) // nothing will be copied
		}
	}
	b := p.page[p.at].bytes[p.used:][:n:n]
	p.used += n16
	return b
}

// turn leaves the page and waits until the next one is free. Where it fails, no page has room.
func (p *pages) turn(d *Device) error {
	d.flush()
	p.used = pageBytes
	err := d.executor.Do(func(c *driver.Context) error {
		if old := &p.page[p.at]; old.bytes != nil {
			if err := c.RecordEvent(old.done, d.stream); err != nil {
				return err
			}
			p.at = (p.at + 1) % pageCount
		}
		return p.page[p.at].ready(c, pageBytes)
	})
	if err == nil {
		p.used = 0
	}
	return err
}

// close gives the pages back, after all copies.
func (p *pages) close(c *driver.Context) {
	for i := range p.page {
		p.page[i].close(c)
	}
}

// putWords writes words as the GPU reads them.
func putWords[T int32 | uint32](dst []byte, words []T) {
	for i, w := range words {
		binary.LittleEndian.PutUint32(dst[4*i:], uint32(w))
	}
}
