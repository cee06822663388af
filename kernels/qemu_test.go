//go:build linux && !arm64

package kernels

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestARM64 runs the tests of the NEON kernels on a machine that has none, in an emulator of the processor. The
// reference values are computed in there too, which takes most of the time.
func TestARM64(t *testing.T) {
	if testing.Short() {
		t.Skip("unrun: emulation is slow")
	}
	qemu := emulator()
	if qemu == "" {
		t.Skip("unrun: no qemu-aarch64 here (Debian's package qemu-user-static)")
	}
	binary := filepath.Join(t.TempDir(), "kernels.test")
	build := exec.Command("go", "test", "-c", "-o", binary, ".")
	build.Env = append(os.Environ(), "GOARCH=arm64", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", build, err, out)
	}
	for _, c := range []struct{ tier, run, skip string }{
		{"neon-dot", ".*/neon-dot$", "Huge|Generated|Split"}, // the emulator hides how memory is mapped
		{"neon", "I8/neon$", "Split"},
	} {
		cmd := exec.Command(qemu, binary, "-test.short", "-test.v", "-test.run", c.run, "-test.skip", c.skip)
		cmd.Env = append(os.Environ(), "HARK_CPU="+c.tier)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", c.tier, err, out)
		}
		if n := strings.Count(string(out), "/"+c.tier+" ("); n < 5 {
			t.Errorf("%s: only %d tests ran its kernels\n%s", c.tier, n, out)
		}
	}
}
