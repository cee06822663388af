package engine

// Transposed is w, matrices [count][rows][cols], with each of them as [cols][rows].
func Transposed(w []float32, count, rows, cols int) []float32 {
	t := make([]float32, len(w))
	for n := range count {
		from, to := w[n*rows*cols:], t[n*rows*cols:]
		for i := range rows {
			for j := range cols {
				to[j*rows+i] = from[i*cols+j]
			}
		}
	}
	return t
}
