package kernels

import "fmt"

// Activation is the function that [MatMul] applies to each output.
type Activation uint8

const (
	ActNone Activation = iota
	ActGELU            // x/2 * (1 + erf(x/sqrt 2)), the exact form, not the tanh one
	ActReLU            // max(x, 0)
	ActSiLU            // x / (1 + exp(-x)), also called swish
)

// String returns the name of the function.
func (a Activation) String() string {
	names := [...]string{"none", "gelu", "relu", "silu"}
	if int(a) < len(names) {
		return names[a]
	}
	return fmt.Sprintf("Activation(%d)", uint8(a))
}

// maxElems bounds one call of an element-wise assembly kernel, which can't be preempted, to a few tens of microseconds.
const maxElems = 1 << 14

// GELU replaces each element by x/2 * (1 + erf(x/sqrt 2)). The assembly's absolute error is below 5e-7: erf is formula
// 7.1.26 of Abramowitz and Stegun, Handbook of Mathematical Functions, 1964.
func GELU(x []float32) { activate(ActGELU, x) }

// activate applies act to x in place.
func activate(act Activation, x []float32) {
	if act == ActNone {
		return
	}
	for len(x) > 0 {
		part := x[:min(maxElems, len(x))]
		switch act {
		case ActGELU:
			gelu(part)
		case ActReLU:
			relu(part)
		case ActSiLU:
			silu(part)
		default:
			panic("kernels: unknown " + act.String())
		}
		x = x[len(part):]
	}
}
