//go:build (!amd64 && !arm64) || noasm

package kernels

// available returns the tiers that this machine can run, in rank order.
func available() []string { return []string{"generic"} }

// preferred returns the tier that is best where nobody asks for one.
func preferred(have []string) string { return have[len(have)-1] }

func setTier(string) {}
