//go:build amd64 && !noasm

package kernels

import "testing"

// BenchmarkPeak measures what the tiles are a share of.
func BenchmarkPeak(b *testing.B) {
	const rounds = 1000
	for _, c := range []struct {
		tier  string
		lanes int
		peak  func(n int)
	}{{"avx2", 8, peakAVX2}, {"avx512", 16, peakAVX512}} {
		b.Run(c.tier, func(b *testing.B) {
			defer setTier(tierName)
			useTier(b, c.tier)
			for b.Loop() {
				c.peak(rounds)
			}
			reportFLOPS(b, 2*12*c.lanes*rounds)
		})
	}
}
