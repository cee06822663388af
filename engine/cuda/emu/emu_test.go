//go:build linux && amd64 && !nocuda

package emu

import (
	"testing"
	"unsafe"
)

func TestCountsHaveOneWidth(t *testing.T) {
	if unsafe.Sizeof(Counts{}) != 15*8 {
		t.Error("Counts differs from the emulator's")
	}
}

func TestBuild(t *testing.T) {
	g := New(t)
	if c := g.Counts(); c.Calls != 0 {
		t.Errorf("%d calls before the first", c.Calls)
	}
}
