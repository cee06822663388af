// Package flac decodes the frames of FLAC, the free lossless audio codec.
//
// # The format
//
// A frame is a header, a subframe for each channel and a checksum. A subframe predicts each
// sample from those before it and codes what is left over:
//
//	constant   one sample for all
//	verbatim   samples as they are
//	fixed      prediction by differences of order 0 to 4
//	linear     prediction by up to 32 coefficients that stand in the subframe
//
// The rest is coded as Rice has it: in partitions, each with a parameter k, a number is its
// high bits in ones' stead of zeros up to a one, and its k low bits. Two channels may be
// coded as one of them, or their mean, and their difference. RFC 9639, section 9.
//
// # What it does not do
//
// Headers, checksums and finding frames in a file are the caller's. Differences of channels
// with 32 bits, which take 33, are refused. No input makes it panic.
package flac

import (
	"errors"
	"math/bits"

	bitio "hark/audioprep/internal/bits"
)

// ErrFrame: bits that cannot be, or fewer than there should be.
var ErrFrame = errors.New("a damaged FLAC frame")

// MaxChannels is the most channels that a frame can have.
const MaxChannels = 8

// How two channels are coded as others (RFC 9639, table 12). All below are so many channels
// less one, each for itself.
const (
	leftSide  = 8
	sideRight = 9
	midSide   = 10
)

// Form is what a frame's header says of its samples.
type Form struct {
	BlockSize int // samples of each channel
	Bits      int // of a sample, 4 to 32
	// Assignment is how channels are coded, the four bits of the header.
	Assignment int
}

// Channels is their number.
func (f Form) Channels() int {
	if f.Assignment >= leftSide {
		return 2
	}
	return f.Assignment + 1
}

// bits returns how many a sample of channel c has: a difference one more.
func (f Form) bits(c int) int {
	if f.Assignment == sideRight && c == 0 || (f.Assignment == leftSide || f.Assignment == midSide) && c == 1 {
		return f.Bits + 1
	}
	return f.Bits
}

// Decoder decodes frames. Not for concurrent use.
type Decoder struct {
	samples [MaxChannels][]int32
	coefs   [32]int64
}

// Decode decodes the subframes that begin at r, which is moved behind them, to a whole byte.
// It returns the samples of each channel, which hold until the next call.
func (d *Decoder) Decode(r *bitio.Reader, f Form) ([][]int32, error) {
	n := f.Channels()
	for c := range n {
		if f.bits(c) > 32 {
			return nil, ErrFrame
		}
		if cap(d.samples[c]) < f.BlockSize {
			d.samples[c] = make([]int32, f.BlockSize)
		}
		d.samples[c] = d.samples[c][:f.BlockSize]
		if err := d.subframe(r, d.samples[c], f.bits(c)); err != nil {
			return nil, err
		}
	}
	r.Align()
	if r.Past() {
		return nil, ErrFrame
	}
	join(d.samples[0], d.samples[1], f.Assignment)
	return d.samples[:n], nil
}

// join makes two channels of what they are coded as.
func join(a, b []int32, assignment int) {
	switch assignment {
	case leftSide:
		for i, v := range a {
			b[i] = v - b[i]
		}
	case sideRight:
		for i, v := range b {
			a[i] += v
		}
	case midSide:
		for i, side := range b {
			mid := a[i]<<1 | side&1
			a[i], b[i] = (mid+side)>>1, (mid-side)>>1
		}
	}
}

// subframe decodes one channel, whose samples have so many bits.
func (d *Decoder) subframe(r *bitio.Reader, x []int32, width int) error {
	if r.Flag() {
		return ErrFrame
	}
	kind := r.Take(6)
	wasted := 0
	if r.Flag() {
		for wasted = 1; !r.Flag(); wasted++ {
			if wasted >= width || r.Past() {
				return ErrFrame
			}
		}
	}
	if width -= wasted; width < 1 {
		return ErrFrame
	}
	var err error
	switch {
	case kind == 0:
		v := signed(r, width)
		for i := range x {
			x[i] = v
		}
	case kind == 1:
		err = verbatim(r, x, width)
	case kind >= 8 && kind <= 12:
		err = fixed(r, x, width, kind-8)
	case kind >= 32:
		err = d.linear(r, x, width, kind-31)
	default:
		err = ErrFrame
	}
	if err == nil && wasted > 0 {
		for i := range x {
			x[i] <<= wasted
		}
	}
	return err
}

