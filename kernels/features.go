package kernels

import "golang.org/x/sys/cpu"

// Features returns the names of the CPU's vector extensions, in a fixed order, whether a kernel uses them or not: what
// `hark doctor` prints. The system's support for wider registers is part of the test.
func Features() []string {
	all := []struct {
		name string
		has  bool
	}{
		{"sse4.1", cpu.X86.HasSSE41},
		{"avx", cpu.X86.HasAVX},
		{"avx2", cpu.X86.HasAVX2},
		{"fma", cpu.X86.HasFMA},
		{"f16c", cpu.X86.HasF16C},
		{"avx-vnni", cpu.X86.HasAVXVNNI},
		{"avx512f", cpu.X86.HasAVX512F},
		{"avx512bw", cpu.X86.HasAVX512BW},
		{"avx512vl", cpu.X86.HasAVX512VL},
		{"avx512dq", cpu.X86.HasAVX512DQ},
		{"avx512vnni", cpu.X86.HasAVX512VNNI},
		{"avx512bf16", cpu.X86.HasAVX512BF16},
		{"amx-int8", cpu.X86.HasAMXInt8},
		{"amx-bf16", cpu.X86.HasAMXBF16},
		{"asimd", cpu.ARM64.HasASIMD},
		{"asimddp", cpu.ARM64.HasASIMDDP},
		{"sve", cpu.ARM64.HasSVE},
	}
	var names []string
	for _, f := range all {
		if f.has {
			names = append(names, f.name)
		}
	}
	return names
}
