//go:build amd64 && !noasm

package kernels

// peakAVX2 and peakAVX512 run n rounds of 12 independent multiply-adds of a vector: the most that a benchmark can reach.

func peakAVX2(n int)

func peakAVX512(n int)
