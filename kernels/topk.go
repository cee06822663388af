package kernels

import (
	"fmt"
	"math"
	"slices"
)

// topBlock is the run of elements that is skipped or searched as one, by its maximum.
const topBlock = 512

// ArgMax returns the index of the greatest element, the lowest such index, or -1 for an empty row. NaN is never
// greatest: a row of nothing else gives 0, as does one of -Inf only.
func ArgMax(row []float32) int {
	if len(row) == 0 {
		return -1
	}
	best, at := float32(math.Inf(-1)), -1
	for i := 0; i < len(row); i += topBlock {
		if m := maxPart(row[i:min(i+topBlock, len(row))]); m > best {
			best, at = m, i
		}
	}
	if at < 0 {
		return max(0, slices.Index(row, best))
	}
	return at + slices.Index(row[at:], best)
}

// TopK writes the k greatest elements to val, greatest first, and their indices to idx; of equal elements the lowest
// index comes first. NaN counts as below -Inf. idx and val hold at least k; k must not exceed the row. It is meant for
// small k: its work grows with k for each element that makes it into the list.
func TopK(row []float32, k int, idx []int32, val []float32) {
	if k < 0 || k > len(row) || len(idx) < k || len(val) < k {
		panic(fmt.Sprintf("kernels: TopK: %d of %d elements into %d indices and %d values", k, len(row), len(idx), len(val)))
	}
	if k == 0 {
		return
	}
	n := 0
	for i := 0; i < len(row); i += topBlock {
		block := row[i:min(i+topBlock, len(row))]
		if n == k && !above(maxPart(block), val[k-1]) {
			continue
		}
		for j, v := range block {
			if n == k && !above(v, val[k-1]) {
				continue
			}
			n = min(n+1, k)
			p := n - 1
			for ; p > 0 && above(v, val[p-1]); p-- {
				val[p], idx[p] = val[p-1], idx[p-1]
			}
			val[p], idx[p] = v, int32(i+j)
		}
	}
}

// above says whether a ranks strictly before b: greater, or a number where b is NaN.
func above(a, b float32) bool { return a > b || b != b && a == a }
