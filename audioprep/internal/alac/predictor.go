package alac

import "hark/audioprep/internal/bits"

// predictor is a channel's filter and how it is used (dp_dec.c, unpc_block).
type predictor struct {
	mode   int // not 0: the residuals are differences of residuals
	shift  int // fraction bits of the coefficients
	factor int // see readResiduals
	order  int
	coef   [32]int32 // of the sample before, the one before that…
}

// onlyDifferences is the order that stands for a plain difference to the sample before.
const onlyDifferences = 31

func (p *predictor) read(r *bits.Reader) {
	p.mode, p.shift = r.Take(4), r.Take(4)
	p.factor, p.order = r.Take(3), r.Take(5)
	for i := range p.order {
		p.coef[i] = int32(int16(r.Take(16)))
	}
}

// run makes samples of residuals. Sums wrap around at bits, as the encoder's do.
func (p *predictor) run(out, residual []int32, bits int) {
	if len(out) == 0 {
		return
	}
	if p.order == onlyDifferences {
		copy(out, residual)
		differences(out, bits)
		return
	}
	pad := 32 - bits
	out[0] = residual[0]
	if p.order == 0 {
		copy(out, residual)
		return
	}
	for i := 1; i <= p.order && i < len(out); i++ {
		out[i] = (out[i-1] + residual[i]) << pad >> pad
	}
	half := int32(0)
	if p.shift > 0 {
		half = 1 << (p.shift - 1)
	}
	coef := p.coef[:p.order]
	for i := p.order + 1; i < len(out); i++ {
		// The samples before, oldest first, all against the one before them.
		base := out[i-p.order-1]
		before := out[i-p.order : i]
		sum := half
		for k, c := range coef {
			sum += c * (before[len(before)-1-k] - base)
		}
		left := residual[i]
		out[i] = (left + base + sum>>p.shift) << pad >> pad
		if left != 0 {
			p.adapt(coef, before, base, left)
		}
	}
}

// adapt moves the coefficients by one each so that the error gets smaller, the oldest
// sample's first, until the error would be used up.
func (p *predictor) adapt(coef, before []int32, base, left int32) {
	sign := int32(1)
	if left < 0 {
		sign = -1
	}
	for k := len(coef) - 1; k >= 0; k-- {
		d := base - before[len(before)-1-k]
		s := sign
		switch {
		case d == 0:
			continue
		case d < 0:
			s = -sign
		}
		coef[k] -= s
		left -= int32(len(coef)-k) * (s * d >> p.shift)
		if sign > 0 && left <= 0 || sign < 0 && left >= 0 {
			return
		}
	}
}

// differences replaces x by its running sum.
func differences(x []int32, bits int) {
	pad := 32 - bits
	for i := 1; i < len(x); i++ {
		x[i] = (x[i-1] + x[i]) << pad >> pad
	}
}
