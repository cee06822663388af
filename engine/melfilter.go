package engine

import "math"

// melFilter is a band: weights of the powers of FFT bins from first on.
type melFilter struct {
	first   int
	weights []float32
}

// melFilters is Slaney's filter bank, as librosa.filters.mel makes it by default (htk=False,
// norm="slaney"): triangles whose corners lie evenly on a scale that is linear up to 1 kHz and
// logarithmic above, each of the area 2/(width in Hz).
func melFilters(bins int) []melFilter {
	const (
		linear = 200.0 / 3 // Hz per mel below the corner
		corner = 15.0      // mel at 1 kHz
		perLog = 27.0      // mels from 1 kHz to 6.4 kHz
		top    = SampleRate / 2
	)
	hz := func(mel float64) float64 {
		if mel < corner {
			return mel * linear
		}
		return 1000 * math.Exp((mel-corner)*math.Log(6.4)/perLog)
	}
	topMel := corner + math.Log(top/1000.0)*perLog/math.Log(6.4)
	filters := make([]melFilter, bins)
	for i := range filters {
		edge := func(j int) float64 { return hz(topMel * float64(i+j) / float64(bins+1)) }
		low, mid, high := edge(0), edge(1), edge(2)
		f := &filters[i]
		for k := range melFFT/2 + 1 {
			freq := float64(k) * SampleRate / melFFT
			w := min((freq-low)/(mid-low), (high-freq)/(high-mid)) * 2 / (high - low)
			if w <= 0 {
				continue
			}
			if len(f.weights) == 0 {
				f.first = k
			}
			f.weights = append(f.weights, float32(w))
		}
	}
	return filters
}
