//go:build !amd64 || noasm

package audioprep

func dot(x, h []float32) float32 { return dotGeneric(x, h) }
