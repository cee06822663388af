package models

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"
)

// halfValue is the definition of a binary16, computed in float64.
func halfValue(h uint16) float64 {
	sign := 1.0
	if h&0x8000 != 0 {
		sign = -1
	}
	exponent, fraction := int(h>>10&31), float64(h&0x3ff)
	switch {
	case exponent == 0:
		return sign * math.Ldexp(fraction, -24)
	case exponent == 31 && fraction == 0:
		return math.Inf(int(sign))
	case exponent == 31:
		return math.NaN()
	}
	return sign * math.Ldexp(1024+fraction, exponent-25)
}

// Every binary16 and every bfloat16 converts exactly, wherever the data starts
// and whatever its length leaves over after the unrolled loop.
func TestFloat32(t *testing.T) {
	const n = 1 << 16
	data := []byte{0xaa} // so that the elements are not aligned
	for i := range n {
		data = binary.LittleEndian.AppendUint16(data, uint16(i))
	}
	for _, cut := range []int{0, 1, 2, 3, n - 3, n} {
		got := make([]float32, n-cut)
		if err := (Tensor{"h", F16, []int{n - cut}, data[1+2*cut:]}).Float32(got); err != nil {
			t.Fatal(err)
		}
		for i, g := range got {
			h := uint16(i + cut)
			want := halfValue(h)
			if math.IsNaN(want) {
				bits := math.Float32bits(g)
				if bits>>23&0xff != 0xff || bits>>13&0x3ff != uint32(h&0x3ff) || bits>>31 != uint32(h>>15) {
					t.Errorf("half %#04x = %#08x, want a NaN of the same bits", h, bits)
				}
			} else if float64(g) != want || math.Signbit(float64(g)) != math.Signbit(want) {
				t.Errorf("half %#04x = %g, want %g", h, g, want)
			}
		}
		if err := (Tensor{"b", BF16, []int{n - cut}, data[1+2*cut:]}).Float32(got); err != nil {
			t.Fatal(err)
		}
		for i, g := range got {
			if bits := math.Float32bits(g); bits != uint32(i+cut)<<16 {
				t.Errorf("bfloat16 %#04x = %#08x", i+cut, bits)
			}
		}
	}
	single := []byte{0}
	want := []float32{1, float32(math.Copysign(0, -1)), math.SmallestNonzeroFloat32, float32(math.Inf(-1))}
	for _, v := range want {
		single = binary.LittleEndian.AppendUint32(single, math.Float32bits(v))
	}
	got := make([]float32, 4)
	if err := (Tensor{"f", F32, []int{2, 2}, single[1:]}).Float32(got); err != nil {
		t.Fatal(err)
	}
	for i := range want {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			t.Errorf("float32 %d = %g, want %g", i, got[i], want[i])
		}
	}
	if err := (Tensor{"e", F32, []int{0, 3}, nil}).Float32(nil); err != nil {
		t.Errorf("an empty tensor: %v", err)
	}
}

func TestFloat32Refusals(t *testing.T) {
	for _, c := range []struct {
		tensor Tensor
		dst    int
		want   string
	}{
		{Tensor{"x", F32, []int{2}, make([]byte, 8)}, 3, "the destination 3"},
		{Tensor{"x", F32, []int{2}, make([]byte, 8)}, 1, "the destination 1"},
		{Tensor{"x", F32, []int{2}, make([]byte, 7)}, 2, `"x"`},
		{Tensor{"x", I8, []int{2}, make([]byte, 2)}, 2, "type I8"},
		{Tensor{"x", 99, []int{2}, nil}, 2, "DType(99)"},
	} {
		err := c.tensor.Float32(make([]float32, c.dst))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v into %d: error %v, want one with %q", c.tensor, c.dst, err, c.want)
		}
	}
}

func TestInt(t *testing.T) {
	ff := []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
	for dtype, want := range map[DType]int64{I8: -1, I16: -1, I32: -1, I64: -1, U8: 255, U16: 65535, U32: 1<<32 - 1, Bool: 255} {
		if got, err := (Tensor{"x", dtype, []int{1}, ff[:dtype.Size()]}).Int(); err != nil || got != want {
			t.Errorf("%v: %d, %v, want %d", dtype, got, err, want)
		}
	}
	for _, x := range []Tensor{{"x", U64, nil, ff}, {"x", F32, nil, ff[:4]}, {"x", I8, []int{2}, ff[:2]}} {
		if got, err := x.Int(); err == nil {
			t.Errorf("%v of %v is the number %d", x.Shape, x.DType, got)
		}
	}
}

func BenchmarkFloat32(b *testing.B) {
	const n = 4 << 20
	dst := make([]float32, n)
	for _, dtype := range []DType{F32, F16, BF16} {
		b.Run(dtype.String(), func(b *testing.B) {
			data := make([]byte, n*dtype.Size())
			for i := range data {
				data[i] = byte(i * 37)
			}
			if dtype == F16 { // as in real weights: below 1, one in 300 subnormal
				for i := 0; i < len(data); i += 2 {
					data[i+1] &= 0xbf
					if i%600 != 0 {
						data[i+1] |= 0x08
					}
				}
			}
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if err := (Tensor{"x", dtype, []int{n}, data}).Float32(dst); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
