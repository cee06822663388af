// Package bits reads bit streams whose first bit is the highest of the first byte,
// as those of MPEG and Apple are.
package bits

import "encoding/binary"

// Slack is how many bytes must stand behind the data, so that Peek can load eight
// bytes wherever it may.
const Slack = 8

// Reader reads bits. Behind the data it reads zeros of the slack and then zeros
// without end; whoever reads in a loop must see whether it is Past.
type Reader struct {
	Data []byte // with Slack bytes behind what is to be read
	At   int    // place, in bits
	End  int    // of what is to be read, in bits
}

// Padded returns a reader of data, in a copy that takes the place of buf, which is
// used again where it is large enough.
func Padded(buf, data []byte) (Reader, []byte) {
	buf = append(append(buf[:0], data...), make([]byte, Slack)...)
	return Reader{Data: buf, End: 8 * len(data)}, buf
}

// Peek returns the next n bits, 1 to 32, without moving.
func (r *Reader) Peek(n int) uint32 { return uint32(r.Window() >> (64 - n)) }

// WindowBits is how many of its bits Window knows at least.
const WindowBits = 57

// Window returns the next bits at the top of a word, without moving. Those behind the first
// WindowBits may be zeros.
func (r *Reader) Window() uint64 {
	i := r.At >> 3
	if i+8 > len(r.Data) {
		return 0
	}
	return binary.BigEndian.Uint64(r.Data[i:]) << (r.At & 7)
}

// Take returns the next n bits, 0 to 32.
func (r *Reader) Take(n int) int {
	if n == 0 {
		return 0
	}
	v := r.Peek(n)
	r.At += n
	return int(v)
}

// Flag takes one bit.
func (r *Reader) Flag() bool { return r.Take(1) == 1 }

// Skip moves over n bits.
func (r *Reader) Skip(n int) { r.At += n }

// Align moves to the next whole byte.
func (r *Reader) Align() { r.At = (r.At + 7) &^ 7 }

// Past reports that more was taken than there is.
func (r *Reader) Past() bool { return r.At > r.End }
