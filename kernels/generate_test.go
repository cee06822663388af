package kernels

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestGenerated fails when a generated file is not what the generator writes now.
func TestGenerated(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command("go", "run", "-C", "_gen", ".", "-o", dir)
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "GOOS=", "GOARCH=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, out)
	}
	made, err := filepath.Glob(filepath.Join(dir, "*.s"))
	if err != nil || len(made) == 0 {
		t.Fatalf("the generator wrote nothing: %v", err)
	}
	kept, err := filepath.Glob("*.s")
	if err != nil {
		t.Fatal(err)
	}
	if len(kept) != len(made) {
		t.Errorf("%d generated files here (%s), the generator writes %d", len(kept), strings.Join(kept, ", "), len(made))
	}
	for _, f := range made {
		want, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Base(f))
		if err != nil {
			t.Error(err)
		} else if !bytes.Equal(got, want) {
			t.Errorf("%s is stale: run go generate in kernels", filepath.Base(f))
		}
	}
}
