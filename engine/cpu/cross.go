package cpu

import (
	"fmt"

	"hark/engine"
)

// cross holds an encoder's output as each layer's keys and values, packed by head. Memory is
// taken when a slot is first stored to, and kept.
type cross struct {
	kv                                  []headKV // [layer][slot][head]
	layers, slots, length, width, heads int
}

func (c *cross) Slots() int { return c.slots }

// at is the heads of a slot.
func (c *cross) at(layer, slot int) []headKV {
	if layer < 0 || layer >= c.layers || slot < 0 || slot >= c.slots {
		panic(fmt.Sprintf("cpu: layer %d and slot %d of %d and %d", layer, slot, c.layers, c.slots))
	}
	return c.kv[(layer*c.slots+slot)*c.heads:][:c.heads]
}

// NewCross makes a cross-attention cache.
func (d *Device) NewCross(layers, slots, length, width, heads int) (engine.Cross, error) {
	if layers < 1 || slots < 1 || length < 1 || heads < 1 || width < 1 || width%heads != 0 {
		return nil, fmt.Errorf("cpu: cross-attention cache of %d layers, %d slots, %d positions, %d wide in %d heads",
			layers, slots, length, width, heads)
	}
	c := &cross{make([]headKV, layers*slots*heads), layers, slots, length, width, heads}
	for i := range c.kv {
		c.kv[i].bytes = d.inBytes()
	}
	return c, nil
}

// crossBlock is a run of rows of one slot.
type crossBlock struct{ row, rows, slot int }

// crossTask packs a slot, if packed is set, or attends. A block is one head of all of it.
type crossTask struct {
	c     *cross
	layer int

	packed []headKV  // where kv goes, or nil
	kv     []float32 // [t][2*width]
	ldkv   int
	t      int

	dst, q, probs []float32
	ldd, ldq, ldp int
	m             int
	blocks        []crossBlock
	probRows      []int // for every head, where its rows of probs begin, or -1
	scale         float32
	scratch       scratch
	works         works
}

// StoreCross keeps kv as a slot's cross-attention input of one layer.
func (d *Device) StoreCross(c engine.Cross, layer, slot int, kv engine.Tensor) {
	cc := c.(*cross)
	need("StoreCross", "kv", kv, kv.Rows, 2*cc.width)
	if kv.Rows > cc.length {
		panic(fmt.Sprintf("cpu: StoreCross: %d positions in a cache of %d", kv.Rows, cc.length))
	}
	packed := cc.at(layer, slot)
	if kv.Rows == 0 {
		for h := range packed {
			packed[h].Pack(nil, 0, nil, 0, 0, cc.width/cc.heads)
		}
		return
	}
	t := d.crosses.get()
	t.c, t.packed, t.kv, t.ldkv, t.t = cc, packed, floats(kv), kv.Stride, kv.Rows
	d.pool.run(cc.heads, t)
	t.release(d)
}

// CrossAttention lets each row attend to everything stored in its slot. Rows of one slot
// that lie side by side, as a beam's do, are done together, so that keys and values are read once for them.
func (d *Device) CrossAttention(dst, q engine.Tensor, c engine.Cross, layer int, slots []int32,
	probs engine.Tensor, heads []int) {
	cc := c.(*cross)
	m := len(slots)
	need("CrossAttention", "q", q, m, cc.width)
	need("CrossAttention", "dst", dst, m, cc.width)
	t := d.crosses.get()
	t.c, t.layer, t.m, t.scale = cc, layer, m, headScale(cc.width, cc.heads)
	t.dst, t.ldd, t.q, t.ldq = floats(dst), dst.Stride, floats(q), q.Stride
	t.cut(slots)
	t.capture(probs, heads)
	t.scratch.reserve(d.pool.threads)
	t.works.reserve(d.pool.threads)
	d.pool.run(len(t.blocks)*cc.heads, t)
	t.release(d)
}

func (t *crossTask) release(d *Device) {
	t.c, t.kv, t.packed, t.dst, t.q, t.probs = nil, nil, nil, nil, nil, nil
	d.crosses.put(t)
}

// cut makes the blocks: runs of one slot, the long ones of a prompt in several pieces.
func (t *crossTask) cut(slots []int32) {
	t.blocks = t.blocks[:0]
	for i := 0; i < len(slots); {
		n := 1
		for i+n < len(slots) && n < queryRows && slots[i+n] == slots[i] {
			n++
		}
		t.blocks = append(t.blocks, crossBlock{i, n, int(slots[i])})
		i += n
	}
}

// capture notes where the distributions of which heads go.
func (t *crossTask) capture(probs engine.Tensor, heads []int) {
	t.probRows = t.probRows[:0]
	for range t.c.heads {
		t.probRows = append(t.probRows, -1)
	}
	if probs.IsZero() || t.m == 0 {
		return
	}
	need("CrossAttention", "probs", probs, len(heads)*t.m, probs.Cols)
	for _, b := range t.blocks {
		if n := t.c.at(t.layer, b.slot)[0].Len(); n != probs.Cols {
			panic(fmt.Sprintf("cpu: CrossAttention: probs of %d columns for a slot of %d positions", probs.Cols, n))
		}
	}
	t.probs, t.ldp = floats(probs), probs.Stride
	for j, h := range heads {
		if t.probRows[h] >= 0 {
			panic(fmt.Sprintf("cpu: CrossAttention: head %d is asked for twice", h))
		}
		t.probRows[h] = j * t.m
	}
}

func (t *crossTask) block(worker, i int) {
	dh := t.c.width / t.c.heads
	if t.packed != nil {
		t.packed[i].Pack(t.kv[i*dh:], t.ldkv, t.kv[t.c.width+i*dh:], t.ldkv, t.t, dh)
		return
	}
	b, h := t.blocks[i/t.c.heads], i%t.c.heads
	kv := &t.c.at(t.layer, b.slot)[h]
	var probs []float32
	if at := t.probRows[h]; at >= 0 {
		probs = t.probs[(at+b.row)*t.ldp:]
	}
	kv.attend(t.dst[b.row*t.ldd+h*dh:], t.ldd, t.q[b.row*t.ldq+h*dh:], t.ldq, b.rows, t.scale, worker,
		t.scratch, t.works, probs, t.ldp)
}
