//go:build linux && amd64 && !nocuda

package cuda

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"hark/engine"
	"hark/engine/cuda/driver"
	"hark/engine/cuda/emu"
)

// benchDevice is a device on a real GPU: speeds of the emulated one say nothing.
func benchDevice(b *testing.B, c Config) *Device {
	b.Helper()
	library, gpu := emu.Driver(b)
	if gpu != nil {
		b.Skip("needs a real GPU: HARK_CUDA_LIBRARY=libcuda.so.1")
	}
	c.Driver = driver.Config{Library: library}
	d, err := New(c)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(d.Close)
	return d
}

// work is what an operation has to do at least: additions and multiplications, and
// bytes of the GPU's memory to read and write.
type work struct{ flops, bytes float64 }

// peaks are what GPUs can do, by a part of their names: dense fp16 products and
// memory, as NVIDIA's data sheets have them.
var peaks = []struct {
	name                 string
	teraflops, gigabytes float64 // a second
}{
	{"H200", 989, 4800}, {"H100", 989, 3350}, {"A100", 312, 2039}, {"L40S", 362, 864}, {"L4", 121, 300}, {"A10", 125, 600}, {"4090", 165, 1008}, {"T4", 65, 320},
}

// least is the time that a GPU needs for some work: that of its products or that of its memory.
// Nothing is known of a GPU that is not listed.
func (w work) least(gpu string) (seconds float64, known bool) {
	for _, p := range peaks {
		if strings.Contains(gpu, p.name) {
			return max(w.flops/(p.teraflops*1e12), w.bytes/(p.gigabytes*1e9)), true
		}
	}
	return 0, false
}

// timed runs f on the GPU so often and reports its own time for one, its rates, and
// how much of it the roofline explains.
func timed(b *testing.B, d *Device, w work, f func()) {
	b.Helper()
	for range 3 { // kernels are translated, graphs are made
		f()
		if err := d.Sync(); err != nil {
			b.Fatal(err)
		}
	}
	took, err := d.Time(func() {
		for range b.N {
			f()
		}
	})
	if err != nil {
		b.Fatal(err)
	}
	seconds := took.Seconds() / float64(b.N)
	b.ReportMetric(seconds*1e6, "gpu-us/op")
	b.ReportMetric(w.flops/seconds/1e9, "GFLOP/s")
	b.ReportMetric(w.bytes/seconds/1e9, "GB/s")
	if least, known := w.least(d.info.Name); known {
		b.ReportMetric(100*least/seconds, "%roofline")
	}
}

// halves is a matrix of the storage's format.
func halves(d *Device, rows, cols int) engine.Tensor {
	return engine.NewTensor(must(d.Alloc(rows*cols)), rows, cols)
}

// BenchmarkGPULinear multiplies as encoders and decoders of large-v3-turbo do, by our own kernel and by cuBLASLt.
func BenchmarkGPULinear(b *testing.B) {
	for _, library := range []string{"off", "auto"} {
		d := benchDevice(b, Config{CuBLAS: library})
		if library == "auto" && d.blas == nil {
			b.Logf("no cuBLASLt: %v", d.noBLAS)
			continue
		}
		for _, s := range []struct{ m, n, k int }{
			{1, 1280, 1280}, {8, 5120, 1280}, {32, 1280, 5120}, {8, 51866, 1280}, {1500, 1280, 1280}, {1500, 5120, 1280}, {6000, 5120, 1280}, {6000, 1280, 5120},
		} {
			b.Run(fmt.Sprintf("cublas=%s/%dx%dx%d", library, s.m, s.n, s.k), func(b *testing.B) {
				l := must(d.NewLinear(make([]float32, s.n*s.k), make([]float32, s.n), s.n, s.k))
				if s.m >= 1500 {
					d.ManyRows(l)
				}
				x, y := halves(d, s.m, s.k), halves(d, s.m, s.n)
				timed(b, d, work{2 * float64(s.m*s.n*s.k), 2 * float64(s.m*s.k+s.n*s.k+s.m*s.n)}, func() {
					d.Linear(y, x, l, engine.NoActivation, engine.Tensor{})
				})
			})
		}
	}
}

