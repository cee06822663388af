package engine

import "math"

// MelFilters is Slaney's filter bank, as librosa.filters.mel makes it by default (htk=False,
// norm="slaney"): triangles whose corners lie evenly on a scale that is linear up to 1 kHz and
// logarithmic above, each of the area 2/(width in Hz). It weighs the powers of a Fourier transform of fft samples and
// is [bins][fft/2+1], row-major.
func MelFilters(bins, fft int) []float32 {
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
	edge := func(i int) float64 { return hz(topMel * float64(i) / float64(bins+1)) }
	powers := fft/2 + 1
	filters := make([]float32, bins*powers)
	for i := range bins {
		low, mid, high := edge(i), edge(i+1), edge(i+2)
		for k := range powers {
			freq := float64(k) * SampleRate / float64(fft)
			w := min((freq-low)/(mid-low), (high-freq)/(high-mid)) * 2 / (high - low)
			filters[i*powers+k] = float32(max(0, w))
		}
	}
	return filters
}
