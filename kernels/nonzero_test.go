package kernels

import (
	"fmt"
	"slices"
	"testing"
	"unsafe"
)

// guardedWords is n words that nothing may be written behind.
func guardedWords(tb testing.TB, n int) []uint32 {
	x := guarded(tb, make([]float32, n))
	return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(x))), n)
}

// TestNonzeroAlike holds lists of what isn't zero to their references, from rows of nothing else to rows of nothing but
// zeros.
func TestNonzeroAlike(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		for _, n := range []int{32, 64, 96, 512, 2080} {
			for _, zeros := range []int{0, 1, 8, 100, 1 << 30} { // to one that isn't
				const rows, more = 5, 32
				r, ld := rng(uint64(n+zeros)), n+more
				x := make([]int8, rows*ld)
				for i := range x {
					if r.IntN(zeros+1) == 0 || i%ld >= n {
						x[i] = int8(1 + r.IntN(127))
					}
				}
				for m := 1; m <= rows; m++ {
					got, want := guardedWords(t, n/blockK8), make([]uint32, n/blockK8)
					count, wantCount := listBlocks(got, x, ld, m, n), listBlocksGeneric(want, x, ld, m, n)
					if count != wantCount || !slices.Equal(got[:count], want[:count]) {
						t.Fatalf("%d rows of %d: blocks %v, want %v", m, n, got[:count], want[:wantCount])
					}
				}
				words := asWords(x[:n])
				list, values := guardedWords(t, len(words)), guardedWords(t, len(words))
				wantList, wantValues := make([]uint32, len(words)), make([]uint32, len(words))
				count, wantCount := listWords(list, values, words), listWordsGeneric(wantList, wantValues, words)
				if count != wantCount || !slices.Equal(list[:count], wantList[:count]) || !slices.Equal(values[:count], wantValues[:count]) {
					t.Fatalf("%d: words %v at %v, want %v at %v", n, values[:count], list[:count], wantValues[:wantCount], wantList[:wantCount])
				}
			}
		}
	})
}

// TestMix holds what skips blocks of zeros to what doesn't, to the bit.
func TestMix(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		for _, c := range []struct{ rows, t, dh int }{{1, 1, 8}, {2, 40, 24}, {3, 100, 64}, {4, 257, 64}, {11, 600, 80}, {12, 1500, 64}} {
			for _, sharp := range []float32{0, 1, 30} { // how far apart scores are: all keys alike, some, one
				r := rng(uint64(c.t))
				var kv PackedKVI8
				var w AttentionI8Work
				kv.Pack(normals(r, c.t*c.dh), c.dh, normals(r, c.t*c.dh), c.dh, c.t, c.dh)
				w.reserve(&kv)
				copy(w.scores, normals(r, c.rows*roundUp(c.t, padK)))
				w.softmax(c.rows, c.t, sharp, nil, 0)
				w.mix(&kv.v)
				ld := roundUp(c.dh, tileCols)
				want := make([]float32, c.rows*ld)
				w.product(want, ld, &w.p, &kv.v)
				sameBits(t, fmt.Sprintf("%+v, scores times %g", c, sharp), w.sums[:c.rows*ld], want)
			}
		}
	})
}
