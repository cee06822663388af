//go:build (!amd64 && !arm64) || noasm

package kernels

func gelu(x []float32) { geluGeneric(x) }
func relu(x []float32) { reluGeneric(x) }
func silu(x []float32) { siluGeneric(x) }
