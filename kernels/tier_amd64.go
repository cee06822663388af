//go:build amd64 && !noasm

package kernels

import "golang.org/x/sys/cpu"

// The booleans steer every dispatch of the package. They are set before any kernel runs and change only in tests.
// useAVX512 implies useAVX2, useBF16 implies useVNNI512, which implies useAVX512; useVNNI, on AVX2 registers, implies
// useAVX2.
var useAVX2, useVNNI, useAVX512, useVNNI512, useBF16 bool

// available returns the tiers that this machine can run, in rank order. x/sys/cpu asks the system too (XCR0), not the
// CPU alone.
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
			if cpu.X86.HasAVX512BF16 {
				have = append(have, "avx512-bf16")
			}
		}
	}
	return have
}

// preferred returns the tier that is best where nobody asks for one. VDPBF16PS does two multiply-adds where VFMADD231PS
// does one, but a Xeon (family 6, model 207) runs a quarter as many of it: so it is used by itself on AMD only. All
// else is the same in both tiers.
func preferred(have []string) string {
	if best := have[len(have)-1]; best != "avx512-bf16" || vendor() == amd {
		return best
	}
	return "avx512-vnni"
}

// amd is how CPUID spells AuthenticAMD, its first four letters.
const amd = 'A' | 'u'<<8 | 't'<<16 | 'h'<<24

// vendor is the beginning of the CPU's vendor's name.
func vendor() (first uint32)

func setTier(name string) {
	useBF16 = name == "avx512-bf16"
	useVNNI512 = name == "avx512-vnni" || useBF16
	useAVX512 = name == "avx512" || useVNNI512
	useVNNI = name == "avx2-vnni"
	useAVX2 = name == "avx2" || useVNNI || useAVX512
}
