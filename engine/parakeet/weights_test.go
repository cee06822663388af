package parakeet

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"hark/engine"
	"hark/engine/cpu"
	"hark/models"
)

// tensors is a source of a few tensors.
type tensors map[string]models.Tensor

func (s tensors) Tensor(name string) (models.Tensor, bool) {
	t, ok := s[name]
	return t, ok
}

func (s tensors) Read(dst []float32, name string, _ ...int) error {
	t := s[name]
	return t.Float32(dst)
}

// layer is the source of a module's layer whose weights, each a multiple of 1/64, are in half or in single precision.
func layer(n, k int, halves bool) tensors {
	weight := models.Tensor{Name: "module.weight", Shape: []int{n, k}, DType: models.F32}
	if halves {
		weight.DType = models.F16
	}
	for i := range n * k {
		v := 1 + i*i%64 // sixty-fourths: below 1, and 1
		if halves {
			e := uint16(math.Ilogb(float64(v)))
			weight.Data = binary.LittleEndian.AppendUint16(weight.Data, (15-6+e)<<10|uint16(v-1<<e)<<(10-e))
		} else {
			weight.Data = binary.LittleEndian.AppendUint32(weight.Data, math.Float32bits(float32(v)/64))
		}
	}
	bias := models.Tensor{Name: "module.bias", Shape: []int{n}, DType: models.F32, Data: make([]byte, 4*n)}
	return tensors{weight.Name: weight, bias.Name: bias}
}

// output is what a layer read from a source makes of some rows.
func output(t *testing.T, dev *cpu.Device, s source, n, k int, many bool) []float32 {
	t.Helper()
	l := &loader{dev: dev, weights: s, many: many}
	linear := l.linear("module", n, k, true)
	if l.err != nil {
		t.Fatal(l.err)
	}
	if want := int64(4 * (n*k + n)); l.bytes != want {
		t.Errorf("%d bytes were read, want %d", l.bytes, want)
	}
	const rows = 3
	x, dst := noise(rows*k, 1), make([]float32, rows*n)
	in, out := must(dev.Alloc(len(x))), must(dev.Alloc(len(dst)))
	dev.Upload(engine.NewTensor(in, rows, k), x)
	dev.Linear(engine.NewTensor(out, rows, n), engine.NewTensor(in, rows, k), linear, engine.NoActivation, engine.Tensor{})
	if err := dev.Download(dst, engine.NewTensor(out, rows, n)); err != nil {
		t.Fatal(err)
	}
	return dst
}

// TestLinearOfHalves holds a layer read in half precision to the same numbers in single precision.
func TestLinearOfHalves(t *testing.T) {
	const n, k = 40, 24
	for _, p := range []cpu.Precision{cpu.F32, cpu.BF16, cpu.Int8, cpu.Int8Encoder} {
		dev := newPreciseDevice(t, p)
		for _, many := range []bool{false, true} {
			if !slices.Equal(output(t, dev, layer(n, k, true), n, k, many), output(t, dev, layer(n, k, false), n, k, many)) {
				t.Errorf("%v, many rows: %v: halves give other results", p, many)
			}
		}
	}
}

// TestLinearForSteps has the layers of a decoder's steps as exact as the device wants them.
func TestLinearForSteps(t *testing.T) {
	const n, k = 40, 24
	s := layer(n, k, false)
	dev := newPreciseDevice(t, cpu.Int8Encoder)
	if !slices.Equal(output(t, dev, s, n, k, false), output(t, newTestDevice(t), s, n, k, false)) {
		t.Error("a decoder's layer is not as in float32")
	}
	if !slices.Equal(output(t, dev, s, n, k, true), output(t, newPreciseDevice(t, cpu.Int8), s, n, k, true)) {
		t.Error("an encoder's layer is not as in bytes")
	}
}
