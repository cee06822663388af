package cpu

import (
	"fmt"

	"hark/engine"
	"hark/kernels"
)

// cache holds keys and values of a decoder's self-attention, [layer][slot][length][width] each.
type cache struct {
	keys, values                 []float32
	layers, slots, length, width int
}

func (c *cache) Slots() int { return c.slots }

// at is where a position of a slot begins.
func (c *cache) at(layer, slot, position int) int {
	return ((layer*c.slots+slot)*c.length + position) * c.width
}

// NewCache makes a self-attention cache.
func (d *Device) NewCache(layers, slots, length, width int) (engine.Cache, error) {
	if layers < 1 || slots < 1 || length < 1 || width < 1 {
		return nil, fmt.Errorf("cpu: cache of %d layers, %d slots, %d positions, %d wide", layers, slots, length, width)
	}
	n := layers * slots * length * width
	return &cache{alignedFloats(n), alignedFloats(n), layers, slots, length, width}, nil
}

// cachedTask attends from single rows. A unit is one head of one row; a block is a run of units.
type cachedTask struct {
	dst, qkv  []float32
	ldd, ldx  int
	c         *cache
	layer     int
	rows      []engine.CacheRow
	heads     int
	scale     float32
	unitsEach int
	scratch   scratch
}

// CachedAttention is causal self-attention through a cache.
func (d *Device) CachedAttention(dst, qkv engine.Tensor, c engine.Cache, layer, heads int, rows []engine.CacheRow) {
	cc := c.(*cache)
	need("CachedAttention", "dst", dst, len(rows), headed("CachedAttention", cc.width, heads))
	need("CachedAttention", "qkv", qkv, len(rows), 3*cc.width)
	if layer < 0 || layer >= cc.layers {
		panic(fmt.Sprintf("cpu: CachedAttention: layer %d of %d", layer, cc.layers))
	}
	t := d.cacheds.get()
	t.dst, t.ldd, t.qkv, t.ldx = floats(dst), dst.Stride, floats(qkv), qkv.Stride
	t.c, t.layer, t.rows, t.heads, t.scale = cc, layer, append(t.rows[:0], rows...), heads, headScale(cc.width, heads)
	work := 0
	for i, r := range rows {
		if r.Slot < 0 || int(r.Slot) >= cc.slots || r.Position < 0 || int(r.Position) >= cc.length {
			panic(fmt.Sprintf("cpu: CachedAttention: position %d of slot %d, in %d slots of %d", r.Position,
				r.Slot, cc.slots, cc.length))
		}
		at := cc.at(layer, int(r.Slot), int(r.Position))
		kv := t.qkv[i*t.ldx+cc.width:]
		copy(cc.keys[at:][:cc.width], kv)
		copy(cc.values[at:][:cc.width], kv[cc.width:])
		work += 2 * cc.width * (int(r.Position) + 1)
	}
	units := len(rows) * heads
	blocks := max(1, min(units, d.pool.threads*blocksPerThread, work/minBlockWork))
	t.unitsEach = ceilDiv(units, blocks)
	t.scratch.reserve(d.pool.threads)
	if units > 0 {
		d.pool.run(ceilDiv(units, t.unitsEach), t)
	}
	t.dst, t.qkv, t.c = nil, nil, nil
	d.cacheds.put(t)
}

func (t *cachedTask) block(worker, i int) {
	dh := t.c.width / t.heads
	s := t.scratch.get(worker, t.c.length)
	for u := i * t.unitsEach; u < min((i+1)*t.unitsEach, len(t.rows)*t.heads); u++ {
		row, off := u/t.heads, u%t.heads*dh
		r := t.rows[row]
		at := t.c.at(t.layer, int(r.Slot), 0) + off
		kernels.AttentionRow(t.dst[row*t.ldd+off:][:dh], t.qkv[row*t.ldx+off:][:dh],
			t.c.keys[at:], t.c.width, t.c.values[at:], t.c.width, int(r.Position)+1, dh, t.scale, s, nil)
	}
}
