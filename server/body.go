package server

import (
	"io"
	"net/http"
	"sync"
	"time"
)

// minUploadRate is how many bytes a second a body must bring, on average over its idle time, so that a byte now and
// then doesn't keep a place for an hour. Speech at the lowest rate of any codec here is several times that.
const minUploadRate = 100

// body reads a request's body under two time limits, for standing still and in all, which the link
// enforces: a read beyond them fails with os.ErrDeadlineExceeded. Only time that is spent waiting
// for the client counts as standing still.
type body struct {
	r        io.Reader
	rc       *http.ResponseController
	idle     time.Duration
	deadline time.Time // of the whole body
	n        int64     // bytes read
	done     bool      // read to its end
	err      error     // first error but io.EOF

	waited time.Duration // for the bytes since the last time that there were enough for a new idle time
	least  int64         // how far that will be

	mu    sync.Mutex
	until time.Time // the link's deadline as it was last set
	cut   error     // why reading was cut off; nil while it wasn't
}

func (s *Server) newBody(w http.ResponseWriter, r *http.Request) *body {
	b := &body{
		r:        r.Body,
		rc:       http.NewResponseController(w),
		idle:     s.cfg.UploadIdleTimeout,
		deadline: time.Now().Add(s.cfg.UploadTimeout),
		done:     r.ContentLength == 0,
	}
	b.least = b.perIdle()
	return b
}

// perIdle is how many bytes have to come within the idle time.
func (b *body) perIdle() int64 { return int64(b.idle.Seconds() * minUploadRate) }

func (b *body) Read(p []byte) (int, error) {
	begin := time.Now()
	if err := b.extend(begin.Add(b.idle - b.waited)); err != nil {
		return 0, err
	}
	n, err := b.r.Read(p)
	b.n += int64(n)
	b.waited += time.Since(begin)
	if b.n >= b.least {
		b.waited, b.least = 0, b.n+b.perIdle()
	}
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

// extend gives the link until then for one more read, unless reading was cut off.
func (b *body) extend(until time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if until.After(b.deadline) {
		until = b.deadline
	}
	// Moving the deadline costs a little: a few times in each idle time will do.
	if b.cut != nil || until.Sub(b.until).Abs() <= b.idle/16 {
		return b.cut
	}
	b.until = until
	b.rc.SetReadDeadline(until) // not every ResponseWriter can; those of tests don't stall either
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
