package server

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// TestSoakClips sends far more clips at once than there are places, and then has each come back until it has one.
func TestSoakClips(t *testing.T) {
	n, places := soakSize(200, 2000), soakSize(32, DefaultMaxPending)
	k := newSoaker(t, func(c *Config) { c.MaxPending = places })
	k.spare = 64<<20 + int64(n)<<18 // most of it is the clients'
	hold := make(chan struct{})
	k.model.set(func(m *fakeModel) { m.hold = hold })
	var refused atomic.Int64
	var clients sync.WaitGroup
	for i := range n {
		clients.Go(func() {
			if a := k.send(t, k.clip(i)); a.status == http.StatusTooManyRequests {
				refused.Add(1)
			}
		})
	}
	k.await(t, "those without a place are told", func() bool { return refused.Load() >= int64(n-places) || t.Failed() })
	close(hold)
	clients.Wait()
	if refused.Load() != int64(n-places) {
		t.Errorf("%d of %d were refused, want all but %d", refused.Load(), n, places)
	}
	k.model.set(func(m *fakeModel) { m.hold = nil })
	alone := make([]string, len(soakClips()))
	for i := range alone {
		alone[i] = k.send(t, k.clip(i)).body
	}
	for i := range n {
		clients.Go(func() {
			if a := k.untilPlaced(t, k.clip(i)); a.body != alone[i%len(alone)] {
				t.Errorf("clip %d: got %q, want %q", i, a.body, alone[i%len(alone)])
			}
		})
	}
	clients.Wait()
}

// TestSoakSlow has all kinds of slow clients upload at once, beside plain ones, while others are served.
func TestSoakSlow(t *testing.T) {
	n := soakSize(42, 210)
	k := newSoaker(t, func(c *Config) {
		c.MaxPending, c.MaxDecodedBytes = 2*n, 64<<20
		c.UploadIdleTimeout = time.Hour // else it would end the slowest
	})
	k.spare = 512 << 20
	release := make(chan struct{})
	long, recording := speechWAV(60, 1), speechWAV(float64(soakSize(60, 120)), 2)
	longCall, longJob := k.clip(0).of(long), k.clip(0).of(long).asJob()
	plain, stream, job := k.clip(0).of(recording), k.clip(0).of(recording).streamed(), k.clip(0).of(recording).asJob()
	kinds := []func(i int){
		func(i int) { k.slowWriter(t, k.clip(i), release) },
		func(int) { k.slowWriter(t, longJob, release) },
		func(int) { k.slowReader(t, stream, release) },
		func(int) { k.send(t, plain) },
		func(i int) { k.halfCloser(t, k.clip(i), 0.5, http.StatusBadRequest) },
		func(int) { k.send(t, job) },
		func(int) {
			if canTellReset {
				k.halfCloser(t, longCall, 1, http.StatusOK)
			}
		},
	}
	var clients sync.WaitGroup
	for i := range n {
		clients.Go(func() { kinds[i%len(kinds)](i) })
	}
	slow := int64(2 * n / len(kinds)) // which write still
	k.others(t, 10, func() bool { return k.pending.Load() == slow || t.Failed() })
	close(release)
	clients.Wait()
}

// TestSoakNobodyReads has clients read nothing of streams, which are let go once their links' buffers are full.
func TestSoakNobodyReads(t *testing.T) {
	n := soakSize(20, 200)
	k := newSoaker(t, func(c *Config) { c.WriteTimeout = 300 * time.Millisecond })
	k.spare = 256 << 20
	k.keepAliveEvery = time.Millisecond
	hold := make(chan struct{})
	k.model.set(func(m *fakeModel) { m.hold = hold })
	for i := range n {
		conn := k.link(t)
		defer conn.Close()
		if _, err := conn.Write(k.clip(i).streamed().text()); err != nil {
			t.Fatal(err)
		}
	}
	k.await(t, "all are let go", func() bool { return strings.Count(k.log.String(), `"status":499`) == n })
	close(hold)
	k.others(t, 10, func() bool { return k.pending.Load() == 0 })
}

