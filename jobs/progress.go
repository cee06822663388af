package jobs

import (
	"errors"
	"io/fs"
	"os"
	"time"

	bolt "go.etcd.io/bbolt"
)

// alter changes a job's record, and what else edit writes, in one transaction.
func (s *Store) alter(id string, edit func(tx *bolt.Tx, j *Job) error) (*Job, error) {
	var changed *Job
	err := s.db.update(func(tx *bolt.Tx) (func(), error) {
		value := tx.Bucket(bucketJobs).Get([]byte(id))
		if value == nil {
			return nil, ErrNotFound
		}
		j, err := decodeJob(id, value) // not the index's, which may lack a change of this same commit
		if err != nil {
			return nil, &CorruptError{s.db.path, err}
		}
		if err := edit(tx, j); err != nil {
			return nil, err
		}
		changed = j
		return func() { s.index.put(j) }, putJob(tx, j)
	})
	if err != nil {
		return nil, err
	}
	return changed, nil
}

// alterOpen is alter for a job that isn't over; where it is, the error is ErrOver.
func (s *Store) alterOpen(id string, edit func(tx *bolt.Tx, j *Job) error) error {
	_, err := s.alter(id, func(tx *bolt.Tx, j *Job) error {
		if j.State.Over() {
			return ErrOver
		}
		return edit(tx, j)
	})
	return err
}

// Begin says that a job runs now. event is its event where it never ran before.
func (s *Store) Begin(id string, event []byte) (*Job, error) {
	return s.alter(id, func(tx *bolt.Tx, j *Job) error {
		if j.State.Over() {
			return ErrOver
		}
		j.State = Running
		j.Tries++
		if !j.Started.IsZero() {
			return nil
		}
		j.Started = s.cfg.Now()
		return appendEvents(tx, j, [][]byte{event})
	})
}

// Requeue says that a job doesn't run any more, but is to.
func (s *Store) Requeue(id string) error {
	return s.alterOpen(id, func(tx *bolt.Tx, j *Job) error {
		j.State, j.Tries = Queued, 0
		return nil
	})
}

// resume has a job that ran when the process ended wait again. How often that was stays counted.
func (s *Store) resume(id string) error {
	_, err := s.alter(id, func(_ *bolt.Tx, j *Job) error {
		j.State = Queued
		return nil
	})
	return err
}

// SetAudio gives a job its audio, which is then the job's.
func (s *Store) SetAudio(id string, audio *Incoming) error {
	n := audio.Bytes()
	if err := audio.settle(id); err != nil {
		return err
	}
	err := s.alterOpen(id, func(tx *bolt.Tx, j *Job) error {
		j.AudioBytes = n
		return nil
	})
	if err != nil {
		os.Remove(s.audioPath(id))
		return err
	}
	audio.settled()
	return nil
}

// Measure says how long a job's audio is, now that it has been decoded.
func (s *Store) Measure(id string, length time.Duration) error {
	return s.alterOpen(id, func(_ *bolt.Tx, j *Job) error {
		j.Length, j.Measured = length, true
		return nil
	})
}

// AddPiece keeps a piece of what is done of a job, after so much of its audio. When it returns that is on disk.
func (s *Store) AddPiece(id string, piece []byte, heard time.Duration) error {
	return s.alterOpen(id, func(tx *bolt.Tx, j *Job) error {
		b, err := tx.Bucket(bucketPieces).CreateBucketIfNotExists([]byte(id))
		if err != nil {
			return err
		}
		j.Pieces++
		j.Tries = 0
		j.Heard = max(j.Heard, heard)
		j.StoredBytes += int64(len(piece))
		return b.Put(number(uint64(j.Pieces)), seal(piece))
	})
}

// AddText keeps events of text that is final, the first so many segments of it now. When it returns they are on disk.
func (s *Store) AddText(id string, segments int, events [][]byte) error {
	return s.alterOpen(id, func(tx *bolt.Tx, j *Job) error {
		j.Segments = segments
		return appendEvents(tx, j, events)
	})
}

// Finish says that a job is done, how long its audio was, and keeps its result. Its audio and its pieces go.
func (s *Store) Finish(id string, length time.Duration, result []byte, events [][]byte) error {
	return s.end(id, func(tx *bolt.Tx, j *Job) error {
		j.State, j.Heard, j.Length = Done, length, length
		j.StoredBytes += int64(len(result))
		if err := tx.Bucket(bucketResults).Put([]byte(id), seal(result)); err != nil {
			return err
		}
		return appendEvents(tx, j, events)
	})
}

// Fail says that a job has failed, for good.
func (s *Store) Fail(id string, why Failure, events [][]byte) error {
	return s.end(id, func(tx *bolt.Tx, j *Job) error {
		j.State, j.Failure = Failed, &why
		return appendEvents(tx, j, events)
	})
}

// Cancel says that a job isn't wanted any more. The error is ErrOver, or ErrNotFound.
func (s *Store) Cancel(id string, events [][]byte) error {
	return s.end(id, func(tx *bolt.Tx, j *Job) error {
		j.State = Cancelled
		return appendEvents(tx, j, events)
	})
}

// end makes a job one that is over.
func (s *Store) end(id string, edit func(tx *bolt.Tx, j *Job) error) error {
	err := s.alterOpen(id, func(tx *bolt.Tx, j *Job) error {
		j.StoredBytes -= contentBytes(tx.Bucket(bucketPieces).Bucket([]byte(id)))
		if err := dropBucket(tx.Bucket(bucketPieces), id); err != nil {
			return err
		}
		j.Finished, j.AudioBytes = s.cfg.Now(), 0
		if j.Hook != nil {
			j.Hook.State, j.Hook.Next = HookPending, j.Finished
		}
		return edit(tx, j)
	})
	if err == nil {
		err = removeFile(s.audioPath(id))
	}
	return err
}

// contentBytes is what the values in a bucket take, without their checksums. The bucket may be nil.
func contentBytes(b *bolt.Bucket) (n int64) {
	if b == nil {
		return 0
	}
	c := b.Cursor()
	for key, value := c.First(); key != nil; key, value = c.Next() {
		n += int64(len(value) - checksumBytes)
	}
	return n
}

// dropBucket deletes the bucket of a job, if there is one.
func dropBucket(in *bolt.Bucket, id string) error {
	if in.Bucket([]byte(id)) == nil {
		return nil
	}
	return in.DeleteBucket([]byte(id))
}

func removeFile(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
