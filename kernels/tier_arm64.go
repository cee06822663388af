//go:build arm64 && !noasm

package kernels

import "golang.org/x/sys/cpu"

// The booleans steer every dispatch of the package. They are set before any kernel runs and change only in tests.
// useDot, for SDOT's products of bytes in fours, implies useNEON.
var useNEON, useDot bool

// available returns the tiers that this machine can run, in rank order. Every arm64 has NEON.
func available() []string {
	have := []string{"generic", "neon"}
	if hasDot() {
		have = append(have, "neon-dot")
	}
	return have
}

func hasDot() bool { return cpu.ARM64.HasASIMDDP || alwaysDot }

// preferred returns the tier that is best where nobody asks for one.
func preferred(have []string) string { return have[len(have)-1] }

func setTier(name string) {
	useDot = name == "neon-dot"
	useNEON = name == "neon" || useDot
}
