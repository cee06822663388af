// Command mutants takes the guards of package batcher away, one at a time, and checks that a test fails for each. A
// guard that can be removed unnoticed is either not needed or not tested.
//
// The tree is left alone: go test -overlay puts the changed file in place of the real one. Run it in the repository's
// root; with arguments it tries only the guards whose names contain one of them.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(only []string) error {
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for _, m := range mutants { // a guard that has been rewritten is told at once
		if _, err := m.mutate(); err != nil {
			return fmt.Errorf("%s: %w", m.guard, err)
		}
	}
	if out, err := exec.Command("go", "test", "./batcher", "./batcher/sim").CombinedOutput(); err != nil {
		return fmt.Errorf("a test fails as it is:\n%s", out)
	}
	tried, survived := 0, 0
	for _, m := range mutants {
		if !chosen(m.guard, only) {
			continue
		}
		tried++
		test, err := m.try(dir)
		if err != nil {
			return fmt.Errorf("%s: %w", m.guard, err)
		}
		if test == "" {
			survived++
			test = "SURVIVED: no test fails without it"
		}
		fmt.Printf("%-42s %s\n", m.guard, test)
	}
	switch {
	case tried == 0:
		return errors.New("no guard has such a name")
	case survived > 0:
		return fmt.Errorf("%d of %d guards can be removed unnoticed", survived, tried)
	}
	fmt.Printf("all %d guards are tested\n", tried)
	return nil
}

func chosen(guard string, only []string) bool {
	for _, part := range only {
		if strings.Contains(guard, part) {
			return true
		}
	}
	return len(only) == 0
}

// mutant is a guard, and how to remove it: in a file of batcher, the one place that reads old becomes new.
type mutant struct{ guard, file, old, new string }

func (m mutant) path() string { return filepath.Join("batcher", m.file) }

// mutate returns the file without the guard.
func (m mutant) mutate() ([]byte, error) {
	source, err := os.ReadFile(m.path())
	if err != nil {
		return nil, err
	}
	if n := bytes.Count(source, []byte(m.old)); n != 1 {
		return nil, fmt.Errorf("%s has %d places that read %q, want 1", m.path(), n, m.old)
	}
	return bytes.Replace(source, []byte(m.old), []byte(m.new), 1), nil
}

// try returns the name of a test that fails without the guard; "" if none does.
func (m mutant) try(dir string) (test string, err error) {
	source, err := m.mutate()
	if err != nil {
		return "", err
	}
	changed := filepath.Join(dir, m.file)
	if err := os.WriteFile(changed, source, 0o600); err != nil {
		return "", err
	}
	absolute, err := filepath.Abs(m.path())
	if err != nil {
		return "", err
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {absolute: changed}})
	if err != nil {
		return "", err
	}
	overlayFile := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlayFile, overlay, 0o600); err != nil {
		return "", err
	}
	for _, pkg := range []string{"./batcher", "./batcher/sim"} {
		test, err := failing(overlayFile, pkg)
		if test != "" || err != nil {
			return test, err
		}
	}
	return "", nil
}

var (
	failed  = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)
	running = regexp.MustCompile(`(?m)^\s*(Test\w+|Fuzz\w+)\S* \(`) // of one that never ended
	crashed = regexp.MustCompile(`\.(Test\w+|Fuzz\w+)[.(]`)         // in a stack
)

// failing returns the name of the first test of a package that fails.
func failing(overlay, pkg string) (test string, err error) {
	args := []string{"test", "-count=1", "-failfast", "-timeout=60s", "-overlay", overlay, pkg}
	if pkg == "./batcher" {
		args = append(args, "-rapid.nofailfile")
	}
	out, err := exec.Command("go", args...).CombinedOutput()
	if err == nil {
		return "", nil
	}
	if bytes.Contains(out, []byte("[build failed]")) || bytes.Contains(out, []byte("[setup failed]")) {
		return "", fmt.Errorf("does not build:\n%s", out)
	}
	for _, pattern := range []*regexp.Regexp{failed, running, crashed} {
		if found := pattern.FindSubmatch(out); found != nil {
			return string(found[1]), nil
		}
	}
	return "", fmt.Errorf("go test: %w:\n%s", err, out)
}
