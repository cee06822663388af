package cuda

import (
	"fmt"

	"hark/engine"
)

// conv is a convolution over time as a product: an output row is that of its receptive field, kernel rows of x one
// after another, with the weights in the same order.
type conv struct {
	*weight
	in, kernel, stride int
}

func (c conv) OutChannels() int { return c.n }

// The tiles of kernels/cuda/conv.cu.
var (
	convTile    = tile{"conv_128x64", 128, 64, 32, 4, 128}
	anyConvTile = tile{"conv_any", 64, 64, 64, 3, 128}
)

// NewConv brings a convolution to the GPU, [out][in][kernel] as [out][kernel][in].
func (d *Device) NewConv(w, bias []float32, out, in, kernel, stride int) (engine.Conv, error) {
	if out < 1 || in < 1 || kernel < 1 || stride < 1 || len(w) != out*in*kernel || bias != nil && len(bias) != out {
		return nil, fmt.Errorf("cuda: convolution of %d x %d x %d at stride %d: %d weights and %d biases",
			out, in, kernel, stride, len(w), len(bias))
	}
	r := engine.Transposed(w, out, in, kernel)
	d.mu.Lock()
	defer d.mu.Unlock()
	packed, err := d.newWeight(r, bias, out, kernel*in)
	if err != nil {
		return nil, err
	}
	return conv{packed, in, kernel, stride}, nil
}

// Conv is dst = act(conv(x)) for a batch of items.
func (d *Device) Conv(dst, x engine.Tensor, lens []int, c engine.Conv, act engine.Activation) {
	w := c.(conv)
	out := make([]int, len(lens))
	for i, l := range lens {
		out[i] = ceilDiv(l, w.stride)
	}
	rows := total(out)
	need("Conv", "x", x, total(lens), w.in)
	need("Conv", "dst", dst, rows, w.n)
	if rows == 0 {
		return
	}
	t := &anyConvTile
	if whole(x) {
		t = &convTile
	}
	from, to, vx, vdst := starts(lens), starts(out), view(x), view(dst)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.enter()
	places := d.stage(append(from, to...))
	args := append(vx[:], i32(w.in), i32(w.kernel), i32(w.stride), places, places+arg(4*len(from)), i32(len(lens)),
		at(w.data.address()), i32(w.ld), i32(rows), i32(w.n), at(w.bias), activation(act))
	d.launch(t.name+d.working().suffix(), t.grid(rows, w.n), along(t.threads), t.shared(), append(args, vdst[:]...)...)
}
