package audioprep

import "hark/kernels"

// Output by output, a filter costs two loads for each product. As a matrix product it costs
// a fraction: groupOutputs neighbouring outputs look at nearly the same inputs, so that they
// are one product with a matrix of their filters, each shifted to where its inputs are, with zeros
// around. After as many outputs as the ratio of the rates needs to come round, everything
// repeats: that is a row, and rows are multiplied together.

const (
	// groupOutputs is how many columns kernels.MatMul computes at once.
	groupOutputs = 32
	// maxBlockWeights bounds the matrices: 2 MB. Rates with a longer period are computed output by
	// output.
	maxBlockWeights = 1 << 19
)

// filterBlocks are an exact filter bank's matrices.
type filterBlocks struct {
	outputs int // of a row
	inputs  int // from one row to the next
	reach   int // inputs that a row looks at
	groups  []filterGroup
}

// filterGroup computes groupOutputs outputs of every row, from inputs that begin offset behind the
// row's first.
type filterGroup struct {
	offset int
	w      *kernels.PackedF32
}

// newFilterBlocks makes the matrices of a bank, or returns nil if they are too large.
func newFilterBlocks(f *filterBank) *filterBlocks {
	b := &filterBlocks{outputs: f.up / gcd(f.up, groupOutputs) * groupOutputs}
	b.inputs = b.outputs / f.up * f.down
	width := f.taps + (groupOutputs-1)*f.down/f.up + 1
	if !f.exact || b.outputs*width > maxBlockWeights {
		return nil
	}
	for first := 0; first < b.outputs; first += groupOutputs {
		offset := first * f.down / f.up
		w := make([]float32, groupOutputs*width)
		for i := range groupOutputs {
			at := (first + i) * f.down
			copy(w[i*width+at/f.up-offset:], f.h[at%f.up*f.taps:][:f.taps])
		}
		b.groups = append(b.groups, filterGroup{offset, kernels.PackF32(w, groupOutputs, width)})
		b.reach = offset + width
	}
	return b
}

// run appends the outputs of all rows for which x, which begins with the next row's first input,
// reaches; rows is how many they are.
func (b *filterBlocks) run(dst, x []float32) (out []float32, rows int) {
	if len(x) < b.reach {
		return dst, 0
	}
	rows = (len(x)-b.reach)/b.inputs + 1
	start := len(dst)
	dst = append(dst, make([]float32, rows*b.outputs)...)
	for i, g := range b.groups {
		kernels.MatMul(dst[start+i*groupOutputs:], b.outputs, x[g.offset:], b.inputs, rows, g.w, 0,
			groupOutputs, kernels.Epilogue{})
	}
	return dst, rows
}
