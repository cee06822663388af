package main

import (
	"context"
	"crypto/tls"
	"os"
	"sync/atomic"
	"time"
)

// certificate is one for TLS, read from two files and again when they change.
type certificate struct {
	certFile, keyFile string
	current           atomic.Pointer[tls.Certificate]
	seen              [2]time.Time // when the files were written that were last tried
}

func openCertificate(certFile, keyFile string) (*certificate, error) {
	c := &certificate{certFile: certFile, keyFile: keyFile}
	if _, err := c.reload(); err != nil {
		return nil, err
	}
	return c, nil
}

// get is for tls.Config.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return c.current.Load(), nil
}

// until is when it ends to be valid.
func (c *certificate) until() time.Time { return c.current.Load().Leaf.NotAfter }

// reload reads the files if they were written since, and reports whether what they hold is in use now. Whoever renews
// them writes one after the other: until they fit together again, the old pair stays.
func (c *certificate) reload() (changed bool, err error) {
	var written [2]time.Time
	for i, file := range []string{c.certFile, c.keyFile} {
		info, err := os.Stat(file)
		if err != nil {
			return false, err
		}
		written[i] = info.ModTime()
	}
	if written == c.seen {
		return false, nil
	}
	c.seen = written
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return false, err
	}
	c.current.Store(&pair)
	return true, nil
}

// watch looks at the files every so often until ctx ends, and tells of each change:
// nil once it's in use, or why it is not.
func (c *certificate) watch(ctx context.Context, every time.Duration, tell func(error)) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	told := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		changed, err := c.reload()
		if err == nil {
			told = ""
		}
		if changed || err != nil && err.Error() != told {
			tell(err)
		}
		if err != nil {
			told = err.Error()
		}
	}
}
