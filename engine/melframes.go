package engine

import (
	"math"
	"sync"

	"hark/kernels"
)

// The discrete Fourier transform of 400 samples, of which only the power is wanted, is done as four
// matrix products. With x the samples under the analysis window and angle(k, n) = 2πkn/400:
//
//	re[k] = Σ x[n] cos angle(k, n),  im[k] = Σ x[n] sin angle(k, n),  k in [0, 200]
//
// Since cos is even about n = 200 and sin odd, the sums of x[n] ± x[400-n] over half the n
// suffice. Both are again even or odd about n = 100, depending on whether k is even, so another
// such fold leaves sums over n in [0, 100], for even and odd k apart: a quarter of
// the work four times, [frames][101] x [101][101] each, which at this size is
// quicker than a mixed-radix FFT, since it runs at the speed of kernels.MatMul.
const (
	foldLen = melFFT/4 + 1
	// melBlock is how many frames are done at once: what they need stays in the second-level
	// cache, and kernels.MatMul reads so few rows in place.
	melBlock = 24
)

// The four products, in this order: even k and odd k of the real part, then of the imaginary part.
const (
	evenRe = iota
	oddRe
	evenIm
	oddIm
)

var (
	// melBases are the cosines and sines, [k/2][n], packed.
	melBases = sync.OnceValue(makeMelBases)
	// hann is the periodic Hann window, up to its middle; the rest mirrors it.
	hann = makeHann()
)

func makeHann() (h [melReach + 1]float32) {
	for n := range h {
		h[n] = float32(0.5 - 0.5*math.Cos(2*math.Pi*float64(n)/melFFT))
	}
	return h
}

func makeMelBases() (bases [4]*kernels.PackedF32) {
	for q := range bases {
		var w []float32
		for k := q & 1; k <= melFFT/2; k += 2 {
			for n := range foldLen {
				sin, cos := math.Sincos(2 * math.Pi * float64(k*n%melFFT) / melFFT)
				if q == evenIm || q == oddIm {
					cos = sin
				}
				w = append(w, float32(cos))
			}
		}
		bases[q] = kernels.PackF32(w, len(w)/foldLen, foldLen)
	}
	return bases
}

// melWork is the memory for a block of frames.
type melWork struct {
	signal [(melBlock-1)*MelHop + melFFT + 1]float32 // the last is met by a weight of zero
	folds  [4][melBlock * foldLen]float32
	sums   [4][melBlock * foldLen]float32
	power  [melBlock * melPowers]float32
}

// frames writes count frames from frame t on to their place in dst, in powers of ten and
// neither cut off nor scaled, and returns their maximum.
func (m *Mel) frames(dst []float32, s melSignal, t, count int) float32 {
	dst = dst[t*m.bins:][:count*m.bins]
	w := m.works.Get().(*melWork)
	defer m.works.Put(w)
	signal := w.signal[:(count-1)*MelHop+melFFT]
	if !s.read(signal, t*MelHop-melReach) {
		for i := range dst {
			dst[i] = melFloor
		}
		return melFloor
	}
	for i := range count {
		w.fold(i, w.signal[i*MelHop:][:melFFT+1])
	}
	for q, base := range melBases() {
		kernels.MatMul(w.sums[q][:], foldLen, w.folds[q][:], foldLen, count, base, 0, base.N, kernels.Epilogue{})
	}
	for i := range count {
		w.powers(i)
	}
	kernels.MatMul(dst, m.bins, w.power[:], melPowers, count, m.filters, 0, m.bins, kernels.Epilogue{})
	best := float32(melFloor)
	kernels.Raise(dst, melLeast, 1, 0)
	kernels.Log(dst)
	kernels.Scale(dst, math.Log10E)
	return max(best, dst[kernels.ArgMax(dst)])
}

// fold applies the analysis window to the samples of frame i, and the one behind, and folds them twice.
func (w *melWork) fold(i int, x []float32) {
	row := func(q int) []float32 { return w.folds[q][i*foldLen:][:foldLen] }
	even, odd, evenSin, oddSin := row(evenRe), row(oddRe), row(evenIm), row(oddIm)
	const n = foldLen - 1
	kernels.FoldQuarters(even[:n], odd[:n], evenSin[:n], oddSin[:n], x, hann[:])
	// The ends of a fold have no partner, and sin is zero there.
	first, last := x[0]*hann[0], x[200]*hann[200]
	even[0], odd[0], evenSin[0], oddSin[0] = first+last, first-last, 0, 0
	a, b := x[100]*hann[100], x[300]*hann[100]
	even[100], odd[100], evenSin[100], oddSin[100] = a+b, 0, 0, a-b
}

// powers leaves |re[k]|² + |im[k]|² of frame i in its row of w.power, the even k before the odd ones.
func (w *melWork) powers(i int) {
	const odd = foldLen - 1 // k = 1, 3, …, 199
	power := w.power[i*melPowers:][:melPowers]
	kernels.AddSquares(power[:foldLen], w.sums[evenRe][i*foldLen:][:foldLen], w.sums[evenIm][i*foldLen:][:foldLen])
	kernels.AddSquares(power[foldLen:], w.sums[oddRe][i*foldLen:][:odd], w.sums[oddIm][i*foldLen:][:odd])
}

// evenFirst puts the columns of filters, [bins][melPowers], in the order of powers.
func evenFirst(filters []float32) []float32 {
	ordered := make([]float32, len(filters))
	for i := range filters {
		row, k := i/melPowers*melPowers, i%melPowers
		ordered[row+k/2+k%2*foldLen] = filters[i]
	}
	return ordered
}
