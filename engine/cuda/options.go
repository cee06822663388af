package cuda

import (
	"fmt"

	"hark/engine/cuda/driver"
)

// Storage is the number format of tensors and weights.
type Storage uint8

const (
	// F16 has 11 significant bits and ends at 65504. Models are published in it.
	F16 Storage = iota
	// BF16 has 8 significant bits and float32's range. Turing has no arithmetic for it.
	BF16
)

func (s Storage) String() string {
	if s == BF16 {
		return "bf16"
	}
	return "f16"
}

// ParseStorage is the inverse of String.
func ParseStorage(s string) (Storage, error) {
	switch s {
	case "f16":
		return F16, nil
	case "bf16":
		return BF16, nil
	}
	return 0, fmt.Errorf("storage %q: want f16 or bf16", s)
}

// Config says which GPU is used and how. The zero value is the first GPU, with cuBLASLt where it's found.
type Config struct {
	// Driver says where the driver's library is.
	Driver driver.Config
	// Ordinal is which GPU, in the driver's order.
	Ordinal int
	// Storage is the format of numbers in memory.
	Storage Storage
	// CrossBytes keeps cross-attention's keys and values in bytes, with a scale for each column of a head: half the
	// memory, and half of what decoding a batch reads most of, for a little accuracy.
	CrossBytes bool
	// CuBLAS says what multiplies large matrices: "" or "auto", cuBLASLt where it is found, else our own kernel; "off",
	// our own; else the path of a cuBLASLt, which must then be usable.
	CuBLAS string
	// MemoryBytes is the most of the GPU's memory that is taken; 0: all that is free.
	MemoryBytes int64
	// RegionBytes is how much is asked of the driver at once, to be handed out in pieces; 0: 64 MiB. With 1 each buffer
	// stands alone, so that the emulator sees writes past its end.
	RegionBytes int
	// NoGraphs has every kernel launched by itself, for comparison.
	NoGraphs bool
}
