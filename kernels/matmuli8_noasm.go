//go:build (!amd64 && !arm64) || noasm

package kernels

// saturates says whether pairs of products of coarse rows must fit in 16 bits.
func saturates() bool { return false }

// hasVNNI says whether bytes are multiplied in fours, and so fine rows kept as bytes.
func hasVNNI() bool { return false }

func (t *tileI8) run() { t.runGeneric() }
