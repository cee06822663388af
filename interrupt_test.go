package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"time"
)

// TestInterruptWhileReading ends a command that waits for a pipe which brings nothing.
func TestInterruptWhileReading(t *testing.T) {
	if ok, err := condition("model:tiny.en"); err != nil || !ok {
		t.Skip("model tiny.en is not here: make models")
	}
	stdin, writer := io.Pipe()
	defer writer.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	reading := make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, []string{"transcribe", "--model", "tiny.en", "-"}, &signalReader{stdin, reading}, io.Discard, io.Discard)
	}()
	<-reading
	cancel()
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) || exitCode(err) != 130 {
			t.Errorf("got %v, exit code %d, want an interruption, 130", err, exitCode(err))
		}
		var out bytes.Buffer
		report(&out, err)
		if out.String() != "hark: interrupted\n" {
			t.Errorf("got %q", out.String())
		}
	case <-time.After(patience):
		t.Fatal("still reading")
	}
}

// signalReader tells when it is read for the first time.
type signalReader struct {
	io.Reader
	reading chan struct{}
}

func (r *signalReader) Read(p []byte) (int, error) {
	if r.reading != nil {
		close(r.reading)
		r.reading = nil
	}
	return r.Reader.Read(p)
}