// signed takes a number of n bits, 1 to 32.
func signed(r *bitio.Reader, n int) int32 {
	v := int32(r.Peek(n)<<(32-n)) >> (32 - n)
	r.Skip(n)
	return v
}

func verbatim(r *bitio.Reader, x []int32, width int) error {
	for i := range x {
		x[i] = signed(r, width)
	}
	if r.Past() {
		return ErrFrame
	}
	return nil
}

// fixed predicts by differences: of order 1 that the next sample is like the last, of order 2
// that it goes on as it went, and so on.
func fixed(r *bitio.Reader, x []int32, width, order int) error {
	if order > len(x) {
		return ErrFrame
	}
	if err := verbatim(r, x[:order], width); err != nil {
		return err
	}
	if err := residual(r, x, order); err != nil {
		return err
	}
	switch order {
	case 1:
		for i := 1; i < len(x); i++ {
			x[i] += x[i-1]
		}
	case 2:
		for i := 2; i < len(x); i++ {
			x[i] += 2*x[i-1] - x[i-2]
		}
	case 3:
		for i := 3; i < len(x); i++ {
			x[i] += 3*(x[i-1]-x[i-2]) + x[i-3]
		}
	case 4:
		for i := 4; i < len(x); i++ {
			x[i] += 4*(x[i-1]+x[i-3]) - 6*x[i-2] - x[i-4]
		}
	}
	return nil
}

// linear predicts by coefficients.
func (d *Decoder) linear(r *bitio.Reader, x []int32, width, order int) error {
	if order > len(x) {
		return ErrFrame
	}
	if err := verbatim(r, x[:order], width); err != nil {
		return err
	}
	precision := r.Take(4) + 1
	shift := signed(r, 5)
	if precision == 16 || shift < 0 {
		return ErrFrame
	}
	// The last coefficient stands first, beside the oldest sample.
	coefs := d.coefs[:order]
	for i := range coefs {
		coefs[order-1-i] = int64(signed(r, precision))
	}
	if err := residual(r, x, order); err != nil {
		return err
	}
	for i := order; i < len(x); i++ {
		past := x[i-order : i]
		past = past[:len(coefs)]
		sum := int64(0)
		for j, c := range coefs {
			sum += c * int64(past[j])
		}
		x[i] += int32(sum >> shift)
	}
	return nil
}

// residual decodes what prediction left over into x[order:] (RFC 9639, section 9.2.7).
func residual(r *bitio.Reader, x []int32, order int) error {
	method := r.Take(2)
	if method > 1 {
		return ErrFrame
	}
	width := 4 + method // of the parameters
	parts := r.Take(4)
	n := len(x) >> parts
	if n<<parts != len(x) || n < order {
		return ErrFrame
	}
	for from := 0; from < len(x); from += n {
		part := x[max(from, order) : from+n]
		k := r.Take(width)
		if k == 1<<width-1 {
			// Not coded: so many bits each.
			k = r.Take(5)
			if k == 0 {
				clear(part)
			} else if err := verbatim(r, part, k); err != nil {
				return err
			}
			continue
		}
		if err := rice(r, part, k); err != nil {
			return err
		}
	}
	return nil
}

// rice decodes numbers with k low bits.
func rice(r *bitio.Reader, x []int32, k int) error {
	at := r.At
	for i := range x {
		r.At = at
		v := r.Window()
		zeros := bits.LeadingZeros64(v)
		if n := zeros + 1 + k; n <= bitio.WindowBits {
			at += n
			u := uint32(zeros)<<k | uint32(v<<(zeros+1)>>1>>(63-k))
			x[i] = int32(u>>1) ^ -int32(u&1)
			continue
		}
		u, ok := long(r, k)
		if !ok {
			return ErrFrame
		}
		x[i] = int32(u>>1) ^ -int32(u&1)
		at = r.At
	}
	if r.At = at; r.Past() {
		return ErrFrame
	}
	return nil
}

// long decodes a number that does not fit a window.
func long(r *bitio.Reader, k int) (u uint32, ok bool) {
	for zeros := uint32(0); ; zeros++ {
		if r.Past() {
			return 0, false
		}
		if r.Flag() {
			return zeros<<k | uint32(r.Take(k)), true
		}
	}
}
