//go:build amd64 && !noasm

package kernels

import "golang.org/x/sys/cpu"

// The booleans steer every dispatch of the package. They are set before any kernel runs and change only in tests. useAVX512 implies
// useAVX2, useVNNI512 implies useAVX512, useVNNI, on AVX2 registers, implies useAVX2.
var useAVX2, useVNNI, useAVX512, useVNNI512 bool

// available returns the tiers that this machine can run, in rank order. x/sys/cpu asks the system too (XCR0), not the CPU alone.
func available() []string {
	have := []string{"generic"}
	if !cpu.X86.HasAVX2 || !cpu.X86.HasFMA || !cpu.X86.HasF16C {
		return have
	}
	have = append(have, "avx2")
	if cpu.X86.HasAVXVNNI {
		have = append(have, "avx2-vnni")
	}
	if cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VL && cpu.X86.HasAVX512DQ && cpu.X86.HasBMI2 {
		have = append(have, "avx512")
		if cpu.X86.HasAVX512VNNI {
			have = append(have, "avx512-vnni")
		}
	}
	return have
}

func setTier(name string) {
	useVNNI512 = name == "avx512-vnni"
	useAVX512 = name == "avx512" || useVNNI512
	useVNNI = name == "avx2-vnni"
	useAVX2 = name == "avx2" || useVNNI || useAVX512
}
