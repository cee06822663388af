//go:build (!amd64 && !arm64) || noasm

package kernels

func gateBy(dst, x, gate []float32) { gateGeneric(dst, x, gate) }
