//go:build unix

package whisper

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"hark/engine"
	"hark/engine/cpu"
	"hark/models"
)

// cpuTime is the processor time of all threads so far.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// loop runs f as a benchmark and reports the processor time that it takes, which other work on the machine
// disturbs less than the time by the clock.
func loop(b *testing.B, f func()) {
	f()
	begin := cpuTime(b)
	for b.Loop() {
		f()
	}
	b.ReportMetric(float64(cpuTime(b)-begin)/float64(time.Millisecond)/float64(b.N), "cpu-ms/op")
}

// eachReal runs f for real models in each precision.
func eachReal(b *testing.B, f func(b *testing.B, dev engine.Device, dir, name string)) {
	dev, err := testDevice()
	if err != nil {
		b.Fatal(err)
	}
	store, err := models.OpenStore("")
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range []string{"tiny.en", "base"} {
		for _, p := range []cpu.Precision{cpu.F32, cpu.Int8Encoder, cpu.Int8} {
			b.Run(fmt.Sprintf("%s/%v", name, p), func(b *testing.B) {
				dir, ok := store.Path(name)
				if !ok {
					b.Skip("unrun: hark models pull " + name)
				}
				f(b, dev.At(p), dir, name)
			})
		}
	}
}

// BenchmarkStep is a decoder's step, from tokens to choices, with so many windows of 30 s beside each other.
func BenchmarkStep(b *testing.B) {
	eachReal(b, func(b *testing.B, dev engine.Device, dir, name string) {
		m, err := Load(dev, dir, name, Settings{})
		if err != nil {
			b.Fatal(err)
		}
		defer m.Close()
		for w := range int32(maxBatch) {
			listenTo(b, m, clip(b, "jfk"), w)
		}
		for _, n := range []int32{1, 4, 8, 12} {
			b.Run(fmt.Sprint("rows=", n), func(b *testing.B) {
				var rows []row
				var last []int32
				for i := range n {
					rows, last = append(rows, row{token: 400 + i, position: 20, slot: i, window: i}), append(last, i)
				}
				rules := make([]engine.Rule, n)
				loop(b, func() {
					m.dec.forward(rows, false, nil)
					if _, err := m.dev.Select(m.dec.logits(last), rules, 1); err != nil {
						b.Fatal(err)
					}
				})
			})
		}
	})
}

// BenchmarkEncode is the encoder's work on a window of 30 s, and what the decoder keeps of it.
func BenchmarkEncode(b *testing.B) {
	eachReal(b, func(b *testing.B, dev engine.Device, dir, name string) {
		m, err := Load(dev, dir, name, Settings{})
		if err != nil {
			b.Fatal(err)
		}
		defer m.Close()
		samples := clip(b, "jfk")
		loop(b, func() { listenTo(b, m, samples, 0) })
	})
}

func BenchmarkLoad(b *testing.B) {
	eachReal(b, func(b *testing.B, dev engine.Device, dir, name string) {
		loop(b, func() {
			m, err := Load(dev, dir, name, Settings{})
			if err != nil {
				b.Fatal(err)
			}
			m.Close()
		})
	})
}
