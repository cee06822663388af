package kernels

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"
)

// asHalves returns x rounded to halves.
func asHalves(x []float32) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		// 13 bits more than a half has are added and taken away again.
		c := v * (1 << 13)
		if r := c - (c - v); math.Abs(float64(v)) >= 0x1p-14 {
			y[i] = r
		}
	}
	return y
}

// TestHalf converts all halves, there and back.
func TestHalf(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		all := alignedSlice[uint16](1 << 16)
		for i := range all {
			all[i] = uint16(i)
		}
		floats, back := make([]float32, len(all)), make([]uint16, len(all))
		fromHalf(floats, all)
		exact := toHalf(back, floats)
		if !exact {
			t.Error("halves don't come back")
		}
		for i, h := range all {
			sign, exponent, fraction := 1-2*float64(h>>15), int(h>>10&31), float64(h&0x3ff)
			want := sign * math.Ldexp(1+fraction/1024, exponent-15)
			switch {
			case exponent == 0:
				want = sign * math.Ldexp(fraction/1024, -14)
			case exponent == 31 && fraction == 0:
				want = math.Inf(int(sign))
			case exponent == 31:
				if floats[i] == floats[i] {
					t.Fatalf("half %#04x = %v, want NaN", h, floats[i])
				}
				continue
			}
			if float64(floats[i]) != want || math.Signbit(float64(floats[i])) != (h>>15 == 1) {
				t.Fatalf("half %#04x = %v, want %v", h, floats[i], want)
			}
			if back[i] != h {
				t.Fatalf("half %#04x came back as %#04x", h, back[i])
			}
		}
	})
}

// TestToHalfInexact puts one number that is no half at each place of a row.
func TestToHalfInexact(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		for _, v := range []float32{1 + 0x1p-11, 65520, -1e30, 0x1p-25, -0x1p-24 - 0x1p-30, 1e-45, 0x1.002p-14, 0.1, math.Float32frombits(0x7fc00001)} {
			for i := range 3 * panelCols {
				x := make([]float32, 3*panelCols)
				x[i] = v
				if toHalf(make([]uint16, len(x)), x) {
					t.Errorf("%v at %d is said to be a half", v, i)
				}
			}
		}
	})
}

func BenchmarkFromHalf(b *testing.B) {
	for _, tier := range tiers {
		for _, rows := range []int{512, 100_000} {
			b.Run(fmt.Sprintf("%s/%d", tier, rows), func(b *testing.B) {
				defer setTier(tierName)
				useTier(b, tier)
				src, dst := alignedSlice[uint16](rows*panelCols), alignedFloats(rows*panelCols)
				b.SetBytes(int64(2 * len(src)))
				for b.Loop() {
					fromHalf(dst, src)
				}
			})
		}
	}
}

// littleHalves returns numbers that are halves as a file holds them, at an odd address.
func littleHalves(t *testing.T, x []float32) []byte {
	t.Helper()
	b := make([]byte, 1, 2*len(x)+1)
	for _, v := range x {
		b = binary.LittleEndian.AppendUint16(b, floatToHalf(v))
	}
	return b[1:]
}

// TestPackHalves holds the packing of a file's halves to that of the same float32 numbers.
func TestPackHalves(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		for _, c := range []struct{ n, k int }{{0, 5}, {1, 1}, {5, 15}, {16, 16}, {33, 80}, {100, 17}, {64, 0}} {
			w := asHalves(normals(rng(1), c.n*c.k))
			b := littleHalves(t, w)
			sameBits(t, fmt.Sprintf("%dx%d", c.n, c.k), unpack(PackHalves(b, c.n, c.k)), w)
			for _, fine := range []bool{false, true} {
				got, want := PackI8Halves(b, c.n, c.k, fine, fine), PackI8(w, c.n, c.k, fine, fine)
				if !bytes.Equal(got.panels, want.panels) || !slices.Equal(got.scale, want.scale) || !slices.Equal(got.rest, want.rest) {
					t.Errorf("%dx%d, fine: %v: bytes differ from those of float32 weights", c.n, c.k, fine)
				}
			}
		}
	})
}
