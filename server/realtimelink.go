package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"hark/live"
)

const (
	// maxUnreadEvents is how many events wait for a client that doesn't read them.
	maxUnreadEvents = 512
	// pingEvery is how often a client's link is tried, so that proxies don't take it for
	// idle, and pongTimeout how long that may take.
	pingEvery, pongTimeout = 20 * time.Second, 20 * time.Second
	// eventTimeout is how long a client may take to read one event.
	eventTimeout = 10 * time.Second
)

// ending is why a session ends.
type ending struct {
	reason string // for logs and metrics
	code   websocket.StatusCode
	err    *apiError // told before the link is closed, or nil
	finish bool      // what was said is still transcribed
}

// liveLink serves one client's live session.
type liveLink struct {
	server  *Server
	conn    *websocket.Conn
	caller  string
	id      string
	expires time.Time
	session *live.Session
	beta    atomic.Bool

	settings *liveSettings // of the goroutine that reads
	tally    liveTally

	out    chan []byte // events to write
	heard  chan struct{}
	once   sync.Once
	ended  chan struct{} // closed once ending is set
	ending ending
	quiet  chan struct{} // closed when no event follows
}

func newLiveLink(s *Server, conn *websocket.Conn, settings *liveSettings, beta bool, caller string) *liveLink {
	l := &liveLink{
		server: s, conn: conn, caller: caller, settings: settings,
		id: "sess_" + strings.ToLower(rand.Text()), expires: time.Now().Add(s.cfg.MaxLiveTime),
		out: make(chan []byte, maxUnreadEvents), heard: make(chan struct{}, 1), ended: make(chan struct{}),
		quiet: make(chan struct{}),
	}
	l.tally.metrics, l.tally.id = s.metrics, l.id
	l.beta.Store(beta)
	return l
}

// serve serves the session to its end and says how it was.
func (l *liveLink) serve() *liveTally {
	settings, err := l.server.liveSession(l.settings)
	if err == nil {
		l.session, err = live.New(&liveTranscriber{l.server, l.caller}, settings, liveLimits, &l.tally, l.emit)
	}
	if err != nil { // the handshake was checked
		panic(err)
	}
	l.warm(settings)
	if l.beta.Load() {
		l.saySession("transcription_session.created", nil)
	} else {
		l.saySession("session.created", nil)
	}
	var helpers sync.WaitGroup
	helpers.Go(l.write)
	helpers.Go(l.watch)
	helpers.Go(l.keepAlive)
	l.read()
	helpers.Wait()
	l.session.Close()
	l.tally.end(l.ending.reason, l.session.Heard())
	return &l.tally
}

// end ends the session, for the first reason that is given.
func (l *liveLink) end(e ending) {
	l.once.Do(func() {
		l.ending = e
		close(l.ended)
	})
}

// read takes what the client sends, until the link is closed.
func (l *liveLink) read() {
	for {
		kind, message, err := l.conn.Read(context.Background())
		if err != nil {
			l.end(linkEnding(err))
			return
		}
		select {
		case <-l.ended: // nobody listens any more
			continue
		case l.heard <- struct{}{}:
		default:
		}
		if kind == websocket.MessageBinary { // bare sound, in the session's format
			err = l.session.Append(message)
		} else {
			err = l.hear(message)
		}
		if err != nil {
			l.end(ending{reason: "too_far_ahead", code: websocket.StatusPolicyViolation, err: &apiError{status: 400, code: "input_audio_buffer_overflow",
				message: fmt.Sprintf("more than %v of sound wait to be transcribed: send it no faster than it is spoken, and commit it", liveLimits.Ahead)}})
		}
	}
}

// linkEnding is why a link could not be read any more.
func linkEnding(err error) ending {
	switch code := websocket.CloseStatus(err); {
	case errors.Is(err, websocket.ErrMessageTooBig):
		return ending{reason: "message_too_big", code: websocket.StatusMessageTooBig}
	case code == websocket.StatusNormalClosure || code == websocket.StatusGoingAway ||
		code == websocket.StatusNoStatusRcvd:
		return ending{reason: "client_closed", code: websocket.StatusNormalClosure}
	}
	return ending{reason: "link_lost", code: websocket.StatusNormalClosure}
}