// hangers are ways to begin a call and drop its link; each is told when it's time for that.
func (k *soaker) hangers(t *testing.T) []func(i int, now <-chan struct{}) {
	long := speechWAV(60, 1)
	bare := func(c *soakCall, part float64, now <-chan struct{}) {
		conn := k.link(t)
		if conn == nil {
			return
		}
		defer conn.Close()
		if rand.IntN(2) == 0 {
			conn.SetLinger(0) // a reset
		}
		text := c.text()
		go io.Copy(io.Discard, conn)
		conn.Write(text[:int(part*float64(len(text)))]) // which the server may end before
		<-now
	}
	return []func(i int, now <-chan struct{}){
		func(i int, now <-chan struct{}) { bare(k.clip(i), 0.001, now) }, // within the header
		func(i int, now <-chan struct{}) { bare(k.clip(i), rand.Float64(), now) },
		func(i int, now <-chan struct{}) { bare(k.clip(i).of(long), rand.Float64(), now) },
		func(i int, now <-chan struct{}) { bare(k.clip(i).of(long), 1, now) },
		func(i int, now <-chan struct{}) { bare(k.clip(i).of(long).streamed(), 1, now) },
		func(i int, now <-chan struct{}) { bare(k.clip(i).of(long).resumable(), 1, now) },
		func(i int, now <-chan struct{}) { bare(k.clip(i).of(long).asJob(), rand.Float64(), now) },
		func(i int, now <-chan struct{}) { k.dropLive(t, i, now) },
	}
}

// dropLive opens a live session, speaks, and drops its link.
func (k *soaker) dropLive(t *testing.T, i int, now <-chan struct{}) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	conn, resp, err := websocket.Dial(ctx, k.liveURL(""), nil)
	if err != nil {
		if resp == nil {
			t.Errorf("a live session: %v", err)
			return
		}
		body, _ := io.ReadAll(resp.Body) // Dial has read it already
		a := &answer{resp.StatusCode, resp.Header, string(body)}
		a.wantError(t, http.StatusTooManyRequests, "too_many_sessions", "")
		return
	}
	defer conn.CloseNow()
	go conn.Read(ctx)
	conn.Write(ctx, websocket.MessageText, []byte(atClip))
	conn.Write(ctx, websocket.MessageBinary, soakClips()[i%len(soakClips())][44:])
	if i%2 == 0 {
		conn.Write(ctx, websocket.MessageText, []byte(`{"type":"input_audio_buffer.commit"}`))
	}
	<-now
}

// TestSoakHangUps drops links at any moment of any call, while others are served.
func TestSoakHangUps(t *testing.T) {
	n := soakSize(80, 1000)
	k := newSoaker(t, func(c *Config) { c.MaxLive = 8 })
	k.spare = 512 << 20
	hangers := k.hangers(t)
	var left atomic.Int64
	left.Store(int64(n))
	at := make(chan struct{}, 64)
	go func() {
		var clients sync.WaitGroup
		for i := range n {
			at <- struct{}{}
			clients.Go(func() {
				defer func() { left.Add(-1); <-at }()
				now := make(chan struct{})
				time.AfterFunc(time.Duration(rand.IntN(100))*time.Millisecond, func() { close(now) })
				hangers[i%len(hangers)](i, now)
			})
		}
		clients.Wait()
	}()
	k.others(t, 10, func() bool { return left.Load() == 0 })
}

// TestSoakLive opens more sessions than there may be, of which some hear a turn to its end and some are dropped.
func TestSoakLive(t *testing.T) {
	n := soakSize(40, 300)
	k := newSoaker(t, func(c *Config) { c.MaxLive = 16 })
	k.spare = 256 << 20
	var clients sync.WaitGroup
	heard := atomic.Int64{}
	for i := range n {
		clients.Go(func() {
			now := make(chan struct{})
			close(now)
			if i%2 == 0 {
				k.dropLive(t, 2*i, now)
				return
			}
			for !k.hearLive(t, i) {
				time.Sleep(20 * time.Millisecond)
			}
			heard.Add(1)
		})
	}
	k.others(t, 10, func() bool { return heard.Load() == int64(n/2) || t.Failed() })
	clients.Wait()
}

