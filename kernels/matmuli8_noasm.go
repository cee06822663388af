//go:build (!amd64 && !arm64) || noasm

package kernels

// listRows is how many rows share a list of high bytes, of which there are none here.
const listRows = StripRows

// hasVNNI says whether bytes are multiplied in fours, and so fine rows kept as bytes.
func hasVNNI() bool { return false }

func (t *tileI8) run() { t.runGeneric() }
