package audioprep

import (
	"context"
	"testing"
)

// TestSinkJoinsPieces writes more than one piece holds, without saying how much will come.
func TestSinkJoinsPieces(t *testing.T) {
	s := &sink{ctx: context.Background()}
	if err := s.open(SampleRate, 1); err != nil {
		t.Fatal(err)
	}
	sample := func(i int) float32 { return float32(i%1000-500) / 1000 }
	const block = 1 << 20
	n := 0
	for n < 2*pieceSamples+block {
		x := make([]float32, block)
		for i := range x {
			x[i] = sample(n + i)
		}
		if err := s.write(x); err != nil {
			t.Fatal(err)
		}
		n += block
	}
	if len(s.lines[0].store.pieces) < 2 {
		t.Error("it all lies in one piece: the test shows nothing")
	}
	pcm, err := s.finish()
	if err != nil {
		t.Fatal(err)
	}
	if len(pcm.Samples) != n {
		t.Fatalf("got %d samples, want %d", len(pcm.Samples), n)
	}
	for i, v := range pcm.Samples {
		if v != sample(i) {
			t.Fatalf("sample %d: got %v, want %v", i, v, sample(i))
		}
	}
}
