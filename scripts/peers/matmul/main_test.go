//go:build linux && (amd64 || arm64)

package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRun has hark compute one shape, without the libraries.
func TestRun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "out.json")
	var table strings.Builder
	if err := run([]string{"-rounds", "1", "-only", "tiny.en decoder 4x384x384", "-out", file}, &table, io.Discard); err != nil {
		t.Fatal(err)
	}
	if got := table.String(); strings.Count(got, "4x384x384") != 1 || strings.Contains(got, "1x384x384") {
		t.Errorf("the table is %s", got)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var report Report
	if err := json.Unmarshal(text, &report); err != nil {
		t.Fatal(err)
	}
	if len(report.Rows) != 1 {
		t.Fatalf("%d rows", len(report.Rows))
	}
	for _, way := range []string{"hark f32", "hark halves", "hark int8"} {
		if !(report.Rows[0].GFLOPS[way] > 0) {
			t.Errorf("%s: no rate in %v", way, report.Rows[0].GFLOPS)
		}
	}
}

// TestCheck holds that a wrong product is found.
func TestCheck(t *testing.T) {
	h, err := newHark(1)
	if err != nil {
		t.Fatal(err)
	}
	s := shape{"", 2, 3, 4}
	x, w := []float32{1, 2, 3, 4, 5, 6, 7, 8}, []float32{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 1}
	all, err := h.contenders(s, x, w)
	if err != nil {
		t.Fatal(err)
	}
	want := reference(s, x, w)
	for _, c := range all {
		if err := check(c, s, want); err != nil {
			t.Error(err)
		}
	}
	want[5]++
	if err := check(all[0], s, want); err == nil {
		t.Error("a wrong product is not found")
	}
}
