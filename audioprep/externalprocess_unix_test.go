//go:build unix

package audioprep

import (
	"context"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
)

// TestProcessGroup: with the request go all that the program started. What holds the
// other end of a pipe ends when the last of them does.
func TestProcessGroup(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	p, err := startProcess(ctx, scriptFile(t, "sleep 1000 & sleep 1000 & echo started; wait"), nil, w)
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	if _, err := io.ReadFull(p.stdout, make([]byte, len("started"))); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := p.wait(); err == nil {
		t.Error("got no error from a program that was killed")
	}
	if b, err := io.ReadAll(r); err != nil || len(b) != 0 {
		t.Errorf("got %q, %v, want the end", b, err)
	}
}

// TestProcessMeans: it has no environment but where programs lie, and bounded memory.
func TestProcessMeans(t *testing.T) {
	t.Setenv("FFREPORT", "file=report.log")
	t.Setenv("HOME", "/home/somebody")
	t.Setenv("http_proxy", "http://127.0.0.1:1")
	script := "env"
	if runtime.GOOS == "linux" {
		script = "sleep 0.2; env; cat /proc/self/limits" // bounds are set when it runs already
	}
	p, err := startProcess(context.Background(), scriptFile(t, script), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := io.ReadAll(p.stdout)
	if err := p.wait(); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"FFREPORT", "somebody", "127.0.0.1"} {
		if strings.Contains(string(b), bad) {
			t.Errorf("it sees %s: %s", bad, b)
		}
	}
	if runtime.GOOS != "linux" {
		return
	}
	text := strings.Join(strings.Fields(string(b)), " ")
	for _, want := range []string{"Max address space 1073741824 1073741824", "Max file size 0 0", "Max core file size 0 0"} {
		if !strings.Contains(text, want) {
			t.Errorf("got %s, want %s", text, want)
		}
	}
}
