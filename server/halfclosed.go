package server

import (
	"context"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// A client that has sent its request may close its half of the link and wait for the answer. net/http ends the
// request's context for that as for a hang-up, and the end of what is received looks the same. What tells them apart is
// what becomes of something that is sent: nobody takes it at a link that is closed, which is answered with a reset.

// probe is sent for that. A client passes it over before an answer, as often as it comes (RFC 9110, section 15.2.1).
const probe = "HTTP/1.1 100 Continue\r\n\r\n"

// probeEvery is how often a reset is looked for.
const probeEvery = 100 * time.Millisecond

// probeAt says before which of these looks the probe is sent. Over TLS the end is told before the link is
// closed, and the client may still take the first one. Go's client took no more than five answers of this kind
// before 1.23 (net/http, max1xxResponses).
var probeAt = []int{0, 2, 10, 50}

type linkKey struct{}

// withLink has the requests of a link know it.
func withLink(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, linkKey{}, c)
}

// linkWatch looks whether a request's client is still there.
type linkWatch struct {
	stop func() // as often as one likes
	// closed is closed when the link is, or the client's half of it where mayBeHalf; then writing shows which.
	closed    <-chan struct{}
	mayBeHalf bool
}

// watchLink calls gone when a request's client is gone: when its context ends, unless only the client's half of the
// link was closed behind a whole body. It must be stopped before the answer is written.
func watchLink(r *http.Request, body *body, gone func()) *linkWatch {
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-r.Context().Done():
		case <-quit:
			return
		}
		if !onlyHalfClosed(r, body, quit) {
			gone()
		}
	}()
	return &linkWatch{
		stop: sync.OnceFunc(func() {
			close(quit)
			<-ended
		}),
		closed:    r.Context().Done(),
		mayBeHalf: r.ProtoMajor == 1,
	}
}

// onlyHalfClosed reports false once the link is known to be closed, true if that did not come until quit.
func onlyHalfClosed(r *http.Request, body *body, quit chan struct{}) bool {
	link, ok := r.Context().Value(linkKey{}).(net.Conn)
	if !ok || !body.whole() || r.ProtoMajor != 1 || r.ProtoMinor < 1 || !canTellReset {
		return false // over HTTP/2 an end of the link is one
	}
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	for n := 0; ; n++ {
		if slices.Contains(probeAt, n) {
			link.SetWriteDeadline(time.Now().Add(time.Second))
			if _, err := link.Write([]byte(probe)); err != nil {
				return false
			}
		}
		select {
		case <-quit:
			return true
		case <-tick.C:
			if wasReset(link) {
				return false
			}
		}
	}
}
