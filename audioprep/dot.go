package audioprep

// dotGeneric is the inner product of two slices of equal length, a multiple of
// eight. Eight sums keep the additions from waiting for each other; the array
// pointers keep the bounds out of the loop.
//
// Resampling is this and little else: 456 products for each sample that is made
// of 48 kHz.
func dotGeneric(x, h []float32) float32 {
	var s0, s1, s2, s3, s4, s5, s6, s7 float32
	h = h[:len(x)]
	for len(x) >= 8 && len(h) >= 8 {
		a, b := (*[8]float32)(x), (*[8]float32)(h)
		s0 += a[0] * b[0]
		s1 += a[1] * b[1]
		s2 += a[2] * b[2]
		s3 += a[3] * b[3]
		s4 += a[4] * b[4]
		s5 += a[5] * b[5]
		s6 += a[6] * b[6]
		s7 += a[7] * b[7]
		x, h = x[8:], h[8:]
	}
	return (s0 + s4) + (s1 + s5) + ((s2 + s6) + (s3 + s7))
}
