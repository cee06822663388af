package models

import (
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"
)

// DType is the type of a tensor's elements. The zero value is none of them.
type DType uint8

// The element types that the weight files at hand use.
const (
	F32 DType = iota + 1
	F16
	BF16
	F64
	I8
	I16
	I32
	I64
	U8
	U16
	U32
	U64
	Bool
)

// dtypes gives each type its safetensors name and its size in bytes.
var dtypes = [...]struct {
	name string
	size int
}{
	F32: {"F32", 4}, F16: {"F16", 2}, BF16: {"BF16", 2}, F64: {"F64", 8},
	I8: {"I8", 1}, I16: {"I16", 2}, I32: {"I32", 4}, I64: {"I64", 8},
	U8: {"U8", 1}, U16: {"U16", 2}, U32: {"U32", 4}, U64: {"U64", 8}, Bool: {"BOOL", 1},
}

// String returns the type's name in safetensors: "F32", "BF16", "BOOL".
func (d DType) String() string {
	if d.Size() == 0 {
		return fmt.Sprintf("DType(%d)", uint8(d))
	}
	return dtypes[d].name
}

// Size returns the bytes of one element, 0 for a value that is no type.
func (d DType) Size() int {
	if int(d) >= len(dtypes) {
		return 0
	}
	return dtypes[d].size
}

// Tensor is one named array of weights.
type Tensor struct {
	// Name is the tensor's name in its file, or the alias it was asked by.
	Name string
	// DType is the type of the elements in Data.
	DType DType
	// Shape has the outermost dimension first; the elements are row-major. It
	// is empty for a scalar. A dimension may be 0.
	Shape []int
	// Data holds the elements, little-endian, Len()*DType.Size() bytes. It may
	// start at any address: elements are not aligned. It belongs to the
	// [Weights], is read-only (writing to it faults) and is gone after Close.
	Data []byte
}

// Len returns the number of elements: 1 for a scalar.
func (t Tensor) Len() int {
	n := 1
	for _, d := range t.Shape {
		n *= d
	}
	return n
}

// Float32 converts the elements of an F32, F16, BF16 or F64 tensor into dst, which must be Len() long. Every value is
// kept exactly, subnormal ones and the bits of a NaN included; those of F64 are rounded to the nearest. It fails for
// another type, and for a dst of another length. It may be called from several goroutines at once.
func (t Tensor) Float32(dst []float32) error {
	if n := t.Len(); len(dst) != n || len(t.Data) != n*t.DType.Size() {
		return fmt.Errorf("tensor %q: shape %v has %d elements, the destination %d", t.Name, t.Shape, n, len(dst))
	}
	switch t.DType {
	case F32:
		float32FromF32(dst, t.Data)
	case F16:
		float32FromF16(dst, t.Data)
	case BF16:
		float32FromBF16(dst, t.Data)
	case F64:
		for i := range dst {
			dst[i] = float32(math.Float64frombits(binary.LittleEndian.Uint64(t.Data[8*i:])))
		}
	default:
		return fmt.Errorf("tensor %q: type %v: only floats convert to float32", t.Name, t.DType)
	}
	return nil
}

// Int returns the value of an integer tensor of one element, such as
// CTranslate2's encoder/num_heads. It fails for another type or length.
func (t Tensor) Int() (int64, error) {
	if t.Len() != 1 || len(t.Data) != t.DType.Size() {
		return 0, fmt.Errorf("tensor %q: shape %v is not a single number", t.Name, t.Shape)
	}
	switch t.DType {
	case I8:
		return int64(int8(t.Data[0])), nil
	case U8, Bool:
		return int64(t.Data[0]), nil
	case I16:
		return int64(int16(binary.LittleEndian.Uint16(t.Data))), nil
	case U16:
		return int64(binary.LittleEndian.Uint16(t.Data)), nil
	case I32:
		return int64(int32(binary.LittleEndian.Uint32(t.Data))), nil
	case U32:
		return int64(binary.LittleEndian.Uint32(t.Data)), nil
	case I64:
		return int64(binary.LittleEndian.Uint64(t.Data)), nil
	case U64:
		if v := binary.LittleEndian.Uint64(t.Data); v <= math.MaxInt64 {
			return int64(v), nil
		}
		return 0, fmt.Errorf("tensor %q: value is beyond int64", t.Name)
	}
	return 0, fmt.Errorf("tensor %q: type %v is not an integer", t.Name, t.DType)
}

