//go:build !unix

package bench

// cpuSeconds is unknown here.
func cpuSeconds() float64 { return 0 }
