package aac

import (
	"math"

	"hark/audioprep/internal/bits"
)

// readLines decodes the quantised lines (table 4.56). Of a group of short windows
// all lines of a band stand together; quant keeps them window by window.
func (c *channel) readLines(r *bits.Reader) error {
	clear(c.quant[:])
	first := 0 // window of the group
	for g := range c.info.groups {
		for b := range c.info.maxBand {
			book := c.book[g][b]
			if book == bookZero || book > bookEscape {
				continue
			}
			from, to := c.info.bands[b], c.info.bands[b+1]
			for w := first; w < first+c.info.length[g]; w++ {
				lines := c.quant[w*shortLines+from : w*shortLines+to]
				var ok bool
				if book < bookFirstPair {
					ok = readQuads(r, lines, int(book))
				} else {
					ok = readPairs(r, lines, int(book))
				}
				if !ok || r.Past() {
					return ErrPacket
				}
			}
		}
		first += c.info.length[g]
	}
	return nil
}

// readQuads decodes lines four by four; every band has a multiple of four.
func readQuads(r *bits.Reader, lines []int16, book int) bool {
	t, offset := spectrumCodes[book], bookOffset[book]
	for ; len(lines) >= 4; lines = lines[4:] {
		c := t.Read(r)
		v := c.Value
		q := (*[4]int16)(lines)
		q[0], q[1] = int16(v>>12)-offset, int16(v>>8&15)-offset
		q[2], q[3] = int16(v>>4&15)-offset, int16(v&15)-offset
		if offset == 0 && c.Signs > 0 {
			signs := r.Peek(int(c.Signs)) << (32 - c.Signs)
			for i := range q {
				if q[i] != 0 {
					if signs&(1<<31) != 0 {
						q[i] = -q[i]
					}
					signs <<= 1
				}
			}
			r.Skip(int(c.Signs))
		}
	}
	return true
}

// readPairs decodes lines two by two.
func readPairs(r *bits.Reader, lines []int16, book int) bool {
	t, offset := spectrumCodes[book], bookOffset[book]
	for ; len(lines) >= 2; lines = lines[2:] {
		c := t.Read(r)
		x, y := int16(c.Value>>8)-offset, int16(c.Value&255)-offset
		if offset == 0 && c.Signs > 0 {
			signs := r.Peek(int(c.Signs)) << (32 - c.Signs)
			r.Skip(int(c.Signs))
			negX := x != 0 && signs&(1<<31) != 0
			if x != 0 {
				signs <<= 1
			}
			negY := y != 0 && signs&(1<<31) != 0
			if book == bookEscape {
				okX, okY := true, true
				if x == 16 {
					x, okX = readEscape(r)
				}
				if y == 16 {
					y, okY = readEscape(r)
				}
				if !okX || !okY {
					return false
				}
			}
			if negX {
				x = -x
			}
			if negY {
				y = -y
			}
		}
		lines[0], lines[1] = x, y
	}
	return true
}

// readEscape reads a value of 16 to maxQuant: n ones and a zero, then n+4 bits below
// a leading one (section 4.6.3.3).
func readEscape(r *bits.Reader) (int16, bool) {
	n := 4
	for r.Flag() {
		n++
		if n > 12 {
			return 0, false
		}
	}
	return int16(1<<n + r.Take(n)), true
}

// maxQuant is the largest value that can be written.
const maxQuant = 8191

var (
	// powers holds v to the power of 4/3 (section 4.6.1.3).
	powers = func() (t [maxQuant + 1]float32) {
		for i := range t {
			t[i] = float32(math.Cbrt(float64(i)) * float64(i))
		}
		return t
	}()
	// gains holds 2^((sf-100)/4) for scale factors sf (section 4.6.2.3.3).
	gains = func() (t [256]float32) {
		for i := range t {
			t[i] = float32(math.Exp2(float64(i-100) / 4))
		}
		return t
	}()
)

// dequantise turns quantised lines into lines.
func (c *channel) dequantise() {
	for _, p := range c.pulses {
		q := &c.quant[p.line]
		if *q > 0 {
			*q = int16(min(int(*q)+p.amount, maxQuant))
		} else {
			*q = int16(max(int(*q)-p.amount, -maxQuant))
		}
	}
	clear(c.coef[:])
	first := 0
	for g := range c.info.groups {
		for b := range c.info.maxBand {
			if book := c.book[g][b]; book == bookZero || book > bookEscape {
				continue
			}
			gain := gains[c.scale[g][b]]
			for w := first; w < first+c.info.length[g]; w++ {
				from, to := w*shortLines+c.info.bands[b], w*shortLines+c.info.bands[b+1]
				quant, coef := c.quant[from:to], c.coef[from:to]
				for i, q := range quant {
					if q >= 0 {
						coef[i] = powers[q&(maxQuant)] * gain
					} else {
						coef[i] = -powers[-q&maxQuant] * gain
					}
				}
			}
		}
		first += c.info.length[g]
	}
}
