package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
)

// What goes wrong with an input is told without its name, which whoever reports it adds.
func TestOpenInputErrors(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	if _, err := openInput(missing, nil); !errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), "missing") {
		t.Errorf("a missing file: got %v", err)
	}

	broken := errors.New("the pipe burst")
	if _, err := openInput(stdinName, iotest.ErrReader(broken)); !errors.Is(err, broken) || hintFor(err) != "" {
		t.Errorf("a reader that fails: got %v, hint %q", err, hintFor(err))
	}
	// The copy of a file is not made by the system, whose calls an error would name.
	if dir, err := os.Open(t.TempDir()); err == nil {
		defer dir.Close()
		if _, err := openInput(stdinName, dir); err == nil || strings.Contains(err.Error(), "copy_file_range") {
			t.Errorf("a folder: got %v", err)
		}
	}

	t.Setenv("TMPDIR", missing)
	if os.TempDir() != missing {
		t.Skip("TMPDIR is not this system's")
	}
	_, err := openInput(stdinName, strings.NewReader("sound"))
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), missing) || !strings.Contains(hintFor(err), "TMPDIR") {
		t.Errorf("no folder for temporary files: got %v, hint %q", err, hintFor(err))
	}
}

func TestSpoolReadsFromTheStart(t *testing.T) {
	f, err := openInput(stdinName, strings.NewReader("sound"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got, err := io.ReadAll(f); err != nil || string(got) != "sound" {
		t.Errorf("got %q, %v", got, err)
	}
}
