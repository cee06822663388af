package kernels

import "fmt"

// RefineI8Work is the memory of one [PackedI8.Refine] after another. The zero value is ready for use. It belongs to one
// goroutine.
type RefineI8Work struct {
	row   []float32 // [K]
	index [refined]int32
	value [refined]float32
}

// refined is how many of a row's sums are computed anew. Sums by bytes of an output layer are off by some hundredths,
// in whose reach are hardly ever more than two or three.
const refined = 16

// Refine computes the greatest of a row's sums anew, from x as it is and weights of 16 bits. dst, [N], are the sums
// that [MatMulI8] made of x, [K], with bias and nothing else; the weights were packed with their rest. It is for an
// output layer, of whose scores only the best are compared with each other.
func (p *PackedI8) Refine(dst, x, bias []float32, w *RefineI8Work) {
	if p.rest == nil || len(dst) != p.N || len(x) != p.K || bias != nil && len(bias) < p.N {
		panic(fmt.Sprintf("kernels: Refine: %d sums, %d numbers and %d biases for weights of %d x %d (rest: %v)",
			len(dst), len(x), len(bias), p.N, p.K, p.rest != nil))
	}
	w.row = resize(w.row, p.K)
	n := min(refined, p.N)
	TopK(dst, n, w.index[:], w.value[:])
	for _, i := range w.index[:n] {
		p.Row(int(i), w.row)
		dst[i] = Dot(x, w.row)
		if bias != nil {
			dst[i] += bias[i]
		}
	}
}
