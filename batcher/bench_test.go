package batcher

import (
	"fmt"
	"testing"
	"time"
)

// oneWindow is a clip.
type oneWindow struct{ done bool }

func (w *oneWindow) Next(int) []int {
	if w.done {
		return nil
	}
	w.done = true
	return []int{1}
}

func benchmarkClip(it *Item[int], i, callers int) {
	*it = Item[int]{Request: Request[int]{
		CostMillis: int64(1000 + i*7919%29_000),
		Caller:     benchmarkCallers[i%callers],
		Work:       &oneWindow{},
	}}
}

var benchmarkCallers = func() (names []string) {
	for i := range 100 {
		names = append(names, fmt.Sprint("caller ", i))
	}
	return names
}()

// BenchmarkBatchWith10kWaiting forms a batch while 10 000 clips wait, and puts as many back.
func BenchmarkBatchWith10kWaiting(b *testing.B) {
	for _, bench := range []struct {
		name    string
		config  Config
		callers int
	}{
		{"windowed", Config{CostCapMillis: 720_000}, 1},
		{"windowed, 100 callers", Config{CostCapMillis: 720_000}, 100},
		{"lanes, six batches a turn", Config{Policy: Lanes, CostCapMillis: 720_000, NoAdapt: true}, 1},
		{"cost order", Config{Policy: CostOrder, CostCapMillis: 720_000}, 1},
	} {
		b.Run(bench.name, func(b *testing.B) {
			f := NewFormer[int](bench.config)
			now := time.Unix(0, 0)
			items := make([]Item[int], 10_000)
			for i := range items {
				benchmarkClip(&items[i], i, bench.callers)
				f.Add(&items[i], now)
			}
			b.ReportAllocs()
			served := 0
			for b.Loop() {
				batch, _ := f.Next(now)
				now = now.Add(time.Second)
				f.Done(now)
				for _, p := range batch.Parts {
					served++
					benchmarkClip(p.Item, served, bench.callers)
					f.Add(p.Item, now)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(served), "ns/clip")
		})
	}
}

// BenchmarkFirstTurnOf10k is the dearest turn there is: all that waits is new, and has to be sorted in and out once.
func BenchmarkFirstTurnOf10k(b *testing.B) {
	items := make([]Item[int], 10_000)
	now := time.Unix(0, 0)
	b.ReportAllocs()
	for b.Loop() {
		f := NewFormer[int](Config{})
		for i := range items {
			benchmarkClip(&items[i], i, 100)
			f.Add(&items[i], now)
		}
		if batch, _ := f.Next(now); batch == nil {
			b.Fatal("no batch")
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(items)), "ns/clip")
}