// watch ends the session when its time is over, or nobody speaks to it, or the server
// stops. Then it sees the client off.
func (l *liveLink) watch() {
	cfg := &l.server.cfg
	over, idle := time.NewTimer(cfg.MaxLiveTime), time.NewTimer(cfg.LiveIdleTimeout)
	defer over.Stop()
	defer idle.Stop()
	for done := false; !done; {
		select {
		case <-l.heard:
			idle.Reset(cfg.LiveIdleTimeout)
		case <-idle.C:
			l.end(ending{reason: "idle", code: websocket.StatusNormalClosure, finish: true, err: &apiError{status: 400, code: "session_idle",
				message: fmt.Sprintf("nothing was sent for %v: connect again when there is sound", cfg.LiveIdleTimeout)}})
		case <-over.C:
			l.end(ending{reason: "expired", code: websocket.StatusNormalClosure, finish: true, err: &apiError{status: 400, code: "session_expired",
				message: fmt.Sprintf("the session has lasted %v, the longest that this server lets one: connect again",
					cfg.MaxLiveTime)}})
		case <-l.server.live.stop:
			l.end(ending{reason: "stopping", code: websocket.StatusGoingAway, finish: true, err: stopping(nil)})
		case <-l.server.cutCtx.Done():
			l.end(ending{reason: "stopping", code: websocket.StatusGoingAway, err: stopping(nil)})
		case <-l.ended:
			done = true
		}
	}
	l.seeOff()
}

// seeOff has what is left to be said be written, and closes the link.
func (l *liveLink) seeOff() {
	if l.ending.finish {
		_ = l.session.Finish(l.server.cutCtx) // what is not done by then is cut off
	}
	l.session.Close()
	if l.ending.err != nil {
		l.refuse(l.ending.err, "")
	}
	close(l.quiet)
}

// write writes events as they come. When none follows, or one can't be written, it closes the link.
func (l *liveLink) write() {
	for {
		select {
		case message := <-l.out:
			l.send(message)
		case <-l.quiet:
			for {
				select {
				case message := <-l.out:
					l.send(message)
					continue
				default:
				}
				break
			}
			l.conn.Close(l.ending.code, l.ending.reason)
			return
		}
	}
}

// send writes one event. The link of a client that doesn't read is closed by that.
func (l *liveLink) send(message []byte) {
	ctx, cancel := context.WithTimeout(context.Background(), eventTimeout)
	defer cancel()
	if err := l.conn.Write(ctx, websocket.MessageText, message); err != nil {
		l.end(ending{reason: "slow_reader", code: websocket.StatusPolicyViolation})
	}
}

// keepAlive tries the link now and then.
func (l *liveLink) keepAlive() {
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for {
		select {
		case <-l.ended:
			return
		case <-tick.C:
			ctx, cancel := context.WithTimeout(context.Background(), pongTimeout)
			err := l.conn.Ping(ctx)
			cancel()
			if err != nil {
				l.end(ending{reason: "link_lost", code: websocket.StatusPolicyViolation})
				return
			}
		}
	}
}

// say queues an event. A client with too many unread ones is let go.
func (l *liveLink) say(event any) {
	message, err := marshal(event)
	if err != nil { // the server's own types always marshal
		panic(err)
	}
	select {
	case l.out <- message:
	default:
		l.end(ending{reason: "slow_reader", code: websocket.StatusPolicyViolation})
	}
}

// emit says what the session tells.
func (l *liveLink) emit(e live.Event) {
	for _, event := range wireEvents(e, l.beta.Load()) {
		l.say(event)
	}
}

// refuse tells of an error, in the client's event of that id if it has one.
func (l *liveLink) refuse(e *apiError, id string) {
	l.server.metrics.countError(e)
	l.say(errorEvent{newEvent("error"), newEventError(e, id)})
}

// saySession tells how the session is set.
func (l *liveLink) saySession(kind string, warnings []string) {
	event := sessionEvent{wireEvent: newEvent(kind), Session: l.settings.wire(l.id, l.expires, l.beta.Load())}
	if len(warnings) > 0 {
		event.Hark = &wireIgnored{warnings}
	}
	l.say(event)
}

// warm loads the session's model in the background, so that it's there when somebody has spoken.
func (l *liveLink) warm(settings live.Settings) {
	if settings.Text != nil {
		go l.server.warmLive(settings.Text.Model)
	}
}
