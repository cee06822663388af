//go:build linux && amd64 && !nocuda

package cuda

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"hark/engine"
	"hark/engine/cpu"
)

// pair is a tensor here and the same on the CPU, which computes what should come out. Both have the same
// numbers: those that the storage's format holds.
type pair struct{ gpu, cpu engine.Tensor }

// bench is a device beside the CPU's.
type bench struct {
	*testing.T
	gpu *Device
	cpu *cpu.Device
	r   *rand.Rand
}

// onBoth runs a test with each storage format.
func onBoth(t *testing.T, test func(b *bench)) {
	for _, s := range []Storage{F16, BF16} {
		t.Run(s.String(), func(t *testing.T) { test(newBench(t, s)) })
	}
}

func newBench(t *testing.T, s Storage) *bench {
	t.Helper()
	c, err := cpu.New(cpu.Config{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return &bench{t, newDevice(t, Config{Storage: s}), c, rand.New(rand.NewPCG(1, 2))}
}

// rounded is values as the storage's format has them.
func (b *bench) rounded(values []float32) []float32 {
	f := b.gpu.working()
	raw, out := make([]byte, len(values)*f.bytes()), make([]float32, len(values))
	f.encode(raw, values)
	f.decode(out, raw)
	return out
}

// random is numbers around zero that the storage's format holds.
func (b *bench) random(n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(b.r.NormFloat64())
	}
	return b.rounded(v)
}

// layout is how a tensor lies in its buffer.
type layout struct {
	off, gap int // elements before it, and between rows
	single   bool
}

// layouts are those that kernels treat each in their own way: aligned, not at all, and float32.
var layouts = []layout{{8, 0, false}, {5, 3, false}, {4, 4, true}, {3, 1, true}}

// moat is what surrounds the tensors of tests, to show writes outside of them.
const moat = -77

// put makes a tensor of rows x cols on both devices.
func (b *bench) put(values []float32, rows, cols int, l layout) pair {
	b.Helper()
	if l.gap == 0 && cols%8 != 0 {
		l.gap = 8 - cols%8
	}
	place := func(d engine.Device) engine.Tensor {
		alloc := d.Alloc
		if l.single {
			alloc = d.AllocSingle
		}
		n := l.off + rows*(cols+l.gap)
		buf := must(alloc(n))
		d.Upload(engine.NewTensor(buf, 1, n), slices.Repeat([]float32{moat}, n))
		x := engine.Tensor{Buf: buf, Off: l.off, Rows: rows, Cols: cols, Stride: cols + l.gap}
		d.Upload(x, values)
		return x
	}
	return pair{place(b.gpu), place(b.cpu)}
}

// blank is a tensor to be written.
func (b *bench) blank(rows, cols int, l layout) pair {
	return b.put(make([]float32, rows*cols), rows, cols, l)
}

// get downloads a tensor and sees that its surroundings were left alone.
func (b *bench) get(x engine.Tensor) []float32 {
	b.Helper()
	n := x.Buf.Len()
	all := make([]float32, n)
	if err := b.gpu.Download(all, engine.NewTensor(x.Buf, 1, n)); err != nil {
		b.Fatal(err)
	}
	var out []float32
	for i, v := range all {
		if j := i - x.Off; j >= 0 && j%x.Stride < x.Cols && j/x.Stride < x.Rows {
			out = append(out, v)
		} else if v != moat {
			b.Fatalf("element %d, outside the tensor, was overwritten", i)
		}
	}
	return out
}

// same holds what came out to what the CPU has. An error of one unit in the last place of the storage's format
// stems from rounding the result; sums, in float32 on both sides, add little to it: their own errors are
// relative to the terms, which scale says.
func (b *bench) same(what string, p pair, scale float64) {
	b.Helper()
	want := make([]float32, p.cpu.Rows*p.cpu.Cols)
	if err := b.cpu.Download(want, p.cpu); err != nil {
		b.Fatal(err)
	}
	unit := map[format]float64{f16: 0x1p-11, bf16: 0x1p-8, f32: 0x1p-20}[formatOf(p.gpu)]
	for i, g := range b.get(p.gpu) {
		g, w := float64(g), float64(want[i])
		if !(math.Abs(g-w) <= 1.5*unit*math.Abs(w)+scale*0x1p-20) && !(math.IsNaN(g) && math.IsNaN(w)) && g != w {
			b.Fatalf("%s: row %d, column %d: got %v, want %v", what, i/p.cpu.Cols, i%p.cpu.Cols, g, w)
		}
	}
}

// do runs an operation on both devices.
func (b *bench) do(op func(d engine.Device, on func(p pair) engine.Tensor)) {
	op(b.gpu, func(p pair) engine.Tensor { return p.gpu })
	op(b.cpu, func(p pair) engine.Tensor { return p.cpu })
}

// panics reports whether f panics.
func panics(f func()) (did bool) {
	defer func() { did = recover() != nil }()
	f()
	return false
}
