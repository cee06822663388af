package jobs

import (
	"errors"
	"fmt"
	"time"

	bolt "go.etcd.io/bbolt"
)

// Delete removes what is left of a job that is over. The error is ErrUnfinished, or ErrNotFound.
func (s *Store) Delete(id string) error { return s.delete(id, nil) }

// delete removes a job that is over, if may lets it.
func (s *Store) delete(id string, may func(j *Job) bool) error {
	return s.db.update(func(tx *bolt.Tx) (func(), error) {
		value := tx.Bucket(bucketJobs).Get([]byte(id))
		if value == nil {
			return nil, ErrNotFound
		}
		j, err := decodeJob(id, value)
		if err != nil {
			return nil, &CorruptError{s.db.path, err}
		}
		if !j.State.Over() || may != nil && !may(j) {
			return nil, ErrUnfinished
		}
		for _, name := range [][]byte{bucketPieces, bucketEvents} {
			if err := dropBucket(tx.Bucket(name), id); err != nil {
				return nil, err
			}
		}
		for _, name := range [][]byte{bucketRequests, bucketResults, bucketJobs} {
			if err := tx.Bucket(name).Delete([]byte(id)); err != nil {
				return nil, err
			}
		}
		return func() { s.index.remove(id) }, nil
	})
}

// Sweep removes the jobs that have been over for longer than Config.Keep and whose webhook, if any, isn't to be called
// any more. It returns how many there were.
func (s *Store) Sweep() (n int, err error) {
	before := s.cfg.Now().Add(-s.cfg.Keep)
	expired := func(j *Job) bool {
		return j.State.Over() && j.Finished.Before(before) && (j.Hook == nil || j.Hook.State != HookPending)
	}
	var ids []string
	s.index.each(func(j *Job) bool {
		if expired(j) {
			ids = append(ids, j.ID)
		}
		return true
	})
	for _, id := range ids {
		switch err := s.delete(id, expired); {
		case err == nil:
			n++
		case !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrUnfinished):
			return n, fmt.Errorf("sweep: %w", err)
		}
	}
	return n, nil
}

// Expires is when a job that is over goes; zero while it isn't.
func (s *Store) Expires(j *Job) time.Time {
	if j.Finished.IsZero() {
		return time.Time{}
	}
	return j.Finished.Add(s.cfg.Keep)
}
