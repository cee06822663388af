// Command gen writes the amd64 assembly of package kernels: a Plan 9 .s file per op, each kernel once for AVX2 and once for AVX-512
// out of one description. The Go declarations, and the dispatch between tiers, are written by hand beside the .s files, and go vet
// compares the two.
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
}

func main() {
	dir := flag.String("o", "..", "folder to write to")
	flag.Parse()
	for _, f := range files {
		a := &asm{}
		f.emit(a)
		if err := os.WriteFile(filepath.Join(*dir, f.name), a.file(), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, "gen:", err)
			os.Exit(1)
		}
	}
}
