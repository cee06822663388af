package cuda

import (
	"fmt"

	"hark/engine"
	"hark/engine/cuda/driver"
)

// cache holds keys and values of a decoder's self-attention, [layer][keys,
// values][slot][length][width], in the storage's format.
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
		return nil, fmt.Errorf("cuda: cache of %d layers, %d slots, %d positions, %d wide",
			layers, slots, length, width)
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
	cc.check(dst, qkv, layer, len(rows))
	if len(rows) == 0 {
		return
	}
	places, again := cc.places(rows)
	keys, values := cc.parts(layer)
	from := view(qkv)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.enter()
	staged := d.stage(places)
	if again {
		d.launch("cachestore"+d.working().suffix(), along(len(rows)), along(attentionThreads), 0,
			append(from[:], at(keys), at(values), i32(cc.length), i32(cc.width), staged)...)
	}
	d.attendCached(dst, qkv, cc, layer, heads, staged)
}

// check panics unless CachedAttention's arguments fit the cache.
func (c *cache) check(dst, qkv engine.Tensor, layer, rows int) {
	need("CachedAttention", "dst", dst, rows, c.width)
	need("CachedAttention", "qkv", qkv, rows, 3*c.width)
	if layer < 0 || layer >= c.layers {
		panic(fmt.Sprintf("cuda: CachedAttention: layer %d of %d", layer, c.layers))
	}
}

// attendCached queues CachedAttention with places that lie on the GPU, where all keys before a
// row's own are in the cache. The lock is held.
func (d *Device) attendCached(dst, qkv engine.Tensor, c *cache, layer, heads int, places arg) {
	dh := headed("CachedAttention", c.width, heads)
	w := widthFor("CachedAttention", cachedWidths, dh)
	from, to := view(qkv), view(dst)
	keys, values := c.parts(layer)
	args := append(from[:], at(keys), at(values), i32(c.length), i32(c.width), i32(heads), places, flt(scoreScale(dh)))
	d.launch(fmt.Sprint("cachedattention", w.columns, d.working().suffix()), dim3{X: heads, Y: dst.Rows, Z: 1},
		along(attentionThreads), 0,
		append(args, to[:]...)...)
}

// places are the slots and positions of rows, and whether a slot comes more than once.
// It panics where there is no such place.
func (c *cache) places(rows []engine.CacheRow) (places []int32, again bool) {
	seen := make([]bool, c.slots)
	for _, r := range rows {
		c.checkPlace(int(r.Slot), int(r.Position))
		places = append(places, r.Slot, r.Position)
		again = again || seen[r.Slot]
		seen[r.Slot] = true
	}
	return places, again
}

// checkPlace panics where there is no such place.
func (c *cache) checkPlace(slot, position int) {
	if slot < 0 || slot >= c.slots || position < 0 || position >= c.length {
		panic(fmt.Sprintf("cuda: CachedAttention: position %d of slot %d, in %d slots of %d", position,
			slot, c.slots, c.length))
	}
}
