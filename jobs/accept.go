package jobs

import (
	"fmt"
	"os"

	bolt "go.etcd.io/bbolt"
)

// New is what a job begins with.
type New struct {
	// Job has Owner, Caller, Key, Model and Length; the rest is filled in.
	Job
	// HookURL is whom to tell; "": nobody.
	HookURL string
	// Request is what its runner needs to know.
	Request []byte
	// Audio is its audio, or nil where that's to be fetched. On success it's the job's.
	Audio *Incoming
	// Event, if not nil, makes the first event.
	Event func(*Job) []byte
}

// Accept makes a job of what was received, and returns once that is on disk. Where the same owner has sent one
// with the same key before, that one comes back instead, and fresh is false. The error is ErrInFlight,
// ErrTooMany, a *FullError, ErrClosed or the disk's.
func (s *Store) Accept(n New) (j *Job, fresh bool, err error) {
	old, err := s.index.claim(n.Owner, n.Key)
	if err != nil || old != nil {
		return old, false, err
	}
	defer s.index.unclaim(n.Owner, n.Key)
	if err := s.reserve(n.Audio.Bytes(), int64(len(n.Request))); err != nil {
		return nil, false, err
	}
	j = n.Job.clone()
	j.ID, j.State, j.Created, j.StoredBytes = NewID(), Queued, s.cfg.Now(), int64(len(n.Request))
	if n.HookURL != "" {
		j.Hook = &Hook{URL: n.HookURL, ID: "msg_" + j.ID[len(idPrefix):], State: HookWaiting}
	}
	if n.Audio != nil {
		j.AudioBytes = n.Audio.Bytes()
		if err := n.Audio.settle(j.ID); err != nil {
			s.unreserve(int64(len(n.Request)))
			return nil, false, err
		}
	}
	err = s.db.update(func(tx *bolt.Tx) (func(), error) {
		var err error
		if j.Seq, err = tx.Bucket(bucketJobs).NextSequence(); err != nil {
			return nil, err
		}
		if err := tx.Bucket(bucketRequests).Put([]byte(j.ID), seal(n.Request)); err != nil {
			return nil, err
		}
		if n.Event != nil {
			if err := appendEvents(tx, j, [][]byte{n.Event(j)}); err != nil {
				return nil, err
			}
		}
		return func() { s.index.put(j) }, putJob(tx, j)
	})
	s.unreserve(int64(len(n.Request)))
	if err != nil {
		os.Remove(s.audioPath(j.ID)) // else it's swept at the next start
		return nil, false, fmt.Errorf("accept: %w", err)
	}
	if n.Audio != nil {
		n.Audio.settled()
	}
	return j, true, nil
}

// Find returns the job that its owner calls key, if there is one.
func (s *Store) Find(owner, key string) (*Job, bool) {
	j := s.index.byKey(owner, key)
	return j, j != nil
}

// Room returns an error if no further job would be accepted now: ErrTooMany or a *FullError.
func (s *Store) Room() error {
	if err := s.reserve(0, 0); err != nil {
		return err
	}
	s.unreserve(0)
	return nil
}

// MaxBytes is what all jobs may take on disk.
func (s *Store) MaxBytes() int64 { return s.cfg.MaxBytes }

// full is the error for want of room for a job of so many bytes.
func (s *Store) full(audio, request int64) *FullError {
	fits := max(0, s.cfg.MaxBytes-request)
	return &FullError{Max: s.cfg.MaxBytes, Fits: fits, Never: audio > fits, Kept: s.index.kept()+audio > fits}
}

// reserve takes a place for a job, and room for its request beside its audio, which has its room.
func (s *Store) reserve(audio, request int64) error {
	if !s.index.take(request, s.cfg.MaxBytes) {
		return s.full(audio, request)
	}
	if !s.index.enter(s.cfg.MaxOpen) {
		s.index.give(request)
		return ErrTooMany
	}
	return nil
}

// unreserve gives both back: a job that was accepted is counted by itself.
func (s *Store) unreserve(bytes int64) {
	s.index.give(bytes)
	s.index.leave()
}

// putJob writes a job's record.
func putJob(tx *bolt.Tx, j *Job) error {
	return tx.Bucket(bucketJobs).Put([]byte(j.ID), encodeJob(j))
}
