//go:build linux && amd64 && !nocuda

package cuda

import (
	"fmt"
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

// timed runs f on the GPU so often and reports its own time for one, and a rate of work in each.
func timed(b *testing.B, d *Device, work float64, unit string, f func()) {
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
	b.ReportMetric(work/seconds/1e9, unit)
}

// BenchmarkGPULinear multiplies as encoders and decoders of large-v3-turbo do, by our own kernel and by cuBLASLt.
func BenchmarkGPULinear(b *testing.B) {
	for _, library := range []string{"off", "auto"} {
		d := benchDevice(b, Config{CuBLAS: library})
		if library == "auto" && d.blas == nil {
			b.Logf("no cuBLASLt: %v", d.noBLAS)
			continue
		}
		for _, s := range []struct{ m, n, k int }{{1, 1280, 1280}, {8, 5120, 1280}, {32, 1280, 5120}, {1500, 1280, 1280}, {1500, 5120, 1280}, {6000, 5120, 1280}, {6000, 1280, 5120}} {
			b.Run(fmt.Sprintf("cublas=%s/%dx%dx%d", library, s.m, s.n, s.k), func(b *testing.B) {
				w := must(d.NewLinear(make([]float32, s.n*s.k), make([]float32, s.n), s.n, s.k))
				x := engine.NewTensor(must(d.Alloc(s.m*s.k)), s.m, s.k)
				y := engine.NewTensor(must(d.Alloc(s.m*s.n)), s.m, s.n)
				timed(b, d, 2*float64(s.m*s.n*s.k), "GFLOP/s", func() { d.Linear(y, x, w, engine.NoActivation, engine.Tensor{}) })
			})
		}
	}
}

// BenchmarkGPUAttention is an encoder layer's attention over some windows.
func BenchmarkGPUAttention(b *testing.B) {
	d := benchDevice(b, Config{CuBLAS: "off"})
	const length, heads, width = 1500, 20, 1280
	for _, windows := range []int{1, 4} {
		b.Run(fmt.Sprint(windows), func(b *testing.B) {
			rows := windows * length
			lens := make([]int, windows)
			for i := range lens {
				lens[i] = length
			}
			qkv := engine.NewTensor(must(d.Alloc(rows*3*width)), rows, 3*width)
			out := engine.NewTensor(must(d.Alloc(rows*width)), rows, width)
			timed(b, d, 4*float64(rows*length*width), "GFLOP/s", func() { d.Attention(out, qkv, lens, heads) })
		})
	}
}

// BenchmarkGPUStep is 48 small kernels, as many as a decoder's step has, and a wait: launched one by one, and as a graph.
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
