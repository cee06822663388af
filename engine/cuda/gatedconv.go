package cuda

import (
	"fmt"

	"hark/engine"
	"hark/engine/cuda/driver"
)

// What a block of kernels/cuda/gatedconv.cu has.
const (
	gatedRows     = 32
	gatedChannels = 64
	gatedThreads  = 256
)

// depthwise is a convolution over time that keeps channels apart, taps [kernel][channels] in float32.
type depthwise struct {
	channels, kernel int
	taps, bias       driver.DevicePtr
}

func (c *depthwise) Channels() int { return c.channels }

// NewDepthwise brings a convolution to the GPU.
func (d *Device) NewDepthwise(w, bias []float32, channels, kernel int) (engine.Depthwise, error) {
	if channels < 1 || kernel < 1 || kernel%2 == 0 || len(w) != channels*kernel ||
		bias != nil && len(bias) != channels {
		return nil, fmt.Errorf("cuda: depthwise convolution of %d channels and kernel %d: %d weights and %d biases",
			channels, kernel, len(w), len(bias))
	}
	if bias == nil {
		bias = make([]float32, channels)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	placed, err := d.placeAll(engine.Transposed(w, 1, channels, kernel), bias)
	if err != nil {
		return nil, err
	}
	return &depthwise{channels, kernel, placed[0], placed[1]}, nil
}

// GatedConv is dst = act(conv(a * sigmoid(b))) for a batch of items.
func (d *Device) GatedConv(dst, x engine.Tensor, lens []int, c engine.Depthwise, act engine.Activation) {
	w, rows := c.(*depthwise), total(lens)
	need("GatedConv", "x", x, rows, 2*w.channels)
	need("GatedConv", "dst", dst, rows, w.channels)
	if rows == 0 {
		return
	}
	from, to := view(x), view(dst)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.enter()
	s := d.stretches(lens, gatedRows)
	shared := (gatedRows + w.kernel - 1) * gatedChannels * f32.bytes()
	args := append(from[:], s.starts, s.cuts, i32(s.items), at(w.taps), at(w.bias), i32(w.channels),
		i32(w.kernel), activation(act))
	d.launch("gatedconv"+d.working().suffix(), dim3{X: s.count, Y: ceilDiv(w.channels, gatedChannels), Z: 1},
		along(gatedThreads), shared,
		append(args, to[:]...)...)
}

// placeAll brings arrays to the GPU in float32, all or none. The lock is held.
func (d *Device) placeAll(arrays ...[]float32) ([]driver.DevicePtr, error) {
	var placed []*buffer
	var addresses []driver.DevicePtr
	for _, a := range arrays {
		b, err := d.place(a, f32)
		if err != nil {
			for _, b := range placed {
				d.free(b)
			}
			return nil, err
		}
		placed, addresses = append(placed, b), append(addresses, b.address())
	}
	return addresses, nil
}
