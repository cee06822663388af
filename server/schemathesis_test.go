package server

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"os/exec"
	"testing"

	"hark/fetch"
	"hark/jobs"
)

// TestSchemathesis runs what $HARK_SCHEMATHESIS names with the URL of a server: see scripts/schemathesis.sh.
func TestSchemathesis(t *testing.T) {
	command := os.Getenv("HARK_SCHEMATHESIS")
	if command == "" {
		t.Skip("HARK_SCHEMATHESIS is not set: scripts/schemathesis.sh runs this")
	}
	js := newJobServer(t, t.TempDir(), func(c *Config, _ *jobs.Config) { c.FetchPrivate = false })
	js.fetcher = fetch.New(fetch.Config{Lookup: func(context.Context, string) ([]netip.Addr, error) {
		return nil, errors.New("no names are known here") // what is made up may well name somebody
	}})
	found, err := exec.Command(command, js.url).CombinedOutput()
	t.Logf("%s", found)
	if err != nil {
		t.Errorf("%s: %v", command, err)
	}
}
