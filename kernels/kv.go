package kernels

import "fmt"

// PackedKV is one head's keys and values laid out for [Attention]. The zero value is empty and ready for
// [PackedKV.Pack]. It must not be packed while an Attention reads it.
type PackedKV struct {
	t, dh int
	k     []float32 // panels of 16 keys: [t/16][dh][16], t padded to a multiple of 32 by zeros
	v     []float32 // panels of 16 columns: [dh/16][t][16], dh padded likewise
}

// Pack copies the keys k, [t][ldk], and the values v, [t][ldv], of which the first dh columns count, in place of what p
// held. Memory is kept and grown only when a larger t or dh comes.
func (p *PackedKV) Pack(k []float32, ldk int, v []float32, ldv, t, dh int) {
	if t < 0 || dh < 0 || t > 0 && (len(k) < (t-1)*ldk+dh || len(v) < (t-1)*ldv+dh) || t > 1 && (ldk < dh || ldv < dh) {
		panic(fmt.Sprintf("kernels: PackedKV: %d rows of %d: keys %d at stride %d, values %d at stride %d", t, dh, len(k), ldk, len(v), ldv))
	}
	p.t, p.dh = t, dh
	p.k = resize(p.k, roundUp(t, tileCols)*dh)
	p.v = resize(p.v, roundUp(dh, tileCols)*t)
	packColumns(p.k, k, ldk, t, dh)
	clear(p.k[roundUp(t, panelCols)*dh:])
	p.packValues(v, ldv)
}

// packValues copies 16 columns of each row of v to their panel.
func (p *PackedKV) packValues(v []float32, ldv int) {
	for j := 0; j < p.dh; j += panelCols {
		panel := p.v[j*p.t:][:p.t*panelCols]
		for i := range p.t {
			row := (*[panelCols]float32)(panel[i*panelCols:])
			if src := v[i*ldv+j:]; p.dh-j >= panelCols {
				*row = [panelCols]float32(src)
			} else {
				clear(row[copy(row[:], src[:p.dh-j]):])
			}
		}
	}
	clear(p.v[roundUp(p.dh, panelCols)*p.t:])
}

// Bytes returns the memory that p holds, used or not.
func (p *PackedKV) Bytes() int { return 4 * (cap(p.k) + cap(p.v)) }

// Len returns the number of keys packed last.
func (p *PackedKV) Len() int { return p.t }
