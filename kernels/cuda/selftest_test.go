package cuda

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestEveryPrimitiveIsChecked looks for the dialect's primitives in the self-test.
func TestEveryPrimitiveIsChecked(t *testing.T) {
	dialect, err := os.ReadFile("dev.h")
	if err != nil {
		t.Fatal(err)
	}
	check, err := os.ReadFile("selftest.cu")
	if err != nil {
		t.Fatal(err)
	}
	text := string(dialect)
	text = text[strings.Index(text, "device only"):]
	names := regexp.MustCompile(`(?m)^(?:template <int N> )?DEVICE \w+ (\w+)\(`).FindAllStringSubmatch(text, -1)
	if len(names) < 10 {
		t.Fatalf("found %d primitives in dev.h", len(names))
	}
	hidden := map[string]bool{"shared_address": true, "mma_f16": true, "mma_bf16": true} // used by others, or as T::mma
	for _, n := range names {
		if !hidden[n[1]] && !regexp.MustCompile(`\b`+n[1]+`\b`).Match(check) {
			t.Errorf("selftest.cu does not check %s", n[1])
		}
	}
}
