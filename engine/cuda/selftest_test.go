//go:build linux && amd64 && !nocuda

package cuda

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

func TestSelfTest(t *testing.T) {
	for _, s := range []Storage{F16, BF16} {
		if err := newDevice(t, Config{Storage: s}).SelfTest(); err != nil {
			t.Error(err)
		}
	}
}

// TestSelfTestNames holds the names here to the checks in the kernel's source.
func TestSelfTestNames(t *testing.T) {
	source, err := os.ReadFile("../../kernels/cuda/selftest.cu")
	if err != nil {
		t.Fatal(err)
	}
	checks := regexp.MustCompile(`enum \{ (CONVERT[^}]*) \};`).FindSubmatch(source)
	if checks == nil || len(strings.Split(string(checks[1]), ", ")) != len(primitives) {
		t.Errorf("%d names for the checks %s", len(primitives), checks)
	}
	err = failedPrimitives([]byte{1, 0, 0, 0, 0x10, 0, 0, 0x80})
	if want := "conversion, mma, check 31"; err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := failedPrimitives(make([]byte, 128)); err != nil {
		t.Error(err)
	}
}