// hearLive has a turn be transcribed, unless there's no place for the session.
func (k *soaker) hearLive(t *testing.T, i int) (placed bool) {
	ctx := t.Context()
	conn, resp, err := websocket.Dial(ctx, k.liveURL(""), nil)
	if err != nil {
		if resp == nil || resp.StatusCode != http.StatusTooManyRequests {
			t.Errorf("a live session: %v", err)
			return true
		}
		return false
	}
	defer conn.CloseNow()
	conn.SetReadLimit(1 << 20)
	conn.Write(ctx, websocket.MessageText, []byte(atClip))
	conn.Write(ctx, websocket.MessageBinary, soakClips()[i%len(soakClips())][44:])
	conn.Write(ctx, websocket.MessageText, []byte(`{"type":"input_audio_buffer.commit"}`))
	for {
		_, message, err := conn.Read(ctx)
		if err != nil {
			t.Errorf("a live session ended early: %v", err)
			return true
		}
		if bytes.Contains(message, []byte(transcriptionEvent+"completed")) {
			return true
		}
	}
}

// longBody is a form with one second of speech over and over, of which the last part waits until it's released.
type longBody struct {
	parts   [][]byte
	release <-chan struct{}
}

// newLongBody returns a body of so many seconds, and its type and length.
func newLongBody(seconds int, release <-chan struct{}, pairs ...string) (r io.Reader, contentType string, length int64) {
	second := speechWAV(1, 1)
	header, pcm := bytes.Clone(second[:44]), second[44:]
	binary.LittleEndian.PutUint32(header[4:], uint32(36+seconds*len(pcm)))
	binary.LittleEndian.PutUint32(header[40:], uint32(seconds*len(pcm)))
	contentType, whole := form(header, pairs...)
	end := bytes.Index(whole, header) + len(header)
	b := &longBody{release: release, parts: [][]byte{whole[:end]}}
	for range seconds {
		b.parts = append(b.parts, pcm)
	}
	b.parts = append(b.parts, whole[end:])
	return b, contentType, int64(len(whole) + seconds*len(pcm))
}

func (b *longBody) Read(p []byte) (int, error) {
	if len(b.parts) == 0 {
		return 0, io.EOF
	}
	if len(b.parts) == 1 {
		<-b.release
	}
	n := copy(p, b.parts[0])
	if b.parts[0] = b.parts[0][n:]; len(b.parts[0]) == 0 {
		b.parts = b.parts[1:]
	}
	return n, nil
}

// TestSoakRecordings uploads recordings of an hour at once, as calls, streams and jobs, while clips are served.
func TestSoakRecordings(t *testing.T) {
	n, length := soakSize(6, 50), soakSize(120, 3600)
	const decoded = 64 << 20
	k := newSoaker(t, func(c *Config) { c.MaxDecodedBytes = decoded })
	k.spare = 2*decoded + 256<<20
	release := make(chan struct{})
	var clients sync.WaitGroup
	for i := range n {
		c := &soakCall{}
		switch i % 3 {
		case 1:
			c.streamed()
		case 2:
			c.asJob()
		}
		body, contentType, size := newLongBody(length, release, append([]string{"model", "whisper-1"}, c.fields...)...)
		clients.Go(func() {
			r, err := http.NewRequest("POST", k.url+transcriptionsPath, body)
			if err != nil {
				t.Error(err)
				return
			}
			r.ContentLength = size
			r.Header.Set("Content-Type", contentType)
			if c.isJob() {
				r.Header.Set("Prefer", "respond-async")
			}
			resp, err := k.client.Do(r)
			var a *answer
			if err == nil {
				a, err = readWhole(resp)
			}
			a = k.noteOf(t, a, err, c.want())
			if windows := strings.Count(a.body, "heard "); !c.isJob() && windows < length/30 {
				t.Errorf("%d windows were heard of %d s", windows, length)
			}
		})
	}
	k.others(t, 10, func() bool { return k.pending.Load() == int64(n) || t.Failed() })
	close(release)
	k.others(t, 10, func() bool { return k.pending.Load() == 0 || t.Failed() })
	clients.Wait()
}