// BenchmarkGPUAttention is an encoder layer's attention over some windows: a Whisper's, and a FastConformer's.
func BenchmarkGPUAttention(b *testing.B) {
	d := benchDevice(b, Config{CuBLAS: "off"})
	for _, windows := range []int{1, 4} {
		b.Run(fmt.Sprintf("whisper/%d", windows), func(b *testing.B) {
			const length, heads, width = 1500, 20, 1280
			rows, lens := windows*length, slices.Repeat([]int{length}, windows)
			qkv, out := halves(d, rows, 3*width), halves(d, rows, width)
			timed(b, d, work{4 * float64(rows*length*width), 8 * float64(rows*width)}, func() { d.Attention(out, qkv, lens, heads, 0) })
		})
		b.Run(fmt.Sprintf("conformer/%d", windows), func(b *testing.B) {
			const length, heads, width = 375, 8, 1024
			rows, lens := windows*length, slices.Repeat([]int{length}, windows)
			qkv, out, pos, bias := halves(d, rows, 3*width), halves(d, rows, width), halves(d, 2*length-1, width), halves(d, 2, width)
			timed(b, d, work{6 * float64(rows*length*width), 8 * float64(rows*width)}, func() { d.RelativeAttention(out, qkv, lens, heads, pos, bias) })
		})
	}
}

// BenchmarkGPUNorm is a layer norm over a window, which is memory's work alone.
func BenchmarkGPUNorm(b *testing.B) {
	const rows, width = 6000, 1280
	d := benchDevice(b, Config{CuBLAS: "off"})
	n, x := must(d.NewNorm(make([]float32, width), make([]float32, width), 1e-5)), halves(d, rows, width)
	timed(b, d, work{8 * rows * width, 4 * rows * width}, func() { d.LayerNorm(x, x, n) })
}

// BenchmarkGPUDecode is a decoder's own operations for some windows, 200 tokens into their texts, in a layer of
// large-v3-turbo's size. A step's lengths lie in the staging block, so each f is as a step has it.
func BenchmarkGPUDecode(b *testing.B) {
	const heads, width, positions, length, at, vocabulary = 20, 1280, 1500, 448, 200, 51866
	d := benchDevice(b, Config{CuBLAS: "off"})
	for _, n := range []int{1, 8, 32} {
		rows, windows := make([]engine.CacheRow, n), make([]int32, n)
		for i := range rows {
			rows[i], windows[i] = engine.CacheRow{Slot: int32(i), Position: at}, int32(i)
		}
		qkv, q, out := halves(d, n, 3*width), halves(d, n, width), halves(d, n, width)
		b.Run(fmt.Sprintf("self/%d", n), func(b *testing.B) {
			cache := must(d.NewCache(1, n, length, width))
			timed(b, d, work{4 * float64(n*at*width), 4 * float64(n*at*width)}, func() { d.CachedAttention(out, qkv, cache, 0, heads, rows) })
		})
		b.Run(fmt.Sprintf("cross/%d", n), func(b *testing.B) {
			cross, kv := must(d.NewCross(1, n, positions, width, heads)), halves(d, positions, 2*width)
			for i := range n {
				d.StoreCross(cross, 0, i, kv)
			}
			timed(b, d, work{4 * float64(n*positions*width), 4 * float64(n*positions*width)}, func() {
				d.CrossAttention(out, q, cross, 0, windows, engine.Tensor{}, nil)
			})
		})
		b.Run(fmt.Sprintf("select/%d", n), func(b *testing.B) {
			logits, rules := engine.NewTensor(must(d.AllocSingle(n*vocabulary)), n, vocabulary), make([]engine.Rule, n)
			timed(b, d, work{0, 4 * float64(n*vocabulary)}, func() {
				if _, err := d.Select(logits, rules, 1); err != nil {
					b.Fatal(err)
				}
			})
		})
	}
}

// BenchmarkGPUStep is 48 small kernels, as many as a decoder's step has, and a wait:
// launched one by one, and as a graph.
func BenchmarkGPUStep(b *testing.B) {
	for _, off := range []bool{true, false} {
		b.Run(fmt.Sprintf("graphs=%t", !off), func(b *testing.B) {
			d := benchDevice(b, Config{CuBLAS: "off", NoGraphs: off})
			x := engine.NewTensor(must(d.AllocSingle(1280)), 1, 1280)
			y := engine.NewTensor(must(d.AllocSingle(1280)), 1, 1280)
			got := make([]float32, 1280)
			step := func() {
				for range 24 {
					d.Gather(y, x, []int32{0})
					d.Gather(x, y, []int32{0})
				}
				if err := d.Download(got, x); err != nil {
					b.Fatal(err)
				}
			}
			for range 3 {
				step()
			}
			for b.Loop() {
				step()
			}
		})
	}
}

// BenchmarkGPUCopy copies 64 MB up and down again.
func BenchmarkGPUCopy(b *testing.B) {
	d := benchDevice(b, Config{CuBLAS: "off"})
	const n = 16 << 20
	x := engine.NewTensor(must(d.AllocSingle(n)), 1, n)
	values := make([]float32, n)
	b.SetBytes(8 * n)
	for b.Loop() {
		d.Upload(x, values)
		if err := d.Download(values, x); err != nil {
			b.Fatal(err)
		}
	}
}
