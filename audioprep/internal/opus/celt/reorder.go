package celt

// haar replaces each pair of values, which are stride apart, by sum and difference: joins
// two blocks, or divides one.
func haar(x []float32, stride int) {
	const half = 0.70710678
	for at := 0; at+2*stride <= len(x); at += 2 * stride {
		a, b := x[at:][:stride], x[at+stride:][:stride]
		for i, v := range a {
			u, w := half*v, half*b[i]
			a[i], b[i] = u+w, u-w
		}
	}
}

// order is that of the blocks in time after haar has divided a long one: for 2, 4, 8 and 16
// of them, from place n-2 on (bands.c, ordery_table).
var order = [...]uint8{
	1, 0,
	3, 0, 2, 1,
	7, 0, 4, 3, 6, 1, 5, 2,
	15, 0, 8, 7, 12, 3, 11, 4, 14, 1, 9, 6, 13, 2, 10, 5,
}

// block is the place in time of block i of n.
func block(i, n int, long bool) int {
	if long {
		return int(order[n-2+i])
	}
	return i
}

// byTime puts the values of each block together, which are n apart.
func (r *bandReader) byTime(x []float32, n int, long bool) {
	length := len(x) / n
	for i := range n {
		dst := r.other[block(i, n, long)*length:][:length]
		for j := range dst {
			dst[j] = x[j*n+i]
		}
	}
	copy(x, r.other[:len(x)])
}

// byFrequency takes back what byTime does.
func (r *bandReader) byFrequency(x []float32, n int, long bool) {
	length := len(x) / n
	for i := range n {
		for j, v := range x[block(i, n, long)*length:][:length] {
			r.other[j*n+i] = v
		}
	}
	copy(x, r.other[:len(x)])
}
