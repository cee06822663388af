//go:build unix

package parakeet

import (
	"context"
	"fmt"
	"testing"

	"hark/engine"
)

// BenchmarkTranscribe takes a recording of the small model through everything, alone and twelve times in a batch.
func BenchmarkTranscribe(b *testing.B) {
	m := loadTiny(b)
	samples := wavSamples(b, repository+"two.wav")
	for _, beam := range []int{1, 4} {
		for _, batch := range []int{1, 12} {
			b.Run(fmt.Sprintf("beam%d/batch%d", beam, batch), func(b *testing.B) {
				b.ReportAllocs()
				before := cpuTime()
				for range b.N {
					var windows []engine.Window
					for range batch {
						j, err := m.NewJob(samples, whole(samples), engine.Options{BeamSize: beam})
						if err != nil {
							b.Fatal(err)
						}
						windows = append(windows, j.Next(1)...)
					}
					m.Run(context.Background(), windows, nil, func(_ engine.Window, err error) {
						if err != nil {
							b.Fatal(err)
						}
					})
				}
				heard := float64(b.N*batch) * seconds(len(samples))
				b.ReportMetric(heard/b.Elapsed().Seconds(), "audio-s/s")
				b.ReportMetric(heard/(cpuTime()-before).Seconds(), "audio-s/cpu-s")
			})
		}
	}
}

// BenchmarkDecoder decodes noise with random weights of parakeet-tdt-0.6b's shape: windows of 30 s, greedily.
func BenchmarkDecoder(b *testing.B) {
	f := newFormula(b, 0)
	f.BlankBias = 1 // noise gives pieces, more than speech does
	m := &Model{dev: newTestDevice(b), config: f.config()}
	l := &loader{dev: m.dev, weights: f}
	const most = 12
	m.maxFrames, m.placeSlots = groupFrames, beamSlots(m.config.Durations, maxBeam)
	m.dec = loadDecoder(l, m.config, most*m.placeSlots, most*maxBeam)
	defer m.dec.close()
	m.frames = m.dec.alloc(l, most*m.maxFrames, m.config.JointWidth)
	if l.err != nil {
		b.Fatal(l.err)
	}
	m.dev.Upload(m.frames, noise(most*m.maxFrames*m.config.JointWidth, 1))
	for _, beam := range []int{1, 4} {
		for _, batch := range []int{1, most} {
			b.Run(fmt.Sprintf("beam%d/batch%d", beam, batch), func(b *testing.B) {
				before, written := cpuTime(), 0
				for range b.N {
					s := &session{m: m}
					for i := range batch {
						p := &place{number: i, window: &window{job: &job{model: m, beam: beam}}}
						p.begin(m, m.maxFrames)
						s.active = append(s.active, p)
					}
					for _, p := range s.active {
						for !p.search.ended() {
							if err := s.round(context.Background()); err != nil {
								b.Fatal(err)
							}
						}
						written += len(p.search.tokens())
					}
				}
				b.ReportMetric(float64(written)/b.Elapsed().Seconds(), "tokens/s")
				b.ReportMetric(float64(written)/(cpuTime()-before).Seconds(), "tokens/cpu-s")
				b.ReportMetric(float64(b.N*batch)*30/b.Elapsed().Seconds(), "audio-s/s")
			})
		}
	}
}
