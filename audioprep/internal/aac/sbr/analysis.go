package sbr

import "hark/audioprep/internal/mdct"

// window is table 4.89 whole.
var window = func() (w [640]float64) {
	for i, v := range windowHalf {
		w[i] = v
		if i > 0 {
			w[640-i] = v
		}
	}
	w[384], w[512] = -w[384], -w[512]
	return w
}()

// fullScale is what levels in the payload take for full scale.
const fullScale = 32768

// analysis makes columns of 32 bands of the core's samples (section 4.6.18.4.1):
//
//	W[k] = Σ 2·u[n]·exp(iπ/64·(k+1/2)(2n-1/2))    k = 0 … 31, n = 0 … 63
//
// where u is the last 320 samples, windowed and folded. Written as cosines of odd
// multiples of π/64·(k+1/2)/2, n and 64-n take turns, and one DCT of type IV of 64
// values is enough: its first half is the real parts, its second half, backwards and
// negative, the imaginary ones.
type analysis struct {
	dct *mdct.DCT4
	u   [64]float32
	v   [64]float32
}

// analysisState is the last samples of a channel.
type analysisState struct {
	x [analysisPast + CoreFrame]float32
}

const (
	analysisLength = 320
	analysisPast   = analysisLength - coreBands
)

// analysisWindow is by age of the samples, the oldest first.
var analysisWindow = func() (w [analysisLength]float32) {
	for i := range w {
		w[analysisLength-1-i] = float32(2 * fullScale * window[2*i])
	}
	return w
}()

func newAnalysis() *analysis { return &analysis{dct: mdct.NewDCT4(64)} }

// run makes the columns of one packet.
func (a *analysis) run(s *analysisState, core *[CoreFrame]float32, out *[columns][coreBands]complex64) {
	copy(s.x[analysisPast:], core[:])
	u, v := &a.u, &a.v
	for l := range out {
		x := (*[analysisLength]float32)(s.x[l*coreBands:])
		for n := range u {
			// The age of what is folded is n and every 64 after it.
			i := 63 - n
			u[n] = x[i]*analysisWindow[i] + x[i+64]*analysisWindow[i+64] + x[i+128]*analysisWindow[i+128] +
				x[i+192]*analysisWindow[i+192] + x[i+256]*analysisWindow[i+256]
		}
		v[0], v[63] = u[0], u[32]
		for n := 1; n < 32; n++ {
			v[2*n-1], v[2*n] = u[n], -u[64-n]
		}
		a.dct.Transform(v[:])
		for k := range coreBands {
			out[l][k] = complex(v[k], -v[63-k])
		}
	}
	copy(s.x[:], s.x[CoreFrame:])
}
