package parakeet

import (
	"fmt"
	"slices"

	"hark/engine"
	"hark/models"
)

// source is where weights come from, by NeMo's names; a [models.ParakeetModel] is one.
type source interface {
	Tensor(name string) (models.Tensor, bool)
	Read(dst []float32, name string, shape ...int) error
}

// loader reads tensors and hands them to the device. The first failure sticks; the graph is built to its
// end and the error asked for once.
type loader struct {
	dev     engine.Device
	weights source
	err     error
	bytes   int64     // of the weights read, in single precision
	many    bool      // linear layers read now get many rows at a time
	scratch []float32 // reused: a device copies what it is given
}

// weigher is the device to make a linear layer with.
func (l *loader) weigher() engine.Device {
	if d, ok := engine.DeviceAs[engine.StepDevice](l.dev); ok && !l.many {
		return d.ForSteps()
	}
	return l.dev
}

// tensor reads a tensor of the given shape into memory of its own. In case of failure it returns nil.
func (l *loader) tensor(name string, shape ...int) []float32 {
	if !l.worth(name, shape) {
		return nil
	}
	dst := make([]float32, product(shape))
	l.read(dst, name, shape...)
	return dst
}

// maxUnseen is how many elements a tensor may have that memory is taken for before it is looked for, so that a damaged
// configuration can't take more by its word. No published model's largest has half as many.
const maxUnseen = 1 << 24

// worth reports whether memory may be taken for a tensor.
func (l *loader) worth(name string, shape []int) bool {
	if l.err == nil && product(shape) > maxUnseen {
		if t, ok := l.weights.Tensor(name); !ok || !slices.Equal(t.Shape, shape) {
			l.err = fmt.Errorf("tensor %s has shape %v, want %v", name, t.Shape, shape)
		}
	}
	return l.err == nil
}

// optional is tensor, but nil if the model is not meant to have it.
func (l *loader) optional(meant bool, name string, shape ...int) []float32 {
	if !meant {
		return nil
	}
	return l.tensor(name, shape...)
}

// read reads a tensor of the given shape to dst.
func (l *loader) read(dst []float32, name string, shape ...int) {
	if l.err == nil {
		l.bytes += int64(4 * len(dst))
		l.err = l.weights.Read(dst, name, shape...)
	}
}

// reuse returns memory of the given size, which the next call reuses.
func (l *loader) reuse(size int) []float32 {
	if cap(l.scratch) < size {
		l.scratch = make([]float32, size)
	}
	return l.scratch[:size]
}

// matrix reads a module's weight into memory that the next call reuses. In case of failure it returns nil.
func (l *loader) matrix(module string, shape []int) []float32 {
	if !l.worth(module+".weight", shape) {
		return nil
	}
	w := l.reuse(product(shape))
	l.read(w, module+".weight", shape...)
	return w
}

// linear reads the matrix [n][k] of a module, with its bias if it has one. tail is what follows n and k in the
// tensor's shape: 1 for a convolution that is a linear layer.
func (l *loader) linear(module string, n, k int, biased bool, tail ...int) engine.Linear {
	shape := append([]int{n, k}, tail...)
	if device, data, ok := l.halves(module, shape); ok {
		bias := l.optional(biased, module+".bias", n)
		if l.err != nil {
			return nil
		}
		l.bytes += int64(4 * n * k)
		return l.made(device.NewLinearHalf(data, bias, n, k))
	}
	return l.newLinear(l.matrix(module, shape), l.optional(biased, module+".bias", n), n, k)
}

// halves is a module's weight as the file holds it, if that's in half precision and the device takes it so.
func (l *loader) halves(module string, shape []int) (engine.HalfDevice, []byte, bool) {
	device, takes := engine.DeviceAs[engine.HalfDevice](l.weigher())
	t, there := l.weights.Tensor(module + ".weight")
	return device, t.Data, takes && there && l.err == nil && t.DType == models.F16 && slices.Equal(t.Shape, shape)
}

// scaled is linear with weights and bias multiplied by scale, so that the layer's output is.
func (l *loader) scaled(module string, n, k int, biased bool, scale float32) engine.Linear {
	w := l.matrix(module, []int{n, k})
	bias := l.optional(biased, module+".bias", n)
	multiply(w, scale)
	multiply(bias, scale)
	return l.newLinear(w, bias, n, k)
}

// stacked reads matrices [n][k] as one, one above the other.
func (l *loader) stacked(modules []string, n, k int, biased bool) engine.Linear {
	if !l.worth(modules[0]+".weight", []int{n, k}) {
		return nil
	}
	w := l.reuse(len(modules) * n * k)
	var bias []float32
	if biased {
		bias = make([]float32, len(modules)*n)
	}
	for i, m := range modules {
		l.read(w[i*n*k:][:n*k], m+".weight", n, k)
		if biased {
			l.read(bias[i*n:][:n], m+".bias", n)
		}
	}
	return l.newLinear(w, bias, len(modules)*n, k)
}

func (l *loader) newLinear(w, bias []float32, n, k int) engine.Linear {
	if l.err != nil {
		return nil
	}
	return l.made(l.weigher().NewLinear(w, bias, n, k))
}

// made tells the device what a new linear layer is for.
func (l *loader) made(linear engine.Linear, err error) engine.Linear {
	l.err = err
	if d, ok := engine.DeviceAs[engine.ManyRowsDevice](l.dev); ok && l.many && err == nil {
		d.ManyRows(linear)
	}
	return linear
}

// norm reads a layer norm.
func (l *loader) norm(module string, width int) engine.Norm {
	gamma, beta := l.tensor(module+".weight", width), l.tensor(module+".bias", width)
	if l.err != nil {
		return nil
	}
	norm, err := l.dev.NewNorm(gamma, beta, 1e-5) // torch.nn.LayerNorm's default, which NeMo keeps
	l.err = err
	return norm
}

func multiply(x []float32, scale float32) {
	for i := range x {
		x[i] *= scale
	}
}

func product(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}
