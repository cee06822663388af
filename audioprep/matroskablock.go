package audioprep

import "errors"

var errMatroskaBlock = errors.New("not a block")

// matroskaBlock is some frames of the chosen track, with one time.
type matroskaBlock struct {
	frames  [][]byte // they hold until the next block is read
	time    int64    // ns
	discard int64    // ns at the end that are not to be heard
	lost    bool     // something is missing before it
	first   bool     // of a recording
}

// parseBlock reads the body of a SimpleBlock or Block (RFC 9559, section 10):
// track, time within the cluster, flags, and the frames, which are laced if there
// are several. relative is the time in the cluster's unit.
func parseBlock(b []byte, frames [][]byte) (track uint64, relative int64, out [][]byte, err error) {
	track, n := ebmlNumber(b, false)
	if n == 0 || len(b) < n+3 {
		return 0, 0, nil, errMatroskaBlock
	}
	relative = int64(int16(uint16(b[n])<<8 | uint16(b[n+1])))
	lacing := b[n+2] >> 1 & 3
	if b = b[n+3:]; lacing == 0 {
		return track, relative, append(frames, b), nil
	}
	if len(b) < 1 {
		return 0, 0, nil, errMatroskaBlock
	}
	count := int(b[0]) + 1
	if b = b[1:]; lacing == 2 { // all of one size
		size := len(b) / count
		for range count {
			frames, b = append(frames, b[:size]), b[size:]
		}
		return track, relative, frames, nil
	}
	var sizes [256]int
	total := 0
	for i := range count - 1 {
		size, n := 0, 0
		switch {
		case lacing == 1: // Xiph's: bytes of 255 and one that is less
			for n < len(b) && b[n] == 255 {
				n++
			}
			if n == len(b) {
				return 0, 0, nil, errMatroskaBlock
			}
			size, n = n*255+int(b[n]), n+1
		default: // EBML's: a size, then differences
			v, k := ebmlNumber(b, false)
			if size, n = int(min(v, 1<<30)), k; i > 0 {
				size += sizes[i-1] - (1<<(7*k-1) - 1)
			}
		}
		if n == 0 || size < 0 || size > len(b)-n {
			return 0, 0, nil, errMatroskaBlock
		}
		sizes[i], b, total = size, b[n:], total+size
	}
	if total > len(b) {
		return 0, 0, nil, errMatroskaBlock
	}
	for _, size := range sizes[:count-1] {
		frames, b = append(frames, b[:size]), b[size:]
	}
	return track, relative, append(frames, b), nil
}
