package jobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"
)

// Pauses are the waits before the second and each later attempt to call a webhook, seven and a half hours together;
// each comes out up to a fifth longer, at random, so that what failed together doesn't come back together.
var Pauses = []time.Duration{
	5 * time.Second, time.Minute, 5 * time.Minute, 20 * time.Minute, time.Hour, 2 * time.Hour, 4 * time.Hour,
}

// Bounds of delivering.
const (
	hookTimeout  = 15 * time.Second
	hookTogether = 8
	unnotedPause = time.Minute
	hookAnswer   = 64 << 10 // bytes of an answer that are read, so that its link can be used again
)

// Deliverer calls the webhooks of jobs that are over. An attempt that the process didn't survive is made again: a
// receiver may get a message twice, with the same webhook-id, but gets it.
type Deliverer struct {
	Store *Store
	// Client makes the calls. It should follow no redirects, and is whom to ask where it may not call.
	Client *http.Client
	// Keys sign the messages.
	Keys Keys
	// Message makes a message's body, JSON.
	Message func(j *Job) ([]byte, error)
	// Attempted, if not nil, is told of each attempt, by the job as it is after it.
	Attempted func(j *Job)
	// Pauses are those between attempts; nil: the package's.
	Pauses []time.Duration
}

// Run calls webhooks until ctx ends, and returns when no call is under way.
func (d *Deliverer) Run(ctx context.Context) {
	news := d.Store.Subscribe()
	places := make(chan struct{}, hookTogether)
	var calls sync.WaitGroup
	defer calls.Wait()
	underWay := newSet()
	freed := make(chan struct{}, 1)
	for {
		due, next := d.due(underWay)
		for _, j := range due {
			select {
			case places <- struct{}{}:
			case <-ctx.Done():
				return
			}
			underWay.add(j.ID)
			calls.Go(func() {
				d.attempt(ctx, j)
				underWay.remove(j.ID)
				<-places
				select {
				case freed <- struct{}{}:
				default:
				}
			})
		}
		timer := time.NewTimer(next)
		select {
		case <-news:
		case <-freed:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return
		}
	}
}

// due returns the jobs whose webhook is to be called now, and how long there is until the next.
func (d *Deliverer) due(underWay *set) (due []*Job, next time.Duration) {
	now := d.Store.cfg.Now()
	next = time.Hour
	d.Store.index.each(func(j *Job) bool {
		if j.Hook == nil || j.Hook.State != HookPending || underWay.has(j.ID) {
			return true
		}
		if wait := j.Hook.Next.Sub(now); wait > 0 {
			next = min(next, wait)
		} else {
			due = append(due, j)
		}
		return true
	})
	return due, next
}

// attempt calls a webhook once and notes how that went, unless ctx has ended.
func (d *Deliverer) attempt(ctx context.Context, j *Job) {
	status, err := d.call(ctx, j)
	if ctx.Err() != nil {
		return
	}
	after, err := d.note(j.ID, status, err)
	switch {
	case err == nil && d.Attempted != nil:
		d.Attempted(after)
	case err != nil && !errors.Is(err, ErrNotFound): // a full disk, say: nobody is to be called over and over meanwhile
		select {
		case <-time.After(unnotedPause):
		case <-ctx.Done():
		}
	}
}

// call posts the message, and returns the status of its answer; 0 if there was none.
func (d *Deliverer) call(ctx context.Context, j *Job) (int, error) {
	body, err := d.Message(j)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, hookTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, j.Hook.URL, bytes.NewReader(body))
	if err != nil {
		return 0, errors.New("the URL can't be called")
	}
	now := d.Store.cfg.Now()
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "hark")
	r.Header.Set("Webhook-Id", j.Hook.ID)
	r.Header.Set("Webhook-Timestamp", strconv.FormatInt(now.Unix(), 10))
	r.Header.Set("Webhook-Signature", d.Keys.Sign(j.Hook.ID, now, body))
	answer, err := d.Client.Do(r)
	if err != nil {
		var call *url.Error
		if errors.As(err, &call) {
			err = call.Err // the rest is the URL, which may hold secrets
		}
		return 0, err
	}
	defer answer.Body.Close()
	io.CopyN(io.Discard, answer.Body, hookAnswer)
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		return answer.StatusCode, fmt.Errorf("the answer had status %d, want 200 to 299", answer.StatusCode)
	}
	return answer.StatusCode, nil
}

// note keeps how an attempt went. Who answers 410 wants no more.
func (d *Deliverer) note(id string, status int, err error) (*Job, error) {
	pauses := d.Pauses
	if pauses == nil {
		pauses = Pauses
	}
	return d.Store.alter(id, func(_ *bolt.Tx, j *Job) error {
		now := d.Store.cfg.Now()
		h := j.Hook
		h.Attempts++
		h.Status, h.Error, h.Next = status, "", time.Time{}
		switch {
		case err == nil:
			h.State, h.Delivered = HookDelivered, now
			return nil
		case status == http.StatusGone, h.Attempts > len(pauses):
			h.State = HookFailed
		default:
			pause := pauses[h.Attempts-1]
			h.Next = now.Add(pause + rand.N(pause/5+1))
		}
		h.Error = err.Error()
		return nil
	})
}

// set is a set of ids.
type set struct {
	mu  sync.Mutex
	ids map[string]bool
}

func newSet() *set { return &set{ids: map[string]bool{}} }

func (s *set) add(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ids[id] = true
}

func (s *set) remove(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.ids, id)
}

func (s *set) has(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ids[id]
}
