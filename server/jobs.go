package server

import (
	"context"
	"errors"
	"sync"
	"time"

	"hark/engine"
	"hark/jobs"
)

// Bounds of running jobs. They share the device with all requests in the batcher's way; these keep their files and
// samples within what a machine bears, and a few long recordings of one caller from holding up everybody else's jobs.
const (
	maxJobsRunning       = 16
	maxRecordingsRunning = 4 // of these, unless their caller has none that runs
)

// sweepEvery is how often jobs that have been kept long enough are looked for.
const sweepEvery = time.Minute

// office takes jobs and has them done: it chooses which run, and calls their webhooks. Close it.
type office struct {
	server    *Server
	store     *jobs.Store
	deliverer *jobs.Deliverer
	stop      context.CancelCauseFunc // of all that is under way
	stopped   context.Context
	work      sync.WaitGroup

	mu      sync.Mutex
	running map[string]*jobRun
	later   map[string]delay // of jobs that could not run just now
	freed   chan struct{}    // has something in it when a job has ended
}

// delay is when a job is tried again, and how many times it was.
type delay struct {
	until time.Time
	tries int
}

// newOffice opens for business: jobs that are left from before run.
func newOffice(s *Server, store *jobs.Store) *office {
	o := &office{server: s, store: store, running: map[string]*jobRun{}, later: map[string]delay{},
		freed: make(chan struct{}, 1)}
	o.stopped, o.stop = context.WithCancelCause(context.Background())
	o.deliverer = &jobs.Deliverer{
		Store: store, Client: s.fetcher.Client(), Keys: s.cfg.WebhookKeys, Message: o.webhookMessage,
		Attempted: o.noteWebhook,
	}
	s.metrics.watchJobs(store)
	o.work.Go(func() { o.deliverer.Run(o.stopped) })
	o.work.Go(o.run)
	o.work.Go(o.sweep)
	return o
}

// close stops all that is under way, and returns when nothing is. What was not finished stays in the store.
func (o *office) close() {
	o.stop(errStopping)
	o.work.Wait()
}

// run starts jobs as there is room for them.
func (o *office) run() {
	news := o.store.Subscribe()
	for {
		next := o.startAll()
		timer := time.NewTimer(next)
		select {
		case <-news:
		case <-o.freed:
		case <-timer.C:
		case <-o.stopped.Done():
			timer.Stop()
			return
		}
		timer.Stop()
	}
}

// startAll starts the jobs that may run now, and returns how long there is until another
// one may without anything else happening.
func (o *office) startAll() (next time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	waiting, next := o.waiting(time.Now())
	for len(waiting) > 0 {
		at := o.choose(waiting)
		if at < 0 {
			break
		}
		o.start(waiting[at])
		waiting = append(waiting[:at], waiting[at+1:]...)
	}
	return next
}

// waiting are the jobs that could run, the oldest first, and how long there is until
// the next is one of them. The lock is held.
func (o *office) waiting(now time.Time) (list []*jobs.Job, next time.Duration) {
	next = time.Hour
	for _, j := range o.store.Unfinished() {
		if o.running[j.ID] != nil {
			continue
		}
		if wait := o.later[j.ID].until.Sub(now); wait > 0 {
			next = min(next, wait)
			continue
		}
		list = append(list, j)
	}
	return list, next
}

// choose returns which of the jobs goes next: the oldest of those whose caller has the fewest
// that run; -1 if none may. The lock is held.
func (o *office) choose(waiting []*jobs.Job) int {
	recordings := 0
	callers := map[string]int{}
	for _, run := range o.running {
		callers[run.job.Caller]++
		if isRecording(run.job) {
			recordings++
		}
	}
	best := -1
	if len(o.running) >= maxJobsRunning {
		return best
	}
	for i, j := range waiting {
		if isRecording(j) && recordings >= maxRecordingsRunning && callers[j.Caller] > 0 {
			continue
		}
		if best < 0 || callers[j.Caller] < callers[waiting[best].Caller] {
			best = i
		}
	}
	return best
}

// isRecording reports whether a job is a recording, as far as is known: one of unknown length may well be.
func isRecording(j *jobs.Job) bool {
	return j.Length == 0 || j.Length > maxClipSamples*time.Second/engine.SampleRate
}

// start runs a job. The lock is held.
func (o *office) start(j *jobs.Job) {
	ctx, cancel := context.WithCancelCause(o.stopped)
	run := &jobRun{office: o, job: j, began: time.Now(), cancel: cancel}
	o.running[j.ID] = run
	o.work.Go(func() {
		defer cancel(nil)
		err := run.do(ctx)
		o.mu.Lock()
		delete(o.running, j.ID)
		if err != nil {
			o.postpone(j.ID)
		} else {
			delete(o.later, j.ID)
		}
		o.mu.Unlock()
		select {
		case o.freed <- struct{}{}:
		default:
		}
	})
}

// A job that can't run just now is tried again after a pause that doubles.
const minJobPause, maxJobPause = 2 * time.Second, 2 * time.Minute

// postpone has a job wait. The lock is held.
func (o *office) postpone(id string) {
	d := o.later[id]
	d.until = time.Now().Add(min(minJobPause<<min(d.tries, 16), maxJobPause))
	d.tries++
	o.later[id] = d
}

// tries is how often a job was postponed since it last got on.
func (o *office) tries(id string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.later[id].tries
}

// runOf is a job that runs, or nil.
func (o *office) runOf(id string) *jobRun {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.running[id]
}

// errCancelled is why a job that nobody wants any more ends.
var errCancelled = errors.New("the job was cancelled")

// cancel ends a job that is not over.
func (o *office) cancel(id string) error {
	if err := o.store.Cancel(id, [][]byte{jobEvent{Type: eventCancelled}.bytes()}); err != nil {
		return err
	}
	o.server.metrics.countJobEnd(jobs.Cancelled)
	if run := o.runOf(id); run != nil {
		run.cancel(errCancelled)
	}
	return nil
}

// sweep removes what has been kept long enough, now and then.
func (o *office) sweep() {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		if n, err := o.store.Sweep(); err != nil {
			o.server.log.Error().Err(err).Msg("jobs that have expired can't be removed")
		} else if n > 0 {
			o.server.log.Debug().Int("jobs", n).Msg("removed jobs that have expired")
		}
		select {
		case <-tick.C:
		case <-o.stopped.Done():
			return
		}
	}
}
