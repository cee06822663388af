package jobs

import (
	"cmp"
	"slices"
	"sync"
)

// index is every job in memory, as it is on disk. Jobs in it don't change: they are replaced.
type index struct {
	mu      sync.Mutex
	jobs    map[string]*Job
	order   []string            // ids in the order of acceptance
	open    []string            // those of jobs that aren't over
	keys    map[ownedKey]string // ids by their senders' keys
	claimed map[ownedKey]bool   // keys of jobs that are being accepted
	waiting map[string]chan struct{}
	used    int64 // bytes on disk, of jobs and of audio that is being received
	coming  int   // jobs that are being accepted
	news    []chan struct{}
}

type ownedKey struct{ owner, key string }

func newIndex() *index {
	return &index{jobs: map[string]*Job{}, keys: map[ownedKey]string{}, claimed: map[ownedKey]bool{},
		waiting: map[string]chan struct{}{}}
}

// put adds or replaces a job, and tells those who watch it.
func (x *index) put(j *Job) {
	x.mu.Lock()
	defer x.mu.Unlock()
	old := x.jobs[j.ID]
	x.jobs[j.ID] = j
	x.used += j.bytes()
	if old == nil {
		x.order = slices.Insert(x.order, x.place(x.order, j), j.ID)
		if j.Key != "" {
			x.keys[ownedKey{j.Owner, j.Key}] = j.ID
		}
		if !j.State.Over() {
			x.open = slices.Insert(x.open, x.place(x.open, j), j.ID)
		}
	} else {
		x.used -= old.bytes()
		if j.State.Over() && !old.State.Over() {
			at := x.place(x.open, j)
			x.open = slices.Delete(x.open, at, at+1)
		}
	}
	x.wake(j.ID)
	if old == nil || old.State != j.State {
		x.tell()
	}
}

// place is where a job is, or belongs, among ids. The lock is held.
func (x *index) place(ids []string, j *Job) int {
	at, _ := slices.BinarySearchFunc(ids, j.Seq,
		func(id string, seq uint64) int { return cmp.Compare(x.jobs[id].Seq, seq) })
	return at
}

// remove forgets a job that is over.
func (x *index) remove(id string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	j := x.jobs[id]
	if j == nil {
		return
	}
	at := x.place(x.order, j)
	x.order = slices.Delete(x.order, at, at+1)
	delete(x.jobs, id)
	delete(x.keys, ownedKey{j.Owner, j.Key})
	x.used -= j.bytes()
	x.wake(id)
}

// wake tells those who watch a job. The lock is held.
func (x *index) wake(id string) {
	if c := x.waiting[id]; c != nil {
		close(c)
		delete(x.waiting, id)
	}
}

// tell says that there's a new job, or one in a new state. The lock is held.
func (x *index) tell() {
	for _, c := range x.news {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// subscribe returns what is told.
func (x *index) subscribe() <-chan struct{} {
	x.mu.Lock()
	defer x.mu.Unlock()
	c := make(chan struct{}, 1)
	x.news = append(x.news, c)
	return c
}

// gone is what is watched of a job that isn't there.
var gone = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// watch returns what is closed at the next change of a job.
func (x *index) watch(id string) <-chan struct{} {
	x.mu.Lock()
	defer x.mu.Unlock()
	c := x.waiting[id]
	switch {
	case c != nil:
	case x.jobs[id] == nil:
		return gone
	default:
		c = make(chan struct{})
		x.waiting[id] = c
	}
	return c
}

func (x *index) get(id string) *Job {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.jobs[id]
}

func (x *index) byKey(owner, key string) *Job {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.jobs[x.keys[ownedKey{owner, key}]]
}

// claim takes a key for a job that is being accepted, or returns the one that has it.
func (x *index) claim(owner, key string) (*Job, error) {
	if key == "" {
		return nil, nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	k := ownedKey{owner, key}
	if id, ok := x.keys[k]; ok {
		return x.jobs[id], nil
	}
	if x.claimed[k] {
		return nil, ErrInFlight
	}
	x.claimed[k] = true
	return nil, nil
}

func (x *index) unclaim(owner, key string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.claimed, ownedKey{owner, key})
}

// take counts n more bytes if they fit, and give counts them as free again.
func (x *index) take(n, most int64) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.used+n > most {
		return false
	}
	x.used += n
	return true
}

func (x *index) give(n int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.used -= n
}

// kept is how many bytes jobs take that are over.
func (x *index) kept() (n int64) {
	x.each(func(j *Job) bool {
		if j.State.Over() {
			n += j.bytes()
		}
		return true
	})
	return n
}

// each calls f with every job, the oldest first, until it returns false.
func (x *index) each(f func(j *Job) bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, id := range x.order {
		if !f(x.jobs[id]) {
			return
		}
	}
}

// bytes is what a job takes on disk.
func (j *Job) bytes() int64 { return j.AudioBytes + j.StoredBytes }

// enter takes a place for a job that is being accepted if there's one, and leave gives it back.
func (x *index) enter(most int) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.open)+x.coming >= most {
		return false
	}
	x.coming++
	return true
}

func (x *index) leave() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.coming--
}

// unfinished returns the jobs that aren't over, the oldest first.
func (x *index) unfinished() []*Job {
	x.mu.Lock()
	defer x.mu.Unlock()
	list := make([]*Job, len(x.open))
	for i, id := range x.open {
		list[i] = x.jobs[id]
	}
	return list
}

// eachBack is each with the newest first.
func (x *index) eachBack(f func(j *Job) bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, id := range slices.Backward(x.order) {
		if !f(x.jobs[id]) {
			return
		}
	}
}

func (x *index) size() int64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.used
}