// littleEndian says whether this machine stores numbers as the files do.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

func float32FromF32(dst []float32, src []byte) {
	if littleEndian && len(dst) > 0 {
		copy(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(dst))), 4*len(dst)), src)
		return
	}
	for i := range dst {
		dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
	}
}

// float32FromBF16 widens: a bfloat16 is the upper half of a float32. Four are
// taken from one 64-bit load.
func float32FromBF16(dst []float32, src []byte) {
	for len(dst) >= 4 && len(src) >= 8 {
		v := binary.LittleEndian.Uint64(src)
		d := dst[:4:4]
		d[0] = math.Float32frombits(uint32(v) << 16)
		d[1] = math.Float32frombits(uint32(v) & 0xffff0000)
		d[2] = math.Float32frombits(uint32(v>>32) << 16)
		d[3] = math.Float32frombits(uint32(v>>32) & 0xffff0000)
		dst, src = dst[4:], src[8:]
	}
	for i := range dst {
		dst[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(src[2*i:])) << 16)
	}
}

// float32FromF16 takes four halves from one 64-bit load. A normal number keeps
// its fraction and has its exponent moved to the other bias, which is integer
// work for two at a time; where one of the four is something else (one weight
// in 300 is subnormal) each is converted by itself.
func float32FromF16(dst []float32, src []byte) {
	const (
		tops      = 0x8000800080008000 // the top bit of each half
		exponents = 0x7c007c007c007c00
		one       = 0x0400040004000400 // an exponent of 1
	)
	for len(dst) >= 4 && len(src) >= 8 {
		v := binary.LittleEndian.Uint64(src)
		d := dst[:4:4]
		// Taking 1 from an exponent leaves its top bit unless it is 0; adding 1
		// reaches the top bit only from 31. No half borrows from the next.
		if e := v & exponents; ((e|tops)-one)&^(e+one)&tops == tops {
			low, high := widenNormal(v), widenNormal(v>>32)
			d[0] = math.Float32frombits(uint32(low))
			d[1] = math.Float32frombits(uint32(low >> 32))
			d[2] = math.Float32frombits(uint32(high))
			d[3] = math.Float32frombits(uint32(high >> 32))
		} else {
			d[0] = halfToFloat(uint16(v))
			d[1] = halfToFloat(uint16(v >> 16))
			d[2] = halfToFloat(uint16(v >> 32))
			d[3] = halfToFloat(uint16(v >> 48))
		}
		dst, src = dst[4:], src[8:]
	}
	for i := range dst {
		dst[i] = halfToFloat(binary.LittleEndian.Uint16(src[2*i:]))
	}
}

// widenNormal converts the two normal halves in the low 32 bits of v.
func widenNormal(v uint64) uint64 {
	const rebias = (127 - 15) << 23
	v = v&0xffff | v<<16&(0xffff<<32)
	return v&(0x8000<<32|0x8000)<<16 | (v&(0x7fff<<32|0x7fff)<<13 + (rebias<<32 | rebias))
}

// halfToFloat converts any IEEE 754 binary16.
func halfToFloat(h uint16) float32 {
	sign, exponent, fraction := uint32(h&0x8000)<<16, uint32(h>>10&31), uint32(h&0x3ff)
	switch exponent {
	case 0: // zero and subnormals: a multiple of 2^-24
		return math.Float32frombits(sign | math.Float32bits(float32(fraction)*0x1p-24))
	case 31: // infinities and NaNs
		return math.Float32frombits(sign | 0xff<<23 | fraction<<13)
	}
	return math.Float32frombits(sign | (exponent+127-15)<<23 | fraction<<13)
}
