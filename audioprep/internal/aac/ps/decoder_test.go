package ps

import (
	"math"
	"math/rand/v2"
	"testing"

	"hark/audioprep/internal/bits"
)

// FuzzRead: no payload makes a panic or numbers that are none.
func FuzzRead(f *testing.F) {
	f.Add([]byte{0xe4, 0xa1, 0x00, 0x00, 0x00}, []byte{0x20, 0x12, 0x34, 0x56})
	f.Add([]byte{0xd5, 0x5b, 0xff, 0xff, 0xff, 0xff}, []byte{0x00})
	f.Fuzz(func(t *testing.T, one, two []byte) {
		d := New()
		rng := rand.New(rand.NewPCG(1, 5))
		var left, right Block
		for _, b := range [][]byte{one, two, one} {
			for i := range left {
				for k := range left[i] {
					left[i][k] = complex(rng.Float32()-0.5, rng.Float32()-0.5)
				}
			}
			r, _ := bits.Padded(nil, b)
			d.Read(r)
			d.Process(&left, &right, qmfBands)
			for _, block := range [2]*Block{&left, &right} {
				for i := range columns {
					for _, v := range block[i] {
						if s := real(v) + imag(v); math.IsNaN(float64(s)) {
							t.Fatalf("column %d has what is no number", i)
						}
					}
				}
			}
		}
	})
}

// TestWithout: before a header both channels are the one there is.
func TestWithout(t *testing.T) {
	var left, right Block
	left[3][5] = 1 + 2i
	d := New()
	d.Process(&left, &right, qmfBands)
	if left[3][5] != 1+2i || right != left || d.Started() {
		t.Errorf("got %v and %v", left[3][5], right[3][5])
	}
}
