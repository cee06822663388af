package audioprep

import (
	"bytes"
	"encoding/binary"
)

// An Ogg file is a chain of pages (RFC 3533). A page is a header of 27 bytes
// that begins with "OggS", up to 255 lacing values, and as many bytes as they
// add up to. A packet is a run of lacing values of 255 and one that is less; a
// packet that has none of the latter goes on in the next page of its stream.

const (
	oggHeaderBytes = 27
	// maxOggPage is the longest page: 255 lacing values of 255.
	maxOggPage = oggHeaderBytes + 255 + 255*255
)

// Flags of a page.
const (
	oggContinued = 1 // its first packet began in an earlier page
	oggFirst     = 2 // of a logical stream
	oggLast      = 4
)

// oggPage is one page. Its slices hold until the next one is read.
type oggPage struct {
	flags   byte
	granule int64 // position at the end of the last packet that ends here, in the codec's unit; -1: none ends
	serial  uint32
	seq     uint32
	lacing  []byte
	body    []byte
}

// oggPages reads the pages of an upload. Garbage between pages and pages whose
// checksum is wrong are passed over.
type oggPages struct {
	w         *sliding
	held      *oggPage // read already, comes next
	read      bool     // a page was read
	unchecked bool     // the checksums of this file are not what they should be
	passed    int64    // bytes that are in no page
	damaged   int      // pages with a wrong checksum
	cut       int      // bytes of a last page that is not whole
	redone    int64    // bytes of pages that were read in vain
}

var oggMagic = []byte("OggS")

// unread has the next call of next return p, which must be what the last one returned.
func (o *oggPages) unread(p oggPage) {
	p.lacing, p.body = bytes.Clone(p.lacing), bytes.Clone(p.body)
	o.held = &p
}

// next reads the next page; false at the end of the upload.
func (o *oggPages) next() (p oggPage, ok bool, err error) {
	if o.held != nil {
		p, o.held = *o.held, nil
		return p, true, nil
	}
	for {
		b := o.w.fill(oggHeaderBytes)
		if len(b) < oggHeaderBytes {
			o.passed += int64(len(b))
			return p, false, nil
		}
		if !bytes.HasPrefix(b, oggMagic) {
			o.search(b)
			if err := o.w.in.ctx.Err(); err != nil {
				return p, false, err
			}
			continue
		}
		n, whole := o.page(b, &p)
		if whole {
			o.w.skip(n)
			o.read = true
			return p, true, nil
		}
		// A false start costs time: not for ever.
		o.redone += int64(n)
		if o.redone < o.w.in.pos+maxOggPage {
			n = len(oggMagic)
		}
		o.passed += int64(n)
		o.w.skip(n)
	}
}

// search moves to the next thing that looks like a page.
func (o *oggPages) search(b []byte) {
	n := bytes.Index(b[1:], oggMagic) + 1
	if n == 0 {
		n = len(b) - len(oggMagic) + 1
	}
	if o.read || n < sniffBytes {
		o.passed += int64(n)
	}
	o.w.skip(n)
}

// page reads the page that b starts with; n is its length as far as it is
// there. Not whole if it is cut or damaged.
func (o *oggPages) page(b []byte, p *oggPage) (n int, whole bool) {
	segments := int(b[26])
	if b[4] != 0 { // the version
		return len(oggMagic), false
	}
	n = oggHeaderBytes + segments
	if b = o.w.fill(n); len(b) < n {
		o.cut = len(b)
		return len(b), false
	}
	for _, v := range b[oggHeaderBytes:n] {
		n += int(v)
	}
	if b = o.w.fill(n + len(oggMagic)); len(b) < n {
		o.cut = len(b)
		return len(b), false
	}
	follows := bytes.HasPrefix(b[n:], oggMagic)
	b = b[:n]
	if want := binary.LittleEndian.Uint32(b[22:]); !o.unchecked && oggCRC(b) != want {
		// A writer that knows no checksums gets the first one wrong already.
		if o.read || !follows {
			o.damaged++
			return n, false
		}
		o.unchecked = true
	}
	o.cut = 0
	*p = oggPage{
		flags:   b[5],
		granule: int64(binary.LittleEndian.Uint64(b[6:])),
		serial:  binary.LittleEndian.Uint32(b[14:]),
		seq:     binary.LittleEndian.Uint32(b[18:]),
		lacing:  b[oggHeaderBytes : oggHeaderBytes+segments],
		body:    b[oggHeaderBytes+segments:],
	}
	return n, true
}

// oggCRC is the page's checksum: polynomial 0x04c11db7, from zero, not
// inverted, the checksum's own four bytes taken as zero (RFC 3533, section 6).
func oggCRC(page []byte) uint32 {
	crc := oggCRCUpdate(0, page[:22])
	crc = oggCRCUpdate(crc, []byte{0, 0, 0, 0})
	return oggCRCUpdate(crc, page[26:])
}

func oggCRCUpdate(crc uint32, b []byte) uint32 {
	for len(b) >= 4 {
		crc ^= binary.BigEndian.Uint32(b)
		crc = oggTable[3][crc>>24] ^ oggTable[2][crc>>16&255] ^ oggTable[1][crc>>8&255] ^ oggTable[0][crc&255]
		b = b[4:]
	}
	for _, v := range b {
		crc = crc<<8 ^ oggTable[0][byte(crc>>24)^v]
	}
	return crc
}

// oggTable[k][v] is the checksum of v followed by k zeros.
var oggTable = func() (t [4][256]uint32) {
	for i := range t[0] {
		crc := uint32(i) << 24
		for range 8 {
			if crc>>31 != 0 {
				crc = crc<<1 ^ 0x04c11db7
			} else {
				crc <<= 1
			}
		}
		t[0][i] = crc
	}
	for k := 1; k < len(t); k++ {
		for i, v := range t[k-1] {
			t[k][i] = v<<8 ^ t[0][v>>24]
		}
	}
	return t
}()
