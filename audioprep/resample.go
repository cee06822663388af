package audioprep

import (
	"math"

	"hark/kernels"
)

// The resampler is a polyphase windowed-sinc filter with a Kaiser window, computed as a matrix
// product where the rates allow it: see resampleblocks.go.
//
// Resampling from M to L (the rates in lowest terms) is: put L-1 zeros between
// samples, low-pass at the lower of the two Nyquist frequencies, keep every Mth
// sample. Of the filter only every Lth tap then meets a sample that is not
// zero, so there are L short filters (phases), of which each output uses one.
//
// Figures, all tested by sine sweeps in resample_test.go, N being the lower
// Nyquist frequency (8 kHz when the source has 16 kHz or more):
//
//	pass-band  0 … 0.91 N, ripple below 0.001 dB
//	stop-band  from N on, at least 100 dB down
//	phase      linear, delay taken out: output i is the signal at i/16000 s
//	gain       1 at 0 Hz in every phase, to float32 rounding
//	length     round(n · 16000 / rate)
//
// Measured beside others, largest difference from the ideal sine up to 0.91 N
// (the gain's ripple) and loudest remains of tones from N on:
//
//	            44.1 kHz                     48 kHz
//	this        1.3e-6 (0.0001 dB), -111 dB  3.8e-6 (0.0001 dB), -106 dB
//	soxr HQ     1.0e-3 (0.009 dB), -138 dB   9.0e-7 (0.0000 dB), -131 dB
//	swresample  1.5e-1 (1.4 dB), -9 dB       1.5e-1 (1.4 dB), -9 dB
//
// (libsoxr 1.1.0 through its Python package; swresample of ffmpeg 5.1 with its
// defaults, which rolls off early and lets the first kHz beyond N alias.)
//
// Design: a Kaiser window of attenuation A needs (A-7.95)/(2.285·Δω) taps for a
// transition of Δω rad and β = 0.1102·(A-8.7) (Kaiser 1974; Oppenheim and
// Schafer, Discrete-Time Signal Processing, section 7.5).
const (
	stopBandDB = 106.0
	passEdge   = 0.91 // of the lower Nyquist frequency
	// maxExactTaps bounds the table of an exact filter bank. Odd rates such as
	// 44101 Hz would need one of millions: they use the interpolated bank.
	maxExactTaps = 1 << 18
	// interpPhases is the number of phases per sample of the lower rate in the
	// interpolated bank. Linear interpolation between them errs by
	// (π/interpPhases)²/8 at most, -118 dB.
	interpPhases = 1024
)

// filterBank is a set of phases. It is only read once made.
type filterBank struct {
	up, down int // the rates in lowest terms: up output samples for down input samples
	taps     int // of one phase, a multiple of 8
	phases   int
	exact    bool          // phases == up; else phases are interpolated
	h        []float32     // [phases+1][taps], the last phase is the first, one sample on
	blocks   *filterBlocks // the same as matrices, or nil
}

