package alac

import (
	mathbits "math/bits"

	"hark/audioprep/internal/bits"
)

// The width of the code for a residual follows a running mean of those before, which is
// kept with meanBits of fraction (ag_dec.c, dyn_decomp). Where the mean is very small, the
// length of a run of zeros follows.
const (
	meanBits  = 9 // QBSHIFT
	maxPrefix = 9 // ones that say that a number follows as it is
	runBits   = 16
	meanClamp = 0xffff
)

// readResiduals decodes len(out) residuals of up to size bits. factor is by how many
// quarters the mean follows faster than the stream's header says.
func (d *Decoder) readResiduals(r *bits.Reader, out []int32, size, factor int) error {
	mean, follow := uint32(d.cfg.initial), uint32(d.cfg.history*factor/4)
	zeros := uint32(0) // 1 behind a run: no residual of 0 follows there
	for i := 0; i < len(out); {
		if r.Past() {
			return ErrPacket
		}
		k := min(31-mathbits.LeadingZeros32(mean>>meanBits+3), d.cfg.limit)
		n := golomb(r, k, 1<<k-1, size)
		// The lowest bit is the sign.
		v := n + zeros
		half := int32((uint64(v) + 1) >> 1)
		if v&1 != 0 {
			half = -half
		}
		out[i] = half
		i++
		mean += follow*v - follow*mean>>meanBits
		if n > meanClamp {
			mean = meanClamp
		}
		zeros = 0
		if mean<<2 >= 1<<meanBits || i >= len(out) {
			continue
		}
		k = mathbits.LeadingZeros32(mean) - 24 + int(mean+16)>>6
		run := int(golomb(r, k, (1<<k-1)&(1<<d.cfg.limit-1), runBits))
		if run > len(out)-i {
			return ErrPacket
		}
		clear(out[i : i+run])
		i += run
		if run < 0xffff {
			zeros = 1
		}
		mean = 0
	}
	return nil
}

// golomb reads a number: ones that stand for m each, a zero, and k bits that stand for one
// less than they say, where the first k-1 zeros are 0 already. After maxPrefix ones it is
// written in size bits instead (dyn_get_32bit and dyn_get).
func golomb(r *bits.Reader, k int, m uint32, size int) uint32 {
	w := r.Peek(32)
	prefix := mathbits.LeadingZeros32(^w)
	if prefix >= maxPrefix {
		r.Skip(maxPrefix)
		return uint32(r.Take(size))
	}
	r.Skip(prefix + 1)
	n := uint32(prefix) * m
	if k == 1 {
		return n
	}
	v := r.Peek(k)
	if v < 2 {
		r.Skip(k - 1)
		return n
	}
	r.Skip(k)
	return n + v - 1
}
