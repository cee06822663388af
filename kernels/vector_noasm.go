//go:build (!amd64 && !arm64) || noasm

package kernels

func add(dst, a, b []float32)                    { addGeneric(dst, a, b) }
func scale(x []float32, s float32)               { scaleGeneric(x, s) }
func axpy(dst []float32, a float32, x []float32) { axpyGeneric(dst, a, x) }
func dot(a, b []float32) float32                 { return dotGeneric(a, b) }

func addSquares(dst, a, b []float32) { addSquaresGeneric(dst, a, b) }

func raise(x []float32, least, scale, shift float32) { raiseGeneric(x, least, scale, shift) }
