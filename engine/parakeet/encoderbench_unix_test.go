//go:build unix

package parakeet

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"hark/engine/cpu"
)

// BenchmarkEncoder encodes one window with random weights of parakeet-tdt-0.6b's shape. HARK_BENCH_LAYERS
// takes fewer than its 24 layers, HARK_BENCH_PRECISION another precision than f32.
// scripts/bench-parakeet.py compares it with PyTorch.
func BenchmarkEncoder(b *testing.B) {
	layers := 24
	if n, err := strconv.Atoi(os.Getenv("HARK_BENCH_LAYERS")); err == nil {
		layers = n
	}
	precision, _ := cpu.ParsePrecision(os.Getenv("HARK_BENCH_PRECISION"))
	d, err := cpu.New(cpu.Config{Precision: precision})
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	f := newFormula(b, layers)
	l := &loader{dev: d, weights: f}
	e := loadEncoder(l, f.config())
	defer e.close()
	if l.err != nil {
		b.Fatal(l.err)
	}
	for _, seconds := range []int{30, 300} {
		b.Run(fmt.Sprintf("%ds", seconds), func(b *testing.B) {
			items := [][]float32{noise(seconds*100*f.config().Features, 1)}
			rows := e.frames(seconds * 100)
			dst := alloc(b, d, rows, f.config().JointWidth)
			encode := func() {
				if err := e.encode(dst, e.sounds(items)); err != nil {
					b.Fatal(err)
				}
			}
			encode() // memory grows
			before := cpuTime()
			for b.Loop() {
				encode()
			}
			b.ReportMetric(float64(cpuTime()-before)/float64(b.N), "cpu-ns/op")
			b.ReportMetric(float64(seconds)*float64(b.N)/b.Elapsed().Seconds(), "audio-s/s")
			b.ReportMetric(e.work(rows)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}

// cpuTime is what the process has used of all cores.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// work is the floating-point operations of the matrix products that a window of a number of
// frames takes, without those that are kept.
func (e *encoder) work(rows int) float64 {
	d, n := float64(e.config.Width), float64(rows)
	layer := n*(4*d*float64(e.config.FeedForward)+7*d*d) + 3*n*n*d
	if rows > keptFrames {
		layer += (2*n - 1) * d * d
	}
	return 2 * float64(e.config.Layers) * layer
}
