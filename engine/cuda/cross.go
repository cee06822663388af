package cuda

import (
	"fmt"

	"hark/engine"
	"hark/engine/cuda/driver"
)

// What kernels/cuda/cross.h has of the layout of a cross-attention cache.
const (
	crossPart    = 256 // positions of a block
	crossTile    = 64  // positions of a warp; lengths are filled up to a multiple
	crossGroup   = 16  // rows of one slot that are done together
	crossColumns = 32  // columns that a block of StoreCross lays out
	storeThreads = 256
)

// cross holds an encoder's output as each layer's keys and values, for every slot
// [head][length][columns] and [head][columns][length].
type cross struct {
	layers, slots, length, width, heads int
	columns                             int // of a head, filled up
	keys, values                        *buffer
	scales                              *buffer // of bytes, [layer][slot][keys, values][head][columns]; nil: in the storage's format
	numberBytes                         int
	lens                                []int // [layer][slot]
}

func (c *cross) Slots() int { return c.slots }

// at is the place of a slot of a layer among all.
func (c *cross) at(layer, slot int) int {
	if layer < 0 || layer >= c.layers || slot < 0 || slot >= c.slots {
		panic(fmt.Sprintf("cuda: layer %d and slot %d of %d and %d", layer, slot, c.layers, c.slots))
	}
	return layer*c.slots + slot
}

// room is how many positions a slot has room for.
func (c *cross) room() int { return ceilDiv(c.length, crossTile) * crossTile }

// addresses are where the keys, values and scales of a slot of a layer begin. No scales are address 0.
func (c *cross) addresses(layer, slot int) (keys, values, scales driver.DevicePtr) {
	i := driver.DevicePtr(c.at(layer, slot))
	numbers := i * driver.DevicePtr(c.heads*c.room()*c.columns*c.numberBytes)
	if c.scales != nil {
		scales = c.scales.address() + i*driver.DevicePtr(2*c.heads*c.columns*f32.bytes())
	}
	return c.keys.address() + numbers, c.values.address() + numbers, scales
}

// kind is the part of kernels' names that says how numbers are kept.
func (c *cross) kind() string {
	if c.scales != nil {
		return "_byte"
	}
	return "_half"
}

// NewCross makes a cross-attention cache, in bytes if the configuration says so. Heads
// may have up to 128 columns, 64 in bytes.
func (d *Device) NewCross(layers, slots, length, width, heads int) (engine.Cross, error) {
	if layers < 1 || slots < 1 || length < 1 || heads < 1 || width < 1 || width%heads != 0 {
		return nil, fmt.Errorf("cuda: cross-attention cache of %d layers, %d slots, %d positions, %d wide in %d heads",
			layers, slots, length, width, heads)
	}
	c := &cross{layers: layers, slots: slots, length: length, width: width, heads: heads, columns: 64,
		numberBytes: d.working().bytes(),
		lens:        make([]int, layers*slots)}
	if width/heads > 64 {
		c.columns = 128
	}
	if width/heads > c.columns || d.config.CrossBytes && c.columns > 64 {
		return nil, fmt.Errorf("cuda: cross-attention cache: heads of %d columns are too wide", width/heads)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	var err error
	if d.config.CrossBytes {
		c.numberBytes = 1
		if c.scales, err = d.alloc(2*layers*slots*heads*c.columns, f32); err != nil {
			return nil, err
		}
	}
	words := ceilDiv(layers*slots*heads*c.room()*c.columns*c.numberBytes, f32.bytes())
	for _, b := range []**buffer{&c.keys, &c.values} {
		if *b, err = d.alloc(words, f32); err != nil {
			d.freeCross(c)
			return nil, err
		}
	}
	return c, nil
}

// freeCross gives back what there is of a cache. The lock is held.
func (d *Device) freeCross(c *cross) {
	for _, b := range []*buffer{c.scales, c.keys, c.values} {
		if b != nil {
			d.free(b)
		}
	}
}

// StoreCross keeps kv as a slot's cross-attention input of one layer.
func (d *Device) StoreCross(c engine.Cross, layer, slot int, kv engine.Tensor) {
	cc := c.(*cross)
	need("StoreCross", "kv", kv, kv.Rows, 2*cc.width)
	if kv.Rows > cc.length {
		panic(fmt.Sprintf("cuda: StoreCross: %d positions in a cache of %d", kv.Rows, cc.length))
	}
	i := cc.at(layer, slot)
	from := view(kv)
	d.mu.Lock()
	defer d.mu.Unlock()
	cc.lens[i] = kv.Rows
	if kv.Rows == 0 {
		return
	}
	d.enter()
	keys, values, scales := cc.addresses(layer, slot)
	suffix, across := d.working().suffix(), cc.columns/crossColumns
	args := append(from[:], i32(kv.Rows), i32(cc.width), i32(cc.heads), i32(cc.columns))
	if cc.scales != nil {
		d.launch("crossscale"+suffix, dim3{X: across, Y: cc.heads, Z: 2}, along(storeThreads), 0,
			append(args, at(scales))...)
	}
	d.launch("storecross"+cc.kind()+suffix, dim3{X: ceilDiv(kv.Rows, crossTile), Y: cc.heads, Z: across},
		along(storeThreads), 0,
		append(args, i32(cc.room()), at(scales), at(keys), at(values))...)
}
