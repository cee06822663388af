package kernels

// Log replaces each element by its natural logarithm. Elements are positive and not denormal; for NaN and Inf the
// result is NaN, for others it is of no meaning. The assembly's error is below 2e-7, absolute or relative, whichever is
// more.
func Log(x []float32) {
	for i := 0; i < len(x); i += maxElems {
		logPart(x[i:min(i+maxElems, len(x))])
	}
}
