package audioprep

import (
	"encoding/binary"
	"errors"
)

// box is a box's body as a stretch of the upload.
type box struct {
	kind     string
	pos, end int64
	claimed  int64 // bytes of the body by its header
	cut      bool  // the header claims more than there is
}

func (b box) size() int64 { return b.end - b.pos }

var errBox = errors.New("a box has an impossible size")

// nextBox reads the header of the box at in's position; end is where what it stands in
// ends. A size of 1 says that 64 bits of size follow, 0 that the box goes on to the end.
func nextBox(in *input, end int64) (b box, err error) {
	var h [16]byte
	start := in.pos
	if end-start < 8 {
		return b, errBox
	}
	if _, err := in.readFull(h[:8]); err != nil {
		return b, err
	}
	b.kind = string(h[4:8])
	size := int64(binary.BigEndian.Uint32(h[:]))
	switch size {
	case 0:
		size = end - start
	case 1:
		if _, err := in.readFull(h[8:]); err != nil {
			return b, err
		}
		v := binary.BigEndian.Uint64(h[8:])
		size = int64(min(v, 1<<62))
	}
	b.pos = in.pos
	head := b.pos - start
	if size < head {
		return b, errBox
	}
	b.claimed = size - head
	b.end = start + size
	if b.end > end {
		b.end, b.cut = end, true
	}
	if b.end < b.pos {
		return b, errBox
	}
	return b, nil
}

// eachBox calls do for every box in the body of parent, whatever do leaves the position
// at. A box that can't be ends the walk.
func eachBox(in *input, parent box, do func(box) error) error {
	if err := in.seek(parent.pos); err != nil {
		return err
	}
	for in.pos < parent.end {
		b, err := nextBox(in, parent.end)
		if err != nil {
			return in.err
		}
		if err := do(b); err != nil {
			return err
		}
		if err := in.seek(b.end); err != nil {
			return err
		}
	}
	return nil
}

// readBox reads up to limit bytes of a box's body.
func readBox(in *input, b box, limit int64) ([]byte, error) {
	if err := in.seek(b.pos); err != nil {
		return nil, err
	}
	body := make([]byte, min(b.size(), limit))
	n, err := in.readFull(body)
	if n == len(body) {
		err = nil
	}
	return body[:n], err
}

// boxesIn calls do for every box in b, which holds nothing but boxes.
func boxesIn(b []byte, do func(kind string, body []byte)) {
	for len(b) >= 8 {
		n := int64(binary.BigEndian.Uint32(b))
		if n < 8 || n > int64(len(b)) {
			return
		}
		do(string(b[4:8]), b[8:n])
		b = b[n:]
	}
}

// be16, be32 and be64 read a number at a place that may not be there: then it is 0.
func be16(b []byte, at int) int {
	if at+2 > len(b) {
		return 0
	}
	return int(binary.BigEndian.Uint16(b[at:]))
}

func be32(b []byte, at int) int64 {
	if at+4 > len(b) {
		return 0
	}
	return int64(binary.BigEndian.Uint32(b[at:]))
}

func be64(b []byte, at int) int64 {
	if at+8 > len(b) {
		return 0
	}
	return int64(binary.BigEndian.Uint64(b[at:]))
}
