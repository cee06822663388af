package silk

import (
	"math/bits"
	"slices"

	"hark/audioprep/internal/opus/rangecoder"
)

// The short-term filter is coded by its line spectral frequencies, in increasing order
// from 0 to half the sample rate (section 4.2.7.5): a first vector of 32, and a
// residual, each coefficient of which is predicted from the one behind it.

// lsfBook is the codebook for filters of one order.
type lsfBook struct {
	order        int
	stepQ16      int32     // of the residual
	first        [][]uint8 // [32][order], in Q8
	firstCode    [][]uint8 // by whether the frame is voiced
	code         [][]uint8 // of the residual
	codeOf       []string  // for each first vector and coefficient 'a' to 'h': which of code
	prediction   [][]uint8 // [2][order-1], in Q8
	predictionOf []string  // for each first vector and coefficient 'A' or 'B': which of prediction
	spacingQ15   []int32   // [order+1], the least distances
	weightsQ9    [][]int32 // [32][order], what the residual is to be divided by
}

// The steps are of section 4.2.7.5.3.
var (
	narrowBook = (&lsfBook{
		10, 11796, narrowFirst, narrowFirstCode, narrowCode, narrowCodeOf,
		narrowPrediction, narrowPredictionOf, narrowSpacing, nil,
	}).weigh()
	wideBook = (&lsfBook{
		16, 9830, wideFirst, wideFirstCode, wideCode, wideCodeOf,
		widePrediction, widePredictionOf, wideSpacing, nil,
	}).weigh()
)

// weigh computes the weights of the residual, larger where frequencies are close
// (section 4.2.7.5.3).
func (b *lsfBook) weigh() *lsfBook {
	for _, first := range b.first {
		weights := make([]int32, b.order)
		last := 0
		for i, v := range first {
			next := 256
			if i+1 < b.order {
				next = int(first[i+1])
			}
			w := (1024/(int(v)-last) + 1024/(next-int(v))) << 16
			n := bits.Len(uint(w))
			fraction := w >> (n - 8) & 127
			y := 46214
			if n&1 == 1 {
				y = 32768
			}
			y >>= (32 - n) >> 1
			weights[i] = int32(y + 213*fraction*y>>16)
			last = int(v)
		}
		b.weightsQ9 = append(b.weightsQ9, weights)
	}
	return b
}

// readLSF reads the numbers of the vectors.
func (c *channel) readLSF(rc *rangecoder.Decoder) {
	const most = 4 // beyond, an extension follows
	x, b := &c.indices, c.book
	x.first = rc.Symbol(b.firstCode[c.signal>>1], 8)
	for i, which := range []byte(b.codeOf[x.first]) {
		v := rc.Symbol(b.code[which-'a'], 8) - most
		switch v {
		case -most:
			v -= rc.Symbol(lsfExtension[:], 8)
		case most:
			v += rc.Symbol(lsfExtension[:], 8)
		}
		x.residual[i] = int32(v)
	}
	x.interpolation = 4
	if c.subframes == maxSubframes {
		x.interpolation = int32(rc.Symbol(interpolationCode[:], 8))
	}
}

// lsf is a vector of line spectral frequencies, in Q15 of half the sample rate.
type lsf [maxOrder]int32

// dequantize returns the frequencies that the indices stand for.
func (b *lsfBook) dequantize(x *indices) (v lsf) {
	const nearer = 102 // 0.1 in Q10
	first, weights := b.first[x.first], b.weightsQ9[x.first]
	residual := int32(0) // in Q10
	for i := b.order - 1; i >= 0; i-- {
		predicted := int32(0)
		if i < b.order-1 {
			set := b.prediction[b.predictionOf[x.first][i]-'A']
			predicted = residual * int32(set[i]) >> 8
		}
		step := x.residual[i] << 10
		if step > 0 {
			step -= nearer
		} else if step < 0 {
			step += nearer
		}
		residual = predicted + scale(step, b.stepQ16)
		v[i] = residual<<14/weights[i] + int32(first[i])<<7
		v[i] = min(max(v[i], 0), 32767)
	}
	b.stabilize(v[:b.order])
	return v
}

// stabilize moves frequencies apart that are too close (section 4.2.7.5.4), pair by
// pair and the closest first, and bluntly if that takes too long.
func (b *lsfBook) stabilize(v []int32) {
	const tries = 20
	n, spacing := len(v), b.spacingQ15
	for range tries {
		worst, at := v[0]-spacing[0], 0
		for i := 1; i <= n; i++ {
			next := int32(1 << 15)
			if i < n {
				next = v[i]
			}
			if d := next - v[i-1] - spacing[i]; d < worst {
				worst, at = d, i
			}
		}
		switch {
		case worst >= 0:
			return
		case at == 0:
			v[0] = spacing[0]
		case at == n:
			v[n-1] = 1<<15 - spacing[n]
		default:
			lowest, highest := spacing[at]>>1, int32(1<<15)-spacing[at]>>1
			for _, s := range spacing[:at] {
				lowest += s
			}
			for _, s := range spacing[at+1:] {
				highest -= s
			}
			center := min(max(round(v[at-1]+v[at], 1), lowest), highest)
			v[at-1] = center - spacing[at]>>1
			v[at] = v[at-1] + spacing[at]
		}
	}
	slices.Sort(v)
	v[0] = max(v[0], spacing[0])
	for i := 1; i < n; i++ {
		v[i] = max(v[i], clip16(v[i-1]+spacing[i]))
	}
	v[n-1] = min(v[n-1], 1<<15-spacing[n])
	for i := n - 2; i >= 0; i-- {
		v[i] = min(v[i], v[i+1]-spacing[i+1])
	}
}
