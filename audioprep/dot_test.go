package audioprep

import (
	"fmt"
	"math"
	"testing"
)

// TestDot holds dot to a sum in float64: the error of adding n products of about
// 1 in any order is below n roundings of the largest partial sum.
func TestDot(t *testing.T) {
	for n := 0; n <= 160; n += 8 {
		x, h := noise(n+1, 1, uint32(n)+1)[1:], noise(n+3, 1, uint32(n)+7)[3:]
		want, size := 0.0, 0.0
		for i, v := range x {
			want += float64(v) * float64(h[i])
			size += math.Abs(float64(v) * float64(h[i]))
		}
		for name, got := range map[string]float32{"dot": dot(x, h), "dotGeneric": dotGeneric(x, h)} {
			if d := math.Abs(float64(got) - want); d > size*float64(n+1)*0x1p-24 {
				t.Errorf("%s of %d: got %v, want %v", name, n, got, want)
			}
		}
	}
}

func BenchmarkDot(b *testing.B) {
	for _, n := range []int{152, 456} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			x, h, sum := noise(n, 1, 1), noise(n, 1, 2), float32(0)
			b.SetBytes(int64(8 * n))
			for b.Loop() {
				sum += dot(x, h)
			}
			if sum != sum {
				b.Fatal("not a number")
			}
		})
	}
}
