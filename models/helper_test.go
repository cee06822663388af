package models

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// missing ends a test whose data is not on this machine: a failure where CI is
// set, which promises all of it, else a skip.
func missing(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal(what)
	}
	t.Skip(what)
}

// tinyParakeet is a small model that NeMo wrote; see the README beside it.
const tinyParakeet = "../testdata/parakeet-tiny/parakeet-tiny.nemo"

// sharedFile returns the path of a file of the shared reference data.
func sharedFile(t testing.TB, path string) string {
	t.Helper()
	root := os.Getenv("HARK_SHARED")
	if root == "" {
		root = filepath.Join("..", "..", "shared")
	}
	path = filepath.Join(root, filepath.FromSlash(path))
	if _, err := os.Stat(path); err != nil {
		missing(t, "no reference data (set HARK_SHARED): "+err.Error())
	}
	return path
}

// realModel returns the folder of a model of the ordinary store, so that one
// pull serves the tests of every package. It pulls where CI or HARK_TEST_PULL
// is set; else the model must be there, or the test is skipped.
func realModel(t testing.TB, name string) string {
	t.Helper()
	store, err := OpenStore("")
	if err != nil {
		t.Fatal(err)
	}
	if dir, ok := store.Path(name); ok {
		return dir
	}
	if os.Getenv("CI") == "" && os.Getenv("HARK_TEST_PULL") == "" {
		t.Skipf("model %s is not in %s: set HARK_TEST_PULL=1 to have it pulled", name, store.Dir())
	}
	dir, err := store.Pull(t.Context(), name, nil)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func readJSON(t testing.TB, path string, v any) {
	t.Helper()
	if err := json.Unmarshal(readFile(t, path), v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// write puts a file into a test's folder and returns its path.
func write(t testing.TB, dir, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}
