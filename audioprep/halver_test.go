package audioprep

import (
	"context"
	"testing"
)

// TestHalver: every other sample frame is kept, however a stream is cut into blocks.
func TestHalver(t *testing.T) {
	for _, channels := range []int{1, 2, 3} {
		x := make([]float32, 2000*channels)
		for i := range x {
			x[i] = float32(i/channels%100) / 1000
		}
		var all []float32
		for _, cut := range []int{2000, 7, 1, 600} {
			s := &sink{ctx: context.Background()}
			h := halver{on: true}
			if err := h.open(s, 32000, channels); err != nil {
				t.Fatal(err)
			}
			if s.info.SampleRate != 32000 || s.rate != 16000 {
				t.Errorf("got %d Hz of %d", s.rate, s.info.SampleRate)
			}
			var got []float32
			for at := 0; at < 2000; at += cut {
				block := append([]float32(nil), x[at*channels:min(at+cut, 2000)*channels]...)
				if err := h.write(s, block); err != nil {
					t.Fatal(err)
				}
				got = append(got, h.block...)
			}
			if len(got) != 1000*channels || got[channels] != x[2*channels] || s.frames != 1000 {
				t.Fatalf("%d channels, blocks of %d: got %d samples", channels, cut, len(got))
			}
			if all == nil {
				all = got
			}
			if !equal(got, all) {
				t.Errorf("%d channels: other samples in blocks of %d", channels, cut)
			}
		}
	}
}
