package whisper

import (
	"fmt"
	"slices"
	"strings"

	"hark/engine"
	"hark/models"
)

// loader reads tensors by either form's names and hands them to the device, on which it also makes room for a graph's
// scratch. The first failure sticks; the graph is built to its end and the error asked for once.
type loader struct {
	dev     engine.Device
	weights *models.Weights
	ct2     bool
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

// name is one tensor's name in both forms.
type name struct{ ct2, hf string }

// tensor reads a tensor of the given shape into memory that the next call of tensor
// reuses. In case of failure it returns zeros of that size, so that the caller can go on.
func (l *loader) tensor(n name, shape ...int) []float32 {
	size := 1
	for _, d := range shape {
		size *= d
	}
	dst := l.reuse(size)
	l.read(dst, n, shape...)
	return dst
}

// reuse returns memory of the given size, which the next call reuses.
func (l *loader) reuse(size int) []float32 {
	if cap(l.scratch) < size {
		l.scratch = make([]float32, size)
	}
	return l.scratch[:size]
}

// vector is a tensor of one dimension in memory of its own.
func (l *loader) vector(n name, size int) []float32 {
	dst := make([]float32, size)
	l.read(dst, n, size)
	return dst
}

func (l *loader) read(dst []float32, n name, shape ...int) {
	if t := l.find(n, shape...); l.err == nil {
		l.err = t.Float32(dst)
	}
}

// find looks a tensor of the given shape up, unless something has failed before.
func (l *loader) find(n name, shape ...int) models.Tensor {
	if l.err != nil {
		return models.Tensor{}
	}
	key := n.hf
	if l.ct2 {
		key = n.ct2
	}
	t, ok := l.weights.Tensor(key)
	if !ok && !l.ct2 { // some exports leave the prefix out
		t, ok = l.weights.Tensor("model." + key)
	}
	switch {
	case !ok:
		l.err = fmt.Errorf("tensor %s is missing", key)
	case !slices.Equal(t.Shape, shape):
		l.err = fmt.Errorf("tensor %s has shape %v, want %v", key, t.Shape, shape)
	default:
		l.bytes += int64(4 * t.Len())
	}
	return t
}

// linear reads a matrix [n][k] with its bias.
func (l *loader) linear(at name, n, k int) engine.Linear {
	return l.matrix(at.field("weight", "weight"), l.vector(at.field("bias", "bias"), n), n, k)
}

// matrix reads a matrix [n][k], whose bias may be nil. Halves go to the device as they are, if it takes them.
func (l *loader) matrix(at name, bias []float32, n, k int) engine.Linear {
	t := l.find(at, n, k)
	if l.err != nil {
		return nil
	}
	var linear engine.Linear
	if half, ok := engine.DeviceAs[engine.HalfDevice](l.weigher()); ok && t.DType == models.F16 {
		linear, l.err = half.NewLinearHalf(t.Data, bias, n, k)
		return l.made(linear)
	}
	w := l.reuse(n * k)
	if l.err = t.Float32(w); l.err != nil {
		return nil
	}
	return l.newLinear(w, bias, n, k)
}

// stacked reads matrices [d][d] that CTranslate2 keeps one above the other as one, [len(hf)*d][d].
// Hugging Face keeps them apart, and keys have no bias there.
func (l *loader) stacked(ct2 string, d int, hf ...string) engine.Linear {
	n := len(hf) * d
	if l.ct2 {
		return l.linear(name{ct2: ct2}, n, d)
	}
	w, bias := l.reuse(n*d), make([]float32, n)
	for i, part := range hf {
		at := name{hf: part}
		l.read(w[i*d*d:(i+1)*d*d], at.field("", "weight"), d, d)
		if !strings.HasSuffix(part, ".k_proj") {
			l.read(bias[i*d:(i+1)*d], at.field("", "bias"), d)
		}
	}
	return l.newLinear(w, bias, n, d)
}

func (l *loader) newLinear(w, bias []float32, n, k int) engine.Linear {
	if l.err != nil {
		return nil
	}
	linear, err := l.weigher().NewLinear(w, bias, n, k)
	l.err = err
	return l.made(linear)
}

// made tells the device what a new linear layer is for.
func (l *loader) made(linear engine.Linear) engine.Linear {
	if d, ok := engine.DeviceAs[engine.ManyRowsDevice](l.dev); ok && l.many && l.err == nil {
		d.ManyRows(linear)
	}
	return linear
}

func (l *loader) norm(at name, d int) engine.Norm {
	gamma, beta := l.vector(at.field("gamma", "weight"), d), l.vector(at.field("beta", "bias"), d)
	if l.err != nil {
		return nil
	}
	norm, err := l.dev.NewNorm(gamma, beta, 1e-5) // torch.nn.LayerNorm's default, which Whisper keeps
	l.err = err
	return norm
}

func (l *loader) conv(at name, out, in, stride int) engine.Conv {
	bias := l.vector(at.field("bias", "bias"), out)
	w := l.tensor(at.field("weight", "weight"), out, in, convKernel)
	if l.err != nil {
		return nil
	}
	conv, err := l.dev.NewConv(w, bias, out, in, convKernel, stride)
	l.err = err
	return conv
}

func (l *loader) table(n name, from, to, d int) engine.Table {
	w := l.tensor(n, to, d)
	if l.err != nil {
		return nil
	}
	table, err := l.dev.NewTable(w[from*d:], to-from, d)
	l.err = err
	return table
}

// scratchTensor allocates a matrix on the device and notes its buffer in owned.
func (l *loader) scratchTensor(owned *[]engine.Buffer, rows, cols int) engine.Tensor {
	return l.allocate(l.dev.Alloc, owned, rows, cols)
}

// allocate is scratchTensor by one of the device's allocators.
func (l *loader) allocate(alloc func(n int) (engine.Buffer, error), owned *[]engine.Buffer,
	rows, cols int) engine.Tensor {
	if l.err != nil {
		return engine.Tensor{}
	}
	b, err := alloc(rows * cols)
	if err != nil {
		l.err = err
		return engine.Tensor{}
	}
	*owned = append(*owned, b)
	return engine.NewTensor(b, rows, cols)
}

// field is a tensor's name below a module's.
func (n name) field(ct2, hf string) name { return name{n.ct2 + "/" + ct2, n.hf + "." + hf} }
