package kernels

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// eachTier runs f once per implementation, the tier being the name of the subtest. One that this machine or build lacks
// is skipped and named as unrun.
func eachTier(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	defer setTier(tierName)
	for _, tier := range tiers {
		t.Run(tier, func(t *testing.T) {
			useTier(t, tier)
			f(t)
		})
	}
}

// emulator is the program that runs the NEON kernels on a machine that has none, or "".
func emulator() string {
	for _, name := range []string{"qemu-aarch64-static", "qemu-aarch64"} {
		if file, err := exec.LookPath(name); err == nil {
			return file
		}
	}
	return ""
}

func useTier(tb testing.TB, tier string) {
	if !slices.Contains(available(), tier) {
		tb.Skipf("unrun: this CPU or build has no %s", tier)
	}
	setTier(tier)
}

// TestTier also makes a run with HARK_CPU set fail on a machine that lacks what the run is meant to test. `make test`
// shows what it logs, since skipped tests are not seen otherwise.
func TestTier(t *testing.T) {
	name, forced, err := Tier()
	unrun := slices.DeleteFunc(slices.Clone(tiers), func(tier string) bool {
		return slices.Contains(available(), tier) || strings.HasPrefix(tier, "neon") && emulator() != ""
	})
	if len(unrun) == 0 {
		unrun = []string{"none"}
	}
	t.Logf("tiers unrun on this machine: %s", strings.Join(unrun, ", "))
	t.Logf("tier %s, forced %v, error %v; can run %v; CPU has %v", name, forced, err, available(), Features())
	if err != nil {
		t.Error(err)
	}
	if !slices.Contains(available(), name) {
		t.Errorf("tier %q is not among %v", name, available())
	}
}

func TestChooseTier(t *testing.T) {
	for _, c := range []struct {
		want   string
		have   []string
		name   string
		forced bool
		err    string
	}{
		{"", []string{"generic"}, "generic", false, ""},
		{"", []string{"generic", "avx2", "avx512"}, "avx512", false, ""},
		{"generic", []string{"generic", "avx2", "avx512"}, "generic", true, ""},
		{" AVX2 ", []string{"generic", "avx2", "avx512"}, "avx2", true, ""},
		{"avx2-vnni", []string{"generic", "avx2", "avx512"}, "avx2", false,
			`HARK_CPU="avx2-vnni": this CPU and build have no such code: choose one of generic, avx2, avx512`},
		{"avx512", []string{"generic", "avx2"}, "avx2", false,
			`HARK_CPU="avx512": this CPU and build have no such code: choose one of generic, avx2`},
		{"avx2", []string{"generic"}, "generic", false,
			`HARK_CPU="avx2": this CPU and build have no such code: choose one of generic`},
		{"sse", []string{"generic", "avx2"}, "avx2", false,
			`HARK_CPU="sse": this CPU and build have no such code: choose one of generic, avx2`},
	} {
		name, forced, err := chooseTier(c.want, c.have, c.have[len(c.have)-1])
		var msg string
		if err != nil {
			msg = err.Error()
		}
		if name != c.name || forced != c.forced || msg != c.err {
			t.Errorf("chooseTier(%q, %v) = %q, %v, %q; want %q, %v, %q", c.want, c.have, name, forced, msg, c.name, c.forced, c.err)
		}
	}
}