// newFilterBank designs the filter for a pair of rates.
func newFilterBank(from, to int) *filterBank {
	g := gcd(from, to)
	f := &filterBank{up: to / g, down: from / g}
	ratio := min(1, float64(to)/float64(from)) // of the lower to the input Nyquist frequency
	width := math.Pi * (1 - passEdge) * ratio
	half := int(math.Ceil((stopBandDB - 7.95) / (2.285 * width) / 2))
	f.taps = (2*half + 7) &^ 7
	half = f.taps / 2
	f.phases, f.exact = f.up, true
	if f.up*f.taps > maxExactTaps {
		f.phases, f.exact = max(2, int(math.Ceil(interpPhases*ratio))), false
	}
	cutoff := (1 + passEdge) / 2 * ratio
	beta := 0.1102 * (stopBandDB - 8.7)
	norm := 1 / besselI0(beta)
	f.h = make([]float32, (f.phases+1)*f.taps)
	row := make([]float64, f.taps)
	for p := 0; p <= f.phases; p++ {
		sum := 0.0
		for t := range row {
			// The distance of input sample t from the output's place, which is
			// between samples half-1 and half.
			x := float64(t-half+1) - float64(p)/float64(f.phases)
			row[t] = 0
			if r := x / float64(half); r > -1 && r < 1 {
				row[t] = sinc(cutoff*x) * besselI0(beta*math.Sqrt(1-r*r)) * norm
			}
			sum += row[t]
		}
		for t, v := range row {
			f.h[p*f.taps+t] = float32(v / sum)
		}
	}
	f.blocks = newFilterBlocks(f)
	return f
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func sinc(x float64) float64 {
	if x == 0 {
		return 1
	}
	return math.Sin(math.Pi*x) / (math.Pi * x)
}

// besselI0 is the modified Bessel function of order zero, by its power series.
func besselI0(x float64) float64 {
	sum, term := 1.0, 1.0
	for k := 1.0; term > 1e-17*sum; k++ {
		term *= x / 2 / k * (x / 2 / k)
		sum += term
	}
	return sum
}

// resampler runs a filterBank over a stream that comes in pieces. The result
// does not depend on the pieces.
type resampler struct {
	bank *filterBank // nil: the rates are equal
	from int
	to   int
	hist []float32 // input from sample base on; starts with the zeros before the stream
	base int64     // stream position of hist[0]
	pos  int64     // stream position below the next output: floor(i·down/up)
	frac int       // the rest of that division
	in   int64     // samples taken
	out  int64     // samples given
}

func newResampler(from, to int) *resampler {
	r := &resampler{from: from, to: to}
	if from != to {
		r.bank = bankFor(from, to)
		lead := r.bank.taps/2 - 1
		r.hist = make([]float32, lead, lead+r.bank.taps+8192)
		r.base = -int64(lead)
	}
	return r
}

// write takes samples and appends to dst what can be computed from them.
func (r *resampler) write(dst, x []float32) []float32 {
	r.in += int64(len(x))
	if r.bank == nil {
		return append(dst, x...)
	}
	for len(x) > 0 {
		n := min(len(x), 8192)
		r.hist = append(r.hist, x[:n]...)
		x = x[n:]
		dst = r.run(dst, math.MaxInt64)
	}
	return dst
}

// flush appends what is left, as if zeros followed the stream.
func (r *resampler) flush(dst []float32) []float32 {
	if r.bank == nil {
		return dst
	}
	want := (r.in*int64(r.to) + int64(r.from)/2) / int64(r.from)
	if r.bank.blocks != nil {
		return r.flushRows(dst, want)
	}
	// One more than the lead is enough: length is rounded to nearest.
	zeros := make([]float32, r.bank.taps)
	for i := 0; r.out < want && i < 2+int(int64(r.from)/int64(r.to)/int64(r.bank.taps)); i++ {
		r.hist = append(r.hist, zeros...)
		dst = r.run(dst, want)
	}
	return dst
}

// run computes outputs while the history reaches, up to limit in all, and drops
// the history that no later output needs.
func (r *resampler) run(dst []float32, limit int64) []float32 {
	if r.bank.blocks != nil {
		return r.runRows(dst)
	}
	b := r.bank
	lead := int64(b.taps/2 - 1)
	step, rest := b.down/b.up, b.down%b.up
	for r.out < limit {
		at := int(r.pos - lead - r.base)
		if at+b.taps > len(r.hist) {
			break
		}
		x := r.hist[at : at+b.taps]
		if b.exact {
			dst = append(dst, kernels.Dot(x, b.h[r.frac*b.taps:][:b.taps]))
		} else {
			place := float64(r.frac) / float64(b.up) * float64(b.phases)
			p := int(place)
			lo := kernels.Dot(x, b.h[p*b.taps:][:b.taps])
			hi := kernels.Dot(x, b.h[(p+1)*b.taps:][:b.taps])
			dst = append(dst, lo+(hi-lo)*float32(place-float64(p)))
		}
		r.out++
		r.pos += int64(step)
		if r.frac += rest; r.frac >= b.up {
			r.frac -= b.up
			r.pos++
		}
	}
	r.drop(lead)
	return dst
}

// runRows is run for a bank that has matrices: as many rows as there can be.
func (r *resampler) runRows(dst []float32) []float32 {
	b := r.bank.blocks
	lead := int64(r.bank.taps/2 - 1)
	dst, rows := b.run(dst, r.hist[r.pos-lead-r.base:])
	r.out += int64(rows) * int64(b.outputs)
	r.pos += int64(rows) * int64(b.inputs)
	r.drop(lead)
	return dst
}

// flushRows is flush for such a bank. Rows are whole: what is too much is cut off.
func (r *resampler) flushRows(dst []float32, want int64) []float32 {
	for r.out < want {
		r.hist = append(r.hist, make([]float32, r.bank.blocks.reach)...)
		dst = r.runRows(dst)
	}
	dst = dst[:len(dst)-int(r.out-want)]
	r.out = want
	return dst
}

// drop forgets the history that no later output needs.
func (r *resampler) drop(lead int64) {
	if drop := min(int(r.pos-lead-r.base), len(r.hist)); drop > 0 {
		n := copy(r.hist, r.hist[drop:])
		r.hist = r.hist[:n]
		r.base += int64(drop)
	}
}
