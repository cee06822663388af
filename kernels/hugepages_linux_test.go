package kernels

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unsafe"
)

// TestAdviseHuge looks for the advice in the kernel's account of the mapping.
func TestAdviseHuge(t *testing.T) {
	x := make([]byte, 4*hugePage)
	if err := adviseHuge(x); err != nil {
		t.Skipf("unrun: this kernel has no transparent huge pages: %v", err)
	}
	if err := adviseHuge(x[:1000]); err != nil {
		t.Errorf("a slice without a whole huge page: %v", err)
	}
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Skipf("unrun: %v", err)
	}
	defer f.Close()
	at := uintptr(unsafe.Pointer(&x[len(x)/2]))
	inside := false
	for s := bufio.NewScanner(f); s.Scan(); {
		var from, to uintptr
		if n, _ := fmt.Sscanf(s.Text(), "%x-%x ", &from, &to); n == 2 {
			inside = from <= at && at < to
		}
		if flags, ok := strings.CutPrefix(s.Text(), "VmFlags:"); ok && inside {
			if !slices.Contains(strings.Fields(flags), "hg") {
				t.Errorf("flags of the mapping:%s, want hg among them", flags)
			}
			return
		}
	}
	t.Skip("unrun: the kernel doesn't tell the flags of this mapping")
}
