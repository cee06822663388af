package mpeg

import (
	"math"
	"os"
	"testing"
)

// TestHalf: every other sample is what it is among all.
func TestHalf(t *testing.T) {
	for _, name := range []string{"44100-joint.mp3", "44100-clicks.mp3", "48000-stereo.mp3"} {
		b, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		all, h := decodeAll(t, &Decoder{MaxHz: 8000}, b)
		for odd := range 2 {
			d := &Decoder{MaxHz: 8000, Half: true, Odd: odd == 1}
			var block [MaxSamples]float32
			at := 0
			for rest := b; len(rest) > 0; {
				f, _ := ParseHeader(rest)
				n, err := d.Decode(block[:], rest)
				if err == nil && n != f.Samples*f.Channels/2 {
					t.Fatalf("%s: got %d samples of %d", name, n, f.Samples*f.Channels)
				}
				for i := range n {
					want := all[i%h.Channels][at+2*(i/h.Channels)+odd]
					if d := math.Abs(float64(block[i] - want)); d > 1e-6 {
						t.Fatalf("%s: odd %d: sample %d: got %v, want %v", name, odd, at+i, block[i], want)
					}
				}
				if err == nil {
					at += f.Samples
				}
				rest = rest[f.Bytes:]
			}
		}
	}
}
