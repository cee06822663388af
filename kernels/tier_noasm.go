//go:build (!amd64 && !arm64) || noasm

package kernels

// available returns the tiers that this machine can run, in rank order.
func available() []string { return []string{"generic"} }

func setTier(string) {}
