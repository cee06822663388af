package bench

import (
	"math"
	"slices"
	"time"
)

// Latency is how long answers took, in seconds, by the nearest rank; all zero where there were none.
type Latency struct {
	P50 float64 `json:"p50_s"`
	P90 float64 `json:"p90_s"`
	P99 float64 `json:"p99_s"`
	Max float64 `json:"max_s"`
}

func latencyOf(took []time.Duration) Latency {
	if len(took) == 0 {
		return Latency{}
	}
	slices.Sort(took)
	at := func(part float64) float64 {
		return took[max(0, int(math.Ceil(part*float64(len(took))))-1)].Seconds()
	}
	return Latency{at(0.5), at(0.9), at(0.99), at(1)}
}
