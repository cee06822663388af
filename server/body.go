package server

import (
	"io"
	"net/http"
	"sync"
	"time"
)

// body reads a request's body under two time limits, for standing still and in all, which the link enforces: a
// read beyond them fails with os.ErrDeadlineExceeded.
type body struct {
	r        io.Reader
	rc       *http.ResponseController
	idle     time.Duration
	deadline time.Time // of the whole body
	n        int64     // bytes read
	done     bool      // read to its end
	err      error     // first error but io.EOF

	mu       sync.Mutex
	extended time.Time // when the link's deadline was last moved
	cut      error     // why reading was cut off; nil while it wasn't
}

func (s *Server) newBody(w http.ResponseWriter, r *http.Request) *body {
	return &body{
		r:        r.Body,
		rc:       http.NewResponseController(w),
		idle:     s.cfg.UploadIdleTimeout,
		deadline: time.Now().Add(s.cfg.UploadTimeout),
		done:     r.ContentLength == 0,
	}
}

func (b *body) Read(p []byte) (int, error) {
	if err := b.extend(); err != nil {
		return 0, err
	}
	n, err := b.r.Read(p)
	b.n += int64(n)
	switch {
	case err == io.EOF:
		b.mu.Lock()
		b.done = true
		b.rc.SetReadDeadline(time.Time{}) // from here on the server watches the link for a hang-up
		b.mu.Unlock()
	case err != nil && b.err == nil:
		b.err = err
	}
	return n, err
}

// extend gives the link its time for one more read, unless reading was cut off.
func (b *body) extend() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if b.cut != nil || now.Sub(b.extended) <= b.idle/16 { // moving the deadline costs a little: a few times in each idle period will do
		return b.cut
	}
	b.extended = now
	next := now.Add(b.idle)
	if next.After(b.deadline) {
		next = b.deadline
	}
	b.rc.SetReadDeadline(next) // not every ResponseWriter can; those of tests don't stall either
	return nil
}

// interrupt ends the read under way and fails all later ones.
func (b *body) interrupt(cause error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cut = cause
	if !b.done {
		b.rc.SetReadDeadline(time.Now())
	}
}

// whole reports whether the body was read to its end.
func (b *body) whole() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.done
}

// discard reads and drops up to n bytes of what is left, without moving the link's deadline.
func (b *body) discard(n int64) {
	io.CopyN(io.Discard, b.r, n)
}
