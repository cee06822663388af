package huffman

import (
	"testing"

	"hark/audioprep/internal/bits"
)

// TestRead: words of all lengths, short ones and those of two look-ups, mean what the leaves
// say.
func TestRead(t *testing.T) {
	// A comb: 0, 10, 110, and so on to 14 bits, of which there are two.
	leaves, letters := "", "123456789abcde"
	for i, c := range letters {
		leaves += string(c) + "0" + string(letters[i])
	}
	leaves += "e0f"
	table := New(leaves, Hex)
	var words []byte
	bit := 0
	put := func(v, n int) {
		for i := n - 1; i >= 0; i-- {
			if bit%8 == 0 {
				words = append(words, 0)
			}
			words[bit/8] |= byte(v>>i&1) << (7 - bit%8)
			bit++
		}
	}
	for n := 1; n <= 14; n++ {
		put(1<<n-2, n)
	}
	put(1<<14-1, 14)
	r, _ := bits.Padded(nil, words)
	for want := 1; want <= 15; want++ {
		c := table.Read(&r)
		if int(c.Value) != want || int(c.Length) != min(want, 14) {
			t.Errorf("word %d: got %+v", want, c)
		}
	}
	if r.At != bit {
		t.Errorf("got to bit %d, want %d", r.At, bit)
	}
}

func TestIncomplete(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic for a tree with one leaf of depth 1")
		}
	}()
	New("101", Hex)
}
