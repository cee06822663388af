package opus

import "errors"

// ErrPacket: not an Opus packet, or a damaged one. The decoder can go on with the next.
var ErrPacket = errors.New("not an Opus packet")

const (
	// MaxSamples is the longest packet, 120 ms, in samples of each channel at 48 kHz.
	MaxSamples    = 5760
	maxFrames     = 48
	maxFrameBytes = 1275
)

// mode is which of the layers code a frame.
type mode int

const (
	none mode = iota // nothing was decoded yet
	silkOnly
	hybrid
	celtOnly
)

// header is a packet's first byte (RFC 6716, section 3.1).
type header struct {
	mode     mode
	kHz      int // of the SILK layer
	bands    int // of the CELT layer
	samples  int // of each frame, at 48 kHz
	channels int
}

func readHeader(b byte) header {
	config := int(b >> 3)
	h := header{channels: 1 + int(b>>2&1)}
	switch {
	case config < 12:
		h.mode, h.kHz, h.bands = silkOnly, 8+4*(config/4), []int{13, 17, 17}[config/4]
		h.samples = []int{480, 960, 1920, 2880}[config&3]
	case config < 16:
		h.mode, h.kHz, h.bands = hybrid, 16, []int{19, 21}[(config-12)/2]
		h.samples = []int{480, 960}[config&1]
	default:
		h.mode, h.bands = celtOnly, []int{13, 17, 19, 21}[(config-16)/4]
		h.samples = 120 << (config & 3)
	}
	return h
}

// PacketSamples is the duration of a packet in samples of each channel at 48 kHz, 0 if it is
// none. It looks at the first two bytes only.
func PacketSamples(b []byte) int {
	if len(b) == 0 {
		return 0
	}
	n := 1
	switch b[0] & 3 {
	case 1, 2:
		n = 2
	case 3:
		if len(b) < 2 {
			return 0
		}
		n = int(b[1] & 63)
	}
	if n *= readHeader(b[0]).samples; n > MaxSamples {
		return 0
	}
	return n
}

// split appends the frames of a packet to frames (section 3.2). All rules of section 3.4
// are held to.
func split(frames [][]byte, packet []byte) (header, [][]byte, error) {
	if len(packet) == 0 {
		return header{}, nil, ErrPacket
	}
	h := readHeader(packet[0])
	code, b := packet[0]&3, packet[1:]
	var ok bool
	switch code {
	case 0:
		frames, ok = append(frames, b), true
	case 1:
		frames, ok = equal(frames, b, 2)
	case 2:
		frames, ok = varying(frames, b, 2)
	default:
		frames, ok = splitMany(frames, b, h.samples)
	}
	for _, f := range frames {
		ok = ok && len(f) <= maxFrameBytes
	}
	if !ok {
		return header{}, nil, ErrPacket
	}
	return h, frames, nil
}

// splitMany splits what follows the first byte of a packet that tells how many frames it
// has.
func splitMany(frames [][]byte, b []byte, samples int) ([][]byte, bool) {
	if len(b) == 0 {
		return nil, false
	}
	count, padded, vary := int(b[0]&63), b[0]&64 != 0, b[0]&128 != 0
	b = b[1:]
	if count == 0 || count*samples > MaxSamples {
		return nil, false
	}
	if padded {
		padding := 0
		for more := true; more; {
			if len(b) == 0 {
				return nil, false
			}
			v := int(b[0])
			b = b[1:]
			if more = v == 255; more {
				v = 254
			}
			padding += v
		}
		if padding > len(b) {
			return nil, false
		}
		b = b[:len(b)-padding]
	}
	if vary {
		return varying(frames, b, count)
	}
	return equal(frames, b, count)
}

// equal splits b into n frames of one length.
func equal(frames [][]byte, b []byte, n int) ([][]byte, bool) {
	size := len(b) / n
	if size*n != len(b) {
		return nil, false
	}
	for range n {
		frames = append(frames, b[:size])
		b = b[size:]
	}
	return frames, true
}

// varying splits b into n frames, in front of which are the lengths of all but the last.
func varying(frames [][]byte, b []byte, n int) ([][]byte, bool) {
	var sizes [maxFrames]int
	for i := range n - 1 {
		size, used := length(b)
		if used == 0 {
			return nil, false
		}
		sizes[i], b = size, b[used:]
	}
	for _, size := range sizes[:n-1] {
		if size > len(b) {
			return nil, false
		}
		frames = append(frames, b[:size])
		b = b[size:]
	}
	return append(frames, b), true
}

// length reads a length of one or two bytes; used is how many, 0 if they are not there.
func length(b []byte) (size, used int) {
	switch {
	case len(b) == 0:
		return 0, 0
	case b[0] < 252:
		return int(b[0]), 1
	case len(b) < 2:
		return 0, 0
	}
	return int(b[0]) + 4*int(b[1]), 2
}
