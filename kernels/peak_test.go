package kernels

import (
	"testing"
	"time"
)

func TestPeakIntegers(t *testing.T) {
	defer setTier(tierName)
	for _, tier := range available() {
		setTier(tier)
		got := PeakIntegers(5 * time.Millisecond)
		if (got == 0) != (tier == "generic" || tier == "neon") {
			t.Errorf("%s: %g", tier, got)
		}
	}
}

func TestPeakFLOPS(t *testing.T) {
	defer setTier(tierName)
	for _, tier := range available() {
		setTier(tier)
		got := PeakFLOPS(5 * time.Millisecond)
		if (got == 0) != (tier == "generic") {
			t.Errorf("%s: %g", tier, got)
		}
	}
}

func TestPeakBF16(t *testing.T) {
	defer setTier(tierName)
	for _, tier := range available() {
		setTier(tier)
		got := PeakBF16(5 * time.Millisecond)
		if (got == 0) != (tier != "avx512-bf16") {
			t.Errorf("%s: %g", tier, got)
		}
	}
}
