package conform

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strings"
)

// dial opens a bare link to the server, for what an HTTP client would not do. The caller closes it.
func (s *session) dial(ctx context.Context) (net.Conn, error) {
	host := s.base.Host
	if s.base.Port() == "" {
		host = net.JoinHostPort(s.base.Hostname(), map[string]string{"http": "80", "https": "443"}[s.base.Scheme])
	}
	link, err := s.cfg.dial(ctx, "tcp", host)
	if err != nil || s.base.Scheme != "https" {
		return link, err
	}
	secured := tls.Client(link, &tls.Config{ServerName: s.base.Hostname(), NextProtos: []string{"http/1.1"}})
	if err := secured.HandshakeContext(ctx); err != nil {
		link.Close()
		return nil, err
	}
	return secured, nil
}

// requestHead is a request's first lines, up to where Content-Type follows.
func (s *session) requestHead(method, path string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\n", method, s.base.JoinPath(path).RequestURI(), s.base.Host)
	if s.cfg.Key != "" {
		fmt.Fprintf(&b, "Authorization: Bearer %s\r\n", s.cfg.Key)
	}
	return b.String()
}
