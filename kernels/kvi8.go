package kernels

import "fmt"

// PackedKVI8 is one head's keys and values in bytes, laid out for [AttentionI8]: a step for each key, and for each
// column of the values. The zero value is empty and ready for [PackedKVI8.Pack]. It must not be packed while an
// attention reads it.
type PackedKVI8 struct {
	t, dh int
	k     PackedI8 // [t][dh]
	v     PackedI8 // [dh][t]
}

// Pack copies the keys k, [t][ldk], and the values v, [t][ldv], of which the first dh columns count, in place of what p
// held. Memory is kept and grown only when a larger t or dh comes.
func (p *PackedKVI8) Pack(k []float32, ldk int, v []float32, ldv, t, dh int) {
	if t < 0 || dh < 0 || t > 0 && (len(k) < (t-1)*ldk+dh || len(v) < (t-1)*ldv+dh) || t > 1 && (ldk < dh || ldv < dh) {
		panic(fmt.Sprintf("kernels: PackedKVI8: %d rows of %d: keys %d at stride %d, values %d at stride %d", t, dh, len(k), ldk, len(v), ldv))
	}
	p.t, p.dh = t, dh
	p.k.reset(t, dh, true)
	p.k.packRows(k, ldk)
	p.v.reset(dh, t, true)
	p.v.packColumns(v, ldv)
}

// packColumns packs the transpose of x, [K][ldx] of which the first N columns count.
func (p *PackedI8) packColumns(x []float32, ldx int) {
	s := packScratches.Get().(*packScratch)
	defer packScratches.Put(s)
	for j := 0; j < len(p.scale); j += panelCols {
		from, ld := x[min(j, len(x)):], ldx
		cols := max(0, min(panelCols, p.N-j))
		if cols < panelCols { // the kernels read whole panels
			s.row = resize(s.row, p.K*panelCols)
			clear(s.row)
			for i := range p.K {
				copy(s.row[i*panelCols:][:cols], from[min(i*ldx, len(from)):])
			}
			from, ld = s.row, panelCols
		}
		p.packColumnPanel(s, j, from, ld)
	}
	if sevenBits() {
		p.sumColumns()
	}
}

// packColumnPanel packs the columns from j on, which x begins with.
func (p *PackedI8) packColumnPanel(s *packScratch, j int, x []float32, ldx int) {
	// A step of groups bounds one assembly call.
	const step = 256
	var inv [panelCols]float32
	for i := 0; i < p.K; i += groupK * step {
		columnsMax(&inv, x[i*ldx:], ldx, min(groupK*step, p.K-i))
	}
	if sevenBits() {
		columnQuads(&inv, x, ldx, p.K)
	}
	for i, most := range inv {
		step := checkedStep(most/127, most)
		p.scale[j+i], inv[i] = step.scale, step.inv
	}
	panel, groups := p.panels[j*p.kp:][:panelCols*p.kp], p.K/groupK
	for g := 0; g < groups; g += step {
		packGroups(panel[g*groupK*panelCols:], x[g*groupK*ldx:], ldx, min(step, groups-g), &inv)
	}
	if rest := p.K % groupK; rest > 0 {
		var last [groupK * panelCols]float32
		for i := range rest {
			copy(last[i*panelCols:][:panelCols], x[(groups*groupK+i)*ldx:])
		}
		packGroups(panel[groups*groupK*panelCols:], last[:], panelCols, 1, &inv)
		groups++
	}
	if p.offset == 0 {
		addBytes(panel[:groups*groupK*panelCols], 128) // which packGroups has added already
	}
	clear(panel[groups*groupK*panelCols:])
}

// Bytes returns the memory that p holds, used or not.
func (p *PackedKVI8) Bytes() int { return p.k.Bytes() + p.v.Bytes() }

// Len returns the number of keys packed last.
func (p *PackedKVI8) Len() int { return p.t }
