// Command gen writes the assembly of package kernels: a Plan 9 .s file per op and architecture, for amd64 each kernel
// once for AVX2 and once for AVX-512 out of one description, for arm64 once for NEON. The Go declarations, and the
// dispatch between tiers, are written by hand beside the .s files, and go vet compares the two.
//
// It is a module of its own, so that go build ./... does not see it. Run it by go generate in the kernels folder, or
//
//	go run -C _gen . [-o dir]
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

// files names each generated file and what goes into it.
var files = []struct {
	name string
	emit func(a *asm)
}{
	{"matmul_amd64.s", matmul},
	{"pack_amd64.s", pack},
	{"half_amd64.s", halves},
	{"bf16_amd64.s", bf16},
	{"activation_amd64.s", activation},
	{"vector_amd64.s", vector},
	{"softmax_amd64.s", softmax},
	{"layernorm_amd64.s", layerNorm},
	{"attentionrow_amd64.s", attentionRow},
	{"depthwise_amd64.s", depthwise},
	{"gate_amd64.s", gate},
	{"lstmcell_amd64.s", lstmCell},
	{"log_amd64.s", log},
	{"fold_amd64.s", fold},
	{"peak_amd64.s", peak},
	{"quantise_amd64.s", quantise},
	{"matmuli8_amd64.s", matmulI8},
	{"sevens_amd64.s", sevens},
	{"nonzero_amd64.s", nonzero},
	{"vendor_amd64.s", vendor},
}

// neonFiles are those for arm64.
var neonFiles = []struct {
	name string
	emit func(n *neon)
}{
	{"matmul_arm64.s", neonMatmul},
	{"half_arm64.s", neonHalf},
	{"bf16_arm64.s", neonBF16},
	{"activation_arm64.s", neonActivation},
	{"vector_arm64.s", neonVector},
	{"softmax_arm64.s", neonSoftmax},
	{"layernorm_arm64.s", neonLayerNorm},
	{"attentionrow_arm64.s", neonAttentionRow},
	{"depthwise_arm64.s", neonDepthwise},
	{"gate_arm64.s", neonGate},
	{"lstmcell_arm64.s", neonLSTMCell},
	{"log_arm64.s", neonLog},
	{"fold_arm64.s", neonFold},
	{"peak_arm64.s", neonPeak},
	{"quantise_arm64.s", neonQuantise},
	{"matmuli8_arm64.s", neonMatmulI8},
}

func main() {
	dir := flag.String("o", "..", "folder to write to")
	flag.Parse()
	write := func(name string, text []byte) {
		if err := os.WriteFile(filepath.Join(*dir, name), text, 0o644); err != nil {
			fmt.Fprintln(os.Stderr, "gen:", err)
			os.Exit(1)
		}
	}
	for _, f := range files {
		a := &asm{}
		f.emit(a)
		write(f.name, a.file())
	}
	for _, f := range neonFiles {
		n := &neon{}
		f.emit(n)
		write(f.name, n.file())
	}
}
