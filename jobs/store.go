package jobs

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	bolt "go.etcd.io/bbolt"
)

// Config says where jobs lie and how many. Zero values mean the defaults.
type Config struct {
	// Dir is the folder, which is made if it's not there.
	Dir string
	// Keep is how long a job, with its result, stays once it's over. Default 24 h.
	Keep time.Duration
	// MaxBytes is what all jobs may take on disk, audio and results together. Default 20 GiB.
	MaxBytes int64
	// MaxOpen is how many jobs may be unfinished. Default 10 000.
	MaxOpen int
	// Now tells the time; nil: the system's.
	Now func() time.Time
}

// Defaults of Config.
const (
	DefaultKeep     = 24 * time.Hour
	DefaultMaxBytes = 20 << 30
	DefaultMaxOpen  = 10_000
)

// Store is a folder of jobs. It's safe for concurrent use. Close it.
type Store struct {
	cfg   Config
	db    *database
	index *index
}

// The folders beside the database.
const (
	audioDir    = "audio"
	incomingDir = "incoming"
)

// Open opens a folder of jobs, or makes it. Jobs that ran when the process before ended are queued again. The error is
// ErrLocked, a *CorruptError, or the file system's.
func Open(cfg Config) (*Store, error) {
	cfg.Keep = cmp.Or(cfg.Keep, DefaultKeep)
	cfg.MaxBytes = cmp.Or(cfg.MaxBytes, DefaultMaxBytes)
	cfg.MaxOpen = cmp.Or(cfg.MaxOpen, DefaultMaxOpen)
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	for _, dir := range []string{audioDir, incomingDir} {
		if err := os.MkdirAll(filepath.Join(cfg.Dir, dir), 0o700); err != nil {
			return nil, err
		}
	}
	db, err := openDatabase(filepath.Join(cfg.Dir, "jobs.db"))
	if err != nil {
		return nil, err
	}
	s := &Store{cfg: cfg, db: db, index: newIndex()}
	if err := s.recover(); err != nil {
		return nil, errors.Join(err, db.close())
	}
	return s, nil
}

// Close lets the change that is under way reach the disk, and gives the folder free. Later calls fail with ErrClosed.
func (s *Store) Close() error { return s.db.close() }

// recover reads all that is there, and puts in order what a crash left.
func (s *Store) recover() error {
	var interrupted, bereft []*Job
	err := s.db.view(func(tx *bolt.Tx) error {
		if err := checkValues(tx); err != nil {
			return &CorruptError{s.db.path, err}
		}
		return tx.Bucket(bucketJobs).ForEach(func(key, value []byte) error {
			j, err := decodeJob(string(key), value)
			if err != nil {
				return &CorruptError{s.db.path, err}
			}
			s.index.put(j)
			if _, err := os.Stat(s.audioPath(j.ID)); j.AudioBytes > 0 &&
				errors.Is(err, fs.ErrNotExist) && !j.State.Over() {
				bereft = append(bereft, j)
			} else if j.State == Running {
				interrupted = append(interrupted, j)
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	for _, j := range interrupted {
		if err := s.resume(j.ID); err != nil {
			return err
		}
	}
	for _, j := range bereft {
		failure := Failure{Status: 500, Type: "server_error", Code: "audio_lost",
			Message: "the job's audio is gone from the server's disk: send it again"}
		if err := s.Fail(j.ID, failure, nil); err != nil {
			return err
		}
	}
	return s.sweepFiles()
}

// checkValues reads every value, so that what is damaged is met now and not when it's needed.
func checkValues(tx *bolt.Tx) error {
	flat := func(b *bolt.Bucket) error {
		return b.ForEach(func(key, value []byte) error {
			if _, err := unseal(value); err != nil {
				return fmt.Errorf("%.40q: %w", key, err)
			}
			return nil
		})
	}
	for _, name := range [][]byte{bucketRequests, bucketResults} {
		if err := flat(tx.Bucket(name)); err != nil {
			return err
		}
	}
	for _, name := range [][]byte{bucketPieces, bucketEvents} {
		b := tx.Bucket(name)
		err := b.ForEachBucket(func(id []byte) error { return flat(b.Bucket(id)) })
		if err != nil {
			return err
		}
	}
	return nil
}

// sweepFiles removes files that no job needs.
func (s *Store) sweepFiles() error {
	for _, dir := range []string{incomingDir, audioDir} {
		files, err := os.ReadDir(filepath.Join(s.cfg.Dir, dir))
		if err != nil {
			return err
		}
		for _, f := range files {
			j := s.index.get(f.Name())
			if dir == audioDir && j != nil && !j.State.Over() && j.AudioBytes > 0 {
				continue
			}
			if err := os.Remove(filepath.Join(s.cfg.Dir, dir, f.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Store) audioPath(id string) string { return filepath.Join(s.cfg.Dir, audioDir, id) }
