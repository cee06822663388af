//go:build amd64 && !noasm

package kernels

import (
	"os"
	"strings"
	"testing"
)

// TestPreferred leaves products of bfloat16 to CPUs of AMD, as /proc/cpuinfo names them.
func TestPreferred(t *testing.T) {
	if got := preferred([]string{"generic", "avx2", "avx512", "avx512-vnni"}); got != "avx512-vnni" {
		t.Errorf("without bf16: %s", got)
	}
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		t.Skip(err)
	}
	want := "avx512-vnni"
	if strings.Contains(string(info), "AuthenticAMD") {
		want = "avx512-bf16"
	}
	if got := preferred([]string{"generic", "avx2", "avx512", "avx512-vnni", "avx512-bf16"}); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
