package cpu

import "fmt"

// Precision is the number format in which a model's weights are kept and multiplied. Sums, layer norms, softmax and the
// residual stream are float32 in all of them, as are convolutions: a stem's are few, and its errors reach everything.
type Precision uint8

const (
	// F32 is float32 throughout.
	F32 Precision = iota
	// BF16 has weights in bfloat16 but for an output layer, and activations likewise where the tier multiplies such
	// numbers (avx512-bf16); elsewhere they meet the weights as float32. Attention is as in F32.
	BF16
	// Int8 has weights in eight bits per output and activations in eight, with a second byte where a number is far
	// above its row's mean. Attention likewise: queries and distributions are such activations, keys and values bytes.
	Int8
	// Int8Encoder is Int8 but for the weights of a decoder's steps, which are as in F32. Their output layer alone is in
	// bytes, and its best scores are computed anew, from weights of 16 bits.
	Int8Encoder
	// Int8Fast has a layer's activations in eight bits alone, except for what the output layer reads; with AVX2 alone
	// they have coarser steps. It is a little faster than Int8 and errs twice as much.
	Int8Fast

	// int8Output is for the steps of Int8Encoder: F32 but for an output layer.
	int8Output
)

var precisionNames = [...]string{"f32", "bf16", "int8", "int8-encoder", "int8-fast"}

// String returns the name that ParsePrecision takes.
func (p Precision) String() string {
	if int(p) < len(precisionNames) {
		return precisionNames[p]
	}
	return fmt.Sprintf("Precision(%d)", uint8(p))
}

// ParsePrecision finds a precision by its name.
func ParsePrecision(name string) (p Precision, ok bool) {
	for i, n := range precisionNames {
		if n == name {
			return Precision(i), true
		}
	}
	return 0, false
}

// bytes reports whether a linear of n outputs and k inputs has weights in bytes.
func (p Precision) bytes(n, k int) bool { return p.integers() && (p != int8Output || isOutput(n, k)) }

// integers reports whether any products are of bytes.
func (p Precision) integers() bool { return p != F32 && p != BF16 }

// bf16 reports whether a linear of n outputs and k inputs has weights in bfloat16.
func (p Precision) bf16(n, k int) bool { return p == BF16 && !isOutput(n, k) }

// fine reports whether a linear of n outputs and k inputs takes rows of up to two bytes. An output layer always does:
// its near ties are what decides between tokens.
func (p Precision) fine(n, k int) bool { return p != Int8Fast || isOutput(n, k) }

// refines reports whether the best of what a linear in bytes gives is computed anew, see [kernels.PackedI8.Refine].
// Where all of a decoder is in bytes it gains nothing: base then has 203 word errors among 2733 instead of 202.
func (p Precision) refines() bool { return p == int8Output }

// isOutput tells an output layer, of far more outputs than a graph is wide.
func isOutput(n, k int) bool { return n > 8*k }
