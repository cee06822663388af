package kernels

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// asBF16 returns x rounded to bfloat16 by way of float64, normal numbers only.
func asBF16(x []float32) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		fraction, exponent := math.Frexp(float64(v))
		y[i] = float32(math.Ldexp(math.RoundToEven(fraction*(1<<8)), exponent-8))
	}
	return y
}

// edgesBF16 are numbers whose rounding is told apart by a bit: at, below and above the middle between two bfloat16,
// from where on they are infinite, and what is no number.
var edgesBF16 = []struct {
	v    uint32
	want uint16
}{
	{0x3f800000, 0x3f80}, {0x3f807fff, 0x3f80}, {0x3f808000, 0x3f80}, {0x3f808001, 0x3f81}, {0x3f818000, 0x3f82}, {0xbf818000, 0xbf82},
	{0x3fffffff, 0x4000}, {0x7f7f7fff, 0x7f7f}, {0x7f7f8000, 0x7f80}, {0x7f7fffff, 0x7f80}, {0xff7fffff, 0xff80}, {0x7f800000, 0x7f80},
	{0xff800000, 0xff80}, {0x7fc00000, 0x7fc0}, {0x7fffffff, 0x7fff}, {0xffffffff, 0xffff}, {0x7f800001, 0x7fc0}, {0x00000000, 0}, {0x80000000, 0x8000},
}

func TestToBF16(t *testing.T) {
	for _, c := range edgesBF16 {
		if got := toBF16(math.Float32frombits(c.v)); got != c.want {
			t.Errorf("%#08x: got %#04x, want %#04x", c.v, got, c.want)
		}
	}
	x := normals(rng(1), 10_000)
	for i, want := range asBF16(x) {
		if got := fromBF16(toBF16(x[i])); got != want {
			t.Errorf("%v: got %v, want %v", x[i], got, want)
		}
	}
}

// TestPairs has every number at every place of two rows, there and back.
func TestPairs(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		src := make([]float32, 3*len(edgesBF16)*2*panelCols)
		for i := range src {
			src[i] = math.Float32frombits(edgesBF16[i%len(edgesBF16)].v)
		}
		pairs, back := make([]uint32, len(src)/2), make([]float32, len(src))
		toPairs(pairs, src)
		fromPairsRows(back, pairs)
		for i := range src {
			if got, want := math.Float32bits(back[i]), uint32(edgesBF16[i%len(edgesBF16)].want)<<16; got != want {
				t.Fatalf("%#08x came back as %#08x, want %#08x", math.Float32bits(src[i]), got, want)
			}
		}
		if low := uint16(pairs[0]); low != edgesBF16[0].want {
			t.Errorf("the first row's first number is not in the low half: %#08x", pairs[0])
		}
	})
}

// TestRoundPairs rounds rows of any length.
func TestRoundPairs(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		for k := range 70 {
			x := normals(rng(uint64(k)), k)
			for i := range x {
				if i%3 == 0 {
					x[i] = math.Float32frombits(edgesBF16[i/3%len(edgesBF16)].v)
				}
			}
			got, want := make([]uint32, pairsOf(k)), make([]uint32, pairsOf(k))
			roundPairs(got, guarded(t, x))
			roundPairsGeneric(want, x)
			if !slices.Equal(got, want) {
				t.Fatalf("%d numbers: got %#08x, want %#08x", k, got, want)
			}
			if k%2 == 1 && got[k/2]>>16 != 0 {
				t.Errorf("%d numbers: the last pair is %#08x", k, got[k/2])
			}
		}
	})
}

// TestPackBF16 looks up what is packed, from float32 and from a file's halves.
func TestPackBF16(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		for _, n := range []int{0, 1, 7, 16, 17, 33, 100} {
			for _, k := range []int{0, 1, 2, 3, 8, 17, 80} {
				w := normals(rng(1), n*k)
				p := PackBF16(guarded(t, w), n, k)
				sameBits(t, fmt.Sprintf("%dx%d", n, k), rowsOf(p), asBF16(w))
				if size := 2 * n * k; p.Bytes() < size || n == 100 && k > 8 && p.Bytes() > 3*size/2 {
					t.Errorf("%dx%d: %d bytes", n, k, p.Bytes())
				}
				h := asHalves(w)
				sameBits(t, fmt.Sprintf("%dx%d, halves", n, k), rowsOf(PackBF16Halves(littleHalves(t, h), n, k)), asBF16(h))
			}
		}
	})
}

// rowsOf is all of a packed weight, [N][K].
func rowsOf(p *PackedF32) []float32 {
	w := make([]float32, p.N*p.K)
	for i := range p.N {
		p.Row(i, w[i*p.K:])
	}
	return w
}

// TestMatMulRoundsX tells the tiers that multiply bfloat16 from those that leave x as it is.
func TestMatMulRoundsX(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		for _, m := range []int{1, 40} {
			const n, k = 70, 331
			r := rng(9)
			x, w := normals(r, m*k), PackBF16(normals(r, n*k), n, k)
			got, rounded := make([]float32, m*n), make([]float32, m*n)
			MatMul(got, n, x, k, m, w, 0, n, Epilogue{})
			MatMul(rounded, n, asBF16(x), k, m, w, 0, n, Epilogue{})
			if same := slices.Equal(got, rounded); same != multipliesPairs() {
				t.Errorf("%d rows: the same as of rounded numbers: %v, want %v", m, same, multipliesPairs())
			}
		}
	})
}
