package server

import (
	"os"
	"os/exec"
	"testing"
)

// TestSchemathesis runs what $HARK_SCHEMATHESIS names with the URL of a server: see scripts/schemathesis.sh.
func TestSchemathesis(t *testing.T) {
	command := os.Getenv("HARK_SCHEMATHESIS")
	if command == "" {
		t.Skip("HARK_SCHEMATHESIS is not set: scripts/schemathesis.sh runs this")
	}
	ts := newTestServer(t, nil)
	found, err := exec.Command(command, ts.url).CombinedOutput()
	t.Logf("%s", found)
	if err != nil {
		t.Errorf("%s: %v", command, err)
	}
}
