package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"strings"
	"syscall"
	"time"
)

// Config bounds a Fetcher. Every zero value means its default.
type Config struct {
	// AllowPrivate lets loopback and private networks be called. Link-local addresses and metadata services never are.
	AllowPrivate bool
	// MaxBytes is the largest file. Default 2 GiB.
	MaxBytes int64
	// Timeout is the longest time for one file, redirects included; IdleTimeout the
	// longest pause in it. Defaults 1 h and 30 s.
	Timeout, IdleTimeout time.Duration
	// MaxRedirects is how many are followed. Default 5.
	MaxRedirects int
	// UserAgent is sent along. Default "hark".
	UserAgent string
	// Lookup resolves a name; nil: the system does. Tests bring their own.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
}

// Fetcher gets files. It is safe for concurrent use.
type Fetcher struct {
	cfg       Config
	transport *http.Transport
	client    *http.Client
}

// File is what was got, beside its bytes.
type File struct {
	// Name is the last part of the URL's path, "" if that has none. It's what a browser would call the file.
	Name string
	// Bytes is how long it was.
	Bytes int64
}

// New returns a Fetcher.
func New(cfg Config) *Fetcher {
	cfg.MaxBytes = cmp.Or(cfg.MaxBytes, 2<<30)
	cfg.Timeout = cmp.Or(cfg.Timeout, time.Hour)
	cfg.IdleTimeout = cmp.Or(cfg.IdleTimeout, 30*time.Second)
	cfg.MaxRedirects = cmp.Or(cfg.MaxRedirects, 5)
	cfg.UserAgent = cmp.Or(cfg.UserAgent, "hark")
	if cfg.Lookup == nil {
		cfg.Lookup = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	f := &Fetcher{cfg: cfg}
	f.transport = &http.Transport{
		Proxy:                  nil, // what it connects to could not be seen
		DialContext:            f.dial,
		TLSHandshakeTimeout:    10 * time.Second,
		ResponseHeaderTimeout:  cfg.IdleTimeout,
		MaxResponseHeaderBytes: 64 << 10,
		MaxIdleConns:           16,
		MaxIdleConnsPerHost:    1,
		IdleConnTimeout:        30 * time.Second,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true, // so that bytes are what is counted
	}
	f.client = &http.Client{Transport: f.transport, CheckRedirect: f.redirect}
	return f
}

// Client returns a client that keeps the rule about addresses and follows no redirects, for
// posting. Its requests need bounds of their own.
func (f *Fetcher) Client() *http.Client {
	return &http.Client{
		Transport:     f.transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Limited returns a Fetcher of files of so many bytes at most, over the same connections.
func (f *Fetcher) Limited(maxBytes int64) *Fetcher {
	limited := *f
	limited.cfg.MaxBytes = min(f.cfg.MaxBytes, maxBytes)
	return &limited
}

// Close drops connections that are kept open.
func (f *Fetcher) Close() { f.transport.CloseIdleConnections() }

// Parse checks a URL's form: absolute, http or https, with a host. The error is a *RefusedError.
func Parse(raw string) (*url.URL, error) {
	if len(raw) > maxURL {
		return nil, &RefusedError{Reason: fmt.Sprintf("has more than %d bytes", maxURL)}
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return nil, &RefusedError{Reason: "can't be parsed"} // the parser's message would repeat it, secrets and all
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, &RefusedError{Reason: "must begin with http:// or https://"}
	case u.Hostname() == "":
		return nil, &RefusedError{Reason: "names no host"}
	case strings.ContainsFunc(u.Hostname(), func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return nil, &RefusedError{Reason: "names a host that none can be called"}
	}
	return u, nil
}

// maxURL is what servers take at most, as a rule (RFC 9110, section 4.1, asks for 8000 at least).
const maxURL = 8192

// Check finds out early whether a URL would be refused. A name that can't be resolved now passes: it's met again when
// it is called. The error is a *RefusedError, or ctx's.
func (f *Fetcher) Check(ctx context.Context, raw string) error {
	u, err := Parse(raw)
	if err != nil {
		return err
	}
	_, err = f.resolve(ctx, u.Hostname())
	if refused := (*RefusedError)(nil); errors.As(err, &refused) || ctx.Err() != nil {
		return err
	}
	return nil
}

// resolve finds a host's addresses, of which none may be refused: a name that leads to both kinds is up to no good.
func (f *Fetcher) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	var addrs []netip.Addr
	if literal, err := netip.ParseAddr(host); err == nil {
		addrs = []netip.Addr{literal}
	} else if addrs, err = f.cfg.Lookup(ctx, host); err != nil {
		return nil, err
	}
	for _, addr := range addrs {
		if err := f.allowed(host, addr); err != nil {
			return nil, err
		}
	}
	if len(addrs) == 0 {
		return nil, &net.DNSError{Err: "no addresses", Name: host, IsNotFound: true}
	}
	return addrs, nil
}

// allowed returns a *RefusedError for an address that may not be called.
func (f *Fetcher) allowed(host string, addr netip.Addr) error {
	kind := refusal(addr, f.cfg.AllowPrivate)
	if kind == "" {
		return nil
	}
	return &RefusedError{Host: host, Addr: addr, Reason: "stands for " + kind, Private: refusal(addr, true) == ""}
}

// dial connects to a host, through one address after the other. The address that is looked at is the one that is
// dialled; Control looks again at what the system is really given.
func (f *Fetcher) dial(ctx context.Context, network, hostport string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(hostport)
	if err != nil {
		return nil, err
	}
	addrs, err := f.resolve(ctx, host)
	if err != nil {
		return nil, err
	}
	d := net.Dialer{Timeout: 10 * time.Second, ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		return f.allowed(host, at.Addr())
	}}
	var errs []error
	for _, addr := range addrs {
		conn, err := d.DialContext(ctx, network, net.JoinHostPort(addr.String(), port))
		if err == nil {
			return conn, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// redirect decides about each redirect. Its address is looked at when it's dialled, as any.
func (f *Fetcher) redirect(r *http.Request, via []*http.Request) error {
	if len(via) > f.cfg.MaxRedirects {
		return &RedirectError{f.cfg.MaxRedirects}
	}
	_, err := Parse(r.URL.String())
	return err
}

// Fetch writes what lies at a URL to dst, as it comes. What dst fails with comes back as it is; every other error is a
// *RefusedError, *StatusError, *SizeError, *TimeError, *RedirectError, *NetworkError, or ctx's.
func (f *Fetcher) Fetch(ctx context.Context, raw string, dst io.Writer) (File, error) {
	u, err := Parse(raw)
	if err != nil {
		return File{}, err
	}
	caller := ctx
	ctx, cancel := context.WithTimeoutCause(ctx, f.cfg.Timeout, &TimeError{Max: f.cfg.Timeout})
	defer cancel()
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	idle := time.AfterFunc(f.cfg.IdleTimeout, func() { giveUp(&TimeError{f.cfg.IdleTimeout, true}) })
	defer idle.Stop()

	file := File{Name: fileName(u)}
	file.Bytes, err = f.fetch(ctx, u, &patient{w: dst, idle: idle, every: f.cfg.IdleTimeout})
	return file, f.explain(caller, ctx, err)
}

// patient puts off giving up with everything that is written, and while it's written.
type patient struct {
	w     io.Writer
	idle  *time.Timer
	every time.Duration
}

func (p *patient) Write(b []byte) (int, error) {
	p.idle.Stop()
	n, err := p.w.Write(b)
	p.idle.Reset(p.every)
	if err != nil {
		err = &writeError{err}
	}
	return n, err
}

// writeError is what the caller's own writer failed with.
type writeError struct{ error }

func (f *Fetcher) fetch(ctx context.Context, u *url.URL, dst io.Writer) (int64, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return 0, &RefusedError{Reason: "can't be called"}
	}
	r.Header.Set("User-Agent", f.cfg.UserAgent)
	r.Header.Set("Accept", "audio/*, video/*, application/octet-stream, */*;q=0.5")
	answer, err := f.client.Do(r)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	switch {
	case answer.StatusCode != http.StatusOK:
		return 0, &StatusError{answer.StatusCode}
	case answer.ContentLength > f.cfg.MaxBytes:
		return 0, &SizeError{f.cfg.MaxBytes}
	}
	n, err := io.Copy(dst, io.LimitReader(answer.Body, f.cfg.MaxBytes))
	if err == nil && n == f.cfg.MaxBytes {
		if more, _ := io.ReadFull(answer.Body, make([]byte, 1)); more > 0 {
			err = &SizeError{f.cfg.MaxBytes}
		}
	}
	return n, err
}

// explain finds the cause among what it was wrapped in on its way.
func (f *Fetcher) explain(caller, ctx context.Context, err error) error {
	var (
		written  *writeError
		refused  *RefusedError
		status   *StatusError
		size     *SizeError
		redirect *RedirectError
		late     *TimeError
		call     *url.Error
	)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &written):
		return written.error
	case errors.As(err, &refused):
		return refused
	case errors.As(err, &status):
		return status
	case errors.As(err, &size):
		return size
	case errors.As(err, &redirect):
		return redirect
	case caller.Err() != nil:
		return caller.Err()
	case errors.As(context.Cause(ctx), &late):
		return late
	case errors.As(err, &call):
		err = call.Err // the rest is the URL, which may hold secrets
		if call.Timeout() {
			return &TimeError{f.cfg.IdleTimeout, true}
		}
	}
	return &NetworkError{err}
}

// fileName is the last part of a URL's path.
func fileName(u *url.URL) string {
	name := path.Base(u.Path)
	if name == "." || name == "/" {
		return ""
	}
	return name
}
