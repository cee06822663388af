package cuda

import (
	"fmt"

	"hark/engine"
)

// crossWork is a launch's rows by groups: runs of one slot, of at most crossGroup rows, so that
// keys and values are read once for a beam.
type crossWork struct {
	groups  []int32 // 4 numbers each: first row, rows, slot, positions
	groupOf []int32 // of each row
}

// CrossAttention lets each row attend to everything stored in its slot.
func (d *Device) CrossAttention(dst, q engine.Tensor, c engine.Cross, layer int, slots []int32,
	probs engine.Tensor, heads []int) {
	cc, m := c.(*cross), len(slots)
	need("CrossAttention", "q", q, m, cc.width)
	need("CrossAttention", "dst", dst, m, cc.width)
	if m == 0 {
		return
	}
	from, to := view(q), view(dst)
	d.mu.Lock()
	defer d.mu.Unlock()
	w := cc.group(layer, slots)
	chosen := cc.chosen(w, probs, heads, m)
	d.enter()
	dh, suffix := cc.width/cc.heads, d.working().suffix()
	parts := ceilDiv(cc.room(), crossPart)
	found := at(d.scratch(m * cc.heads * parts * (cc.columns + 2) * f32.bytes()))
	groups, groupOf := d.stage(w.groups), d.stage(w.groupOf)
	keys, values, scales := cc.addresses(layer, 0)
	grid := dim3{X: parts, Y: cc.heads, Z: len(w.groups) / 4}

	args := append(from[:], at(keys), at(values), at(scales), i32(cc.room()), i32(cc.width), i32(cc.heads), groups,
		flt(scoreScale(dh)), found)
	d.launch(fmt.Sprint("crossattention", cc.columns, cc.kind(), suffix), grid, along(attentionThreads), 0, args...)
	args = append([]arg{found, i32(parts), at(scales), i32(cc.width), i32(cc.heads), groups, groupOf}, to[:]...)
	d.launch("crossjoin"+suffix, dim3{X: cc.heads, Y: m, Z: 1}, along(cc.columns), 0, args...)
	if chosen == nil {
		return
	}
	grid.Y = len(chosen)
	vprobs := view(probs)
	args = append(from[:], at(keys), at(scales), i32(cc.room()), i32(cc.width), i32(cc.heads),
		groups, d.stage(chosen), found,
		flt(scoreScale(dh)), i32(m))
	d.launch(fmt.Sprint("crossprobs", cc.columns, cc.kind(), suffix), grid, along(attentionThreads), 0,
		append(args, vprobs[:]...)...)
}

// group puts rows in groups.
func (c *cross) group(layer int, slots []int32) crossWork {
	var w crossWork
	for i := 0; i < len(slots); {
		n := 1
		for i+n < len(slots) && n < crossGroup && slots[i+n] == slots[i] {
			n++
		}
		for range n {
			w.groupOf = append(w.groupOf, int32(len(w.groups)/4))
		}
		w.groups = append(w.groups, int32(i), int32(n), slots[i], int32(c.lens[c.at(layer, int(slots[i]))]))
		i += n
	}
	return w
}

// chosen is the heads whose distributions go to probs, nil for none.
func (c *cross) chosen(w crossWork, probs engine.Tensor, heads []int, m int) []int32 {
	if probs.IsZero() {
		return nil
	}
	need("CrossAttention", "probs", probs, len(heads)*m, probs.Cols)
	for i := 3; i < len(w.groups); i += 4 {
		if n := int(w.groups[i]); n != probs.Cols {
			panic(fmt.Sprintf("cuda: CrossAttention: probs of %d columns for a slot of %d positions", probs.Cols, n))
		}
	}
	seen, chosen := make([]bool, c.heads), []int32(nil)
	for _, h := range heads {
		if seen[h] {
			panic(fmt.Sprintf("cuda: CrossAttention: head %d is asked for twice", h))
		}
		seen[h] = true
		chosen = append(chosen, int32(h))
	}
	return chosen
}
