package cuda

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestModules(t *testing.T) {
	sources, err := filepath.Glob("*.cu")
	if err != nil {
		t.Fatal(err)
	}
	all := Modules()
	if len(all) != len(sources) {
		t.Errorf("%d modules of %d sources", len(all), len(sources))
	}
	for _, m := range all {
		if _, err := os.Stat(m.Name + ".cu"); err != nil {
			t.Error(err)
		}
		if s := string(m.SM80); !strings.Contains(s, ".target sm_80") || !strings.Contains(s, ".version 8.0") {
			t.Errorf("%s: not PTX 8.0 for sm_80", m.Name)
		}
		if s := string(m.SM75); !strings.Contains(s, ".target sm_75") || strings.Contains(s, "_bf16(") {
			t.Errorf("%s: not for sm_75 alone", m.Name)
		}
	}
}

// TestPTXCurrent fails when PTX is not what NVRTC makes of the sources now.
func TestPTXCurrent(t *testing.T) {
	gen(t, "-check")
}

// TestNoSpills assembles the PTX and logs what kernels take of a GPU: in CI for all architectures, else for the two that PTX is made
// for. Registers that are spilled fail it: a kernel that spills should be another one.
func TestNoSpills(t *testing.T) {
	archs := "sm_75,sm_80"
	if os.Getenv("CI") != "" {
		archs = "all"
	}
	t.Logf("\n%s", gen(t, "-report", archs))
}

// gen runs the generator, for half a minute. Without the wheels that it needs the test is skipped, except in CI.
func gen(t *testing.T, args ...string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("compiles every kernel")
	}
	readAll(t)
	cmd := exec.Command("go", append([]string{"run", "-C", "_gen", "."}, args...)...)
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "GOOS=", "GOARCH=", "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err != nil && strings.Contains(string(out), "scripts/cuda/setup.sh") && os.Getenv("CI") == "" {
		t.Skipf("NOT CHECKED: %s", out)
	}
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, out)
	}
	return string(out)
}

// readAll reads what the generator reads, so that the go command doesn't take an earlier result for that of other sources.
func readAll(t *testing.T) {
	t.Helper()
	for _, pattern := range []string{"*.cu", "*.h", "*.ptx", "_gen/*"} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, p := range paths {
			if _, err := os.ReadFile(p); err != nil {
				t.Fatal(err)
			}
		}
	}
}
