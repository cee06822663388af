package kernels

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// tiers names the implementations from the plainest to the fastest. A tier's place is its rank.
var tiers = []string{"generic", "avx2", "avx2-vnni", "avx512", "avx512-vnni", "avx512-bf16", "neon", "neon-dot"}

var (
	tierName   string
	tierForced bool
	tierErr    error
)

func init() {
	have := available()
	tierName, tierForced, tierErr = chooseTier(os.Getenv("HARK_CPU"), have, preferred(have))
	setTier(tierName)
}

// Tier returns the implementation in use: "generic", one of "avx2", "avx2-vnni", "avx512", "avx512-vnni" and
// "avx512-bf16" on amd64, or one of "neon" and "neon-dot" on arm64. forced says that HARK_CPU named it. err, if not
// nil, says that HARK_CPU names no tier, or one that this CPU or build lacks; then the best tier at or below the wish
// is used (the best of all for an unknown name).
func Tier() (name string, forced bool, err error) { return tierName, tierForced, tierErr }

// Tiers returns the implementations that this CPU and build can run, as HARK_CPU takes them, from the plainest to the
// fastest.
func Tiers() []string { return available() }

// chooseTier picks from have, a subset of tiers in rank order that begins with generic; best where there is no wish.
func chooseTier(want string, have []string, best string) (name string, forced bool, err error) {
	want = strings.ToLower(strings.TrimSpace(want))
	if want == "" {
		return best, false, nil
	}
	rank := slices.Index(tiers, want)
	if rank < 0 {
		return best, false, unusableTier(want, have)
	}
	if slices.Contains(have, want) {
		return want, true, nil
	}
	for _, t := range have {
		if slices.Index(tiers, t) <= rank {
			name = t
		}
	}
	return name, false, unusableTier(want, have)
}

func unusableTier(want string, have []string) error {
	return fmt.Errorf("HARK_CPU=%q: this CPU and build have no such code: choose one of %s", want, strings.Join(have, ", "))
}
