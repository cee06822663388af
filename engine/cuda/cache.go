package cuda

import (
	"fmt"

	"hark/engine"
	"hark/engine/cuda/driver"
)

// cache holds keys and values of a decoder's self-attention, [layer][keys, values][slot][length][width], in the storage's format.
type cache struct {
	data                         *buffer
	layers, slots, length, width int
}

func (c *cache) Slots() int { return c.slots }

// parts are where a layer's keys and values begin.
func (c *cache) parts(layer int) (keys, values driver.DevicePtr) {
	bytes := c.slots * c.length * c.width * c.data.format.bytes()
	keys = c.data.address() + driver.DevicePtr(2*layer*bytes)
	return keys, keys + driver.DevicePtr(bytes)
}

// NewCache makes a self-attention cache.
func (d *Device) NewCache(layers, slots, length, width int) (engine.Cache, error) {
	if layers < 1 || slots < 1 || length < 1 || width < 1 {
		return nil, fmt.Errorf("cuda: cache of %d layers, %d slots, %d positions, %d wide", layers, slots, length, width)
	}
	b, err := d.Alloc(2 * layers * slots * length * width)
	if err != nil {
		return nil, err
	}
	return &cache{b.(*buffer), layers, slots, length, width}, nil
}

// cachedWidths are those of kernels/cuda/cachedattention.cu.
var cachedWidths = []headWidth{{columns: 64}, {columns: 128}}

// CachedAttention is causal self-attention through a cache. Heads may have up to 128 columns.
func (d *Device) CachedAttention(dst, qkv engine.Tensor, c engine.Cache, layer, heads int, rows []engine.CacheRow) {
	cc := c.(*cache)
	dh := headed("CachedAttention", cc.width, heads)
	need("CachedAttention", "dst", dst, len(rows), cc.width)
	need("CachedAttention", "qkv", qkv, len(rows), 3*cc.width)
	if layer < 0 || layer >= cc.layers {
		panic(fmt.Sprintf("cuda: CachedAttention: layer %d of %d", layer, cc.layers))
	}
	if len(rows) == 0 {
		return
	}
	places, again := cc.places(rows)
	keys, values := cc.parts(layer)
	from, to := view(qkv), view(dst)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.enter()
	staged, suffix := d.stage(places), d.working().suffix()
	if again {
		d.launch("cachestore"+suffix, along(len(rows)), along(attentionThreads), 0,
			append(from[:], at(keys), at(values), i32(cc.length), i32(cc.width), staged)...)
	}
	args := append(from[:], at(keys), at(values), i32(cc.length), i32(cc.width), i32(heads), staged, flt(scoreScale(dh)))
	w := widthFor("CachedAttention", cachedWidths, dh)
	d.launch(fmt.Sprint("cachedattention", w.columns, suffix), dim3{X: heads, Y: len(rows), Z: 1}, along(attentionThreads), 0,
		append(args, to[:]...)...)
}

// places are the slots and positions of rows, and whether a slot comes more than once. It panics where there is no such place.
func (c *cache) places(rows []engine.CacheRow) (places []int32, again bool) {
	seen := make([]bool, c.slots)
	for _, r := range rows {
		if r.Slot < 0 || int(r.Slot) >= c.slots || r.Position < 0 || int(r.Position) >= c.length {
			panic(fmt.Sprintf("cuda: CachedAttention: position %d of slot %d, in %d slots of %d", r.Position, r.Slot, c.slots, c.length))
		}
		places = append(places, r.Slot, r.Position)
		again = again || seen[r.Slot]
		seen[r.Slot] = true
	}
	return places, again
}
