package cuda

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// primitives are what kernels/cuda/selftest.cu checks, by the bit that says that it failed.
var primitives = []string{
	"conversion", "shuffle", "ldmatrix", "ldmatrix.trans", "mma", "mma in any place", "cp.async", "cp.async of a part",
	"cp.async or zeros", "cp.async groups",
	"power of two", "logarithm", "atomic maximum",
}

// selfTestLanes is how many threads run the checks, and as many answers.
const selfTestLanes = 32

// SelfTest has the GPU try each primitive that kernels are made of beyond plain C++. The error names
// those that don't do as they should; it waits.
func (d *Device) SelfTest() error {
	numbers := make([]uint32, 4*selfTestLanes) // 0, 1, 2, … in 16 bits
	for i := range numbers {
		numbers[i] = uint32(2*i) | uint32(2*i+1)<<16
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	in, err := d.placeWords(numbers)
	if err != nil {
		return err
	}
	defer d.free(in)
	out, err := d.alloc(selfTestLanes, f32)
	if err != nil {
		return err
	}
	defer d.free(out)
	d.launch("selftest", along(1), along(selfTestLanes), 0, at(in.address()), at(out.address()))
	answer, err := d.fetch(out.address(), 4*selfTestLanes)
	if err != nil {
		return fmt.Errorf("cuda: self-test: %w", err)
	}
	return failedPrimitives(answer)
}

// failedPrimitives is an error that names what any lane found to fail, or nil.
func failedPrimitives(answer []byte) error {
	var failed uint32
	for i := 0; i < len(answer); i += 4 {
		failed |= binary.LittleEndian.Uint32(answer[i:])
	}
	var names []string
	for bit := range 32 {
		if failed>>bit&1 == 0 {
			continue
		}
		name := fmt.Sprint("check ", bit)
		if bit < len(primitives) {
			name = primitives[bit]
		}
		names = append(names, name)
	}
	if names == nil {
		return nil
	}
	return fmt.Errorf("cuda: self-test: this GPU and driver do not do as the kernels need: %s",
		strings.Join(names, ", "))
}

// SelfTests is how many primitives are tried.
var SelfTests = len(primitives)
