//go:build !amd64 || noasm

package kernels

func logPart(x []float32) { logGeneric(x) }
