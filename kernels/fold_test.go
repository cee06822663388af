package kernels

import (
	"fmt"
	"testing"
)

func TestFoldQuarters(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		for _, q := range []int{16, 17, 24, 31, 32, 33, 100} {
			r := rng(uint64(q))
			x, w := guarded(t, normals(r, 4*q+1)), guarded(t, normals(r, 2*q+1))
			var got, want [4][]float32
			for i := range got {
				got[i], want[i] = guarded(t, make([]float32, q)), make([]float32, q)
			}
			FoldQuarters(got[0], got[1], got[2], got[3], x, w)
			foldQuartersGeneric(want[0], want[1], want[2], want[3], x, w)
			for i := range got {
				sameBits(t, fmt.Sprintf("quarter %d, result %d", q, i), got[i], want[i])
			}
		}
	})
}

func TestFoldQuartersPanics(t *testing.T) {
	x := make([]float32, 100)
	for name, f := range map[string]func(){
		"small":         func() { FoldQuarters(x[:8], x[:8], x[:8], x[:8], x, x) },
		"short x":       func() { FoldQuarters(x[:20], x[:20], x[:20], x[:20], x[:80], x) },
		"short w":       func() { FoldQuarters(x[:20], x[:20], x[:20], x[:20], x, x[:40]) },
		"short results": func() { FoldQuarters(x[:20], x[:19], x[:20], x[:20], x, x) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		})
	}
}
