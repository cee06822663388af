package jobs

import (
	"os"

	bolt "go.etcd.io/bbolt"
)

// Get returns a job as it is now. The caller must not change it.
func (s *Store) Get(id string) (*Job, error) {
	if j := s.index.get(id); j != nil {
		return j, nil
	}
	return nil, ErrNotFound
}

// Request returns what the job's runner needs to know.
func (s *Store) Request(id string) ([]byte, error) { return s.value(bucketRequests, id) }

// Result returns what a done job came to. Of any other it is ErrNotFound.
func (s *Store) Result(id string) ([]byte, error) { return s.value(bucketResults, id) }

func (s *Store) value(bucket []byte, id string) (data []byte, err error) {
	err = s.db.view(func(tx *bolt.Tx) error {
		value := tx.Bucket(bucket).Get([]byte(id))
		if value == nil {
			return ErrNotFound
		}
		if data, err = unsealCopy(value); err != nil {
			return &CorruptError{s.db.path, err}
		}
		return nil
	})
	return data, err
}

// Audio opens a job's audio. The caller closes it. There's none once the job is over.
func (s *Store) Audio(id string) (*os.File, error) { return os.Open(s.audioPath(id)) }

// Watch returns what is closed at the next change of a job. To miss none, call it before Get.
func (s *Store) Watch(id string) <-chan struct{} { return s.index.watch(id) }

// Subscribe returns what gets something whenever there's a new job, or one in a new state, since it was last read.
func (s *Store) Subscribe() <-chan struct{} { return s.index.subscribe() }

// Filter chooses jobs. The zero Filter chooses all.
type Filter struct {
	// Owned leaves only those of Owner.
	Owned bool
	Owner string
	// State leaves only those in it; "" is any.
	State State
	// Before leaves only those accepted before the one of this number; 0 is no limit.
	Before uint64
}

func (f Filter) matches(j *Job) bool {
	return (!f.Owned || f.Owner == j.Owner) && (f.State == "" || f.State == j.State) &&
		(f.Before == 0 || j.Seq < f.Before)
}

// List returns up to max jobs, the newest first, and whether there are more.
func (s *Store) List(f Filter, max int) (list []*Job, more bool) {
	s.index.eachBack(func(j *Job) bool {
		if !f.matches(j) {
			return true
		}
		if more = len(list) == max; !more {
			list = append(list, j)
		}
		return !more
	})
	return list, more
}

// Unfinished returns the jobs that are not over, the oldest first.
func (s *Store) Unfinished() []*Job { return s.index.unfinished() }

// Stats are numbers for whoever watches a store.
type Stats struct {
	// Jobs counts them by state.
	Jobs map[State]int
	// Bytes is what they take on disk, MaxBytes what they may.
	Bytes, MaxBytes int64
	// Hooks are webhooks that are to be called.
	Hooks int
}

// Stats counts what there is.
func (s *Store) Stats() Stats {
	stats := Stats{Jobs: map[State]int{}, MaxBytes: s.cfg.MaxBytes, Bytes: s.index.size()}
	s.index.each(func(j *Job) bool {
		stats.Jobs[j.State]++
		if j.Hook != nil && j.Hook.State == HookPending {
			stats.Hooks++
		}
		return true
	})
	return stats
}
