//go:build (!amd64 && !arm64) || noasm

package kernels

// hasVNNI says whether bytes are multiplied in fours, and so fine rows kept as bytes.
func hasVNNI() bool { return false }

func (t *tileI8) run() { t.runGeneric() }
