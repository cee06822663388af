//go:build amd64 && !noasm

package kernels

import "golang.org/x/sys/cpu"

// useAVX2 and useAVX512 steer every dispatch of the package. They are set before any kernel runs and change only in tests.
// useAVX512 implies useAVX2.
var useAVX2, useAVX512 bool

// available returns the tiers that this machine can run, in rank order. x/sys/cpu asks the system too (XCR0), not the CPU alone.
func available() []string {
	have := []string{"generic"}
	if !cpu.X86.HasAVX2 || !cpu.X86.HasFMA {
		return have
	}
	have = append(have, "avx2")
	if cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VL && cpu.X86.HasAVX512DQ && cpu.X86.HasBMI2 {
		have = append(have, "avx512")
	}
	return have
}

func setTier(name string) {
	useAVX2 = name == "avx2" || name == "avx512"
	useAVX512 = name == "avx512"
}
