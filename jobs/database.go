package jobs

import (
	"errors"
	"fmt"
	"io/fs"
	"runtime/debug"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// The buckets. Pieces and events have one inside for each job, with numbers for keys.
var (
	bucketJobs     = []byte("jobs")
	bucketRequests = []byte("requests")
	bucketResults  = []byte("results")
	bucketPieces   = []byte("pieces")
	bucketEvents   = []byte("events")
)

// database is the tree in its file. Changes of several callers that come together are
// committed together, by one goroutine.
type database struct {
	path  string
	bolt  *bolt.DB
	work  chan *write
	quit  chan struct{}
	ended chan struct{}
}

// write is one caller's change.
type write struct {
	change    change
	committed func()
	err       error
	done      chan struct{}
}

// change makes a change in a transaction. What it returns is called once that is on disk, in the order of the changes
// and before update returns; it may be nil. If the change returns an error it must not have changed anything.
type change func(*bolt.Tx) (committed func(), err error)

// lockPatience is how long the lock of a process that was just killed may take to go.
const lockPatience = time.Second

// openDatabase opens the file at path, or makes it. ErrLocked and *CorruptError come back as such.
func openDatabase(path string) (*database, error) {
	d := &database{path: path, work: make(chan *write), quit: make(chan struct{}), ended: make(chan struct{})}
	err := d.guard(func() (err error) {
		d.bolt, err = bolt.Open(path, 0o600, &bolt.Options{Timeout: lockPatience, FreelistType: bolt.FreelistMapType})
		return err
	})
	var system *fs.PathError
	var corrupt *CorruptError
	switch {
	case errors.Is(err, berrors.ErrTimeout):
		return nil, ErrLocked
	case errors.As(err, &system), errors.As(err, &corrupt):
		return nil, err
	case err != nil: // all else that it finds wrong is in the file
		return nil, &CorruptError{path, err}
	}
	err = d.guard(func() error {
		return d.bolt.Update(func(tx *bolt.Tx) error {
			for _, name := range [][]byte{bucketJobs, bucketRequests, bucketResults, bucketPieces, bucketEvents} {
				if _, err := tx.CreateBucketIfNotExists(name); err != nil {
					return err
				}
			}
			return nil
		})
	})
	if err != nil {
		return nil, errors.Join(err, d.bolt.Close())
	}
	go d.commit()
	return d, nil
}

// guard turns what bbolt does where its pages are damaged, panics and reads beyond its mapping, into a *CorruptError.
func (d *database) guard(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if v := recover(); v != nil {
			err = &CorruptError{d.path, fmt.Errorf("%v", v)}
		}
	}()
	return f()
}

// view reads.
func (d *database) view(f func(*bolt.Tx) error) error {
	err := d.guard(func() error { return d.bolt.View(f) })
	if errors.Is(err, berrors.ErrDatabaseNotOpen) {
		return ErrClosed
	}
	return err
}

// update has a change committed, and returns when it's on disk.
func (d *database) update(c change) error {
	w := &write{change: c, done: make(chan struct{})}
	select {
	case d.work <- w:
		<-w.done
		return w.err
	case <-d.quit:
		return ErrClosed
	}
}

// maxTogether is how many changes one commit takes at most.
const maxTogether = 256

// commit commits changes until close.
func (d *database) commit() {
	defer close(d.ended)
	for {
		select {
		case w := <-d.work:
			d.commitTogether(d.gather(w))
		case <-d.quit:
			return
		}
	}
}

// gather takes the changes that wait beside the first.
func (d *database) gather(first *write) []*write {
	all := []*write{first}
	for len(all) < maxTogether {
		select {
		case w := <-d.work:
			all = append(all, w)
		default:
			return all
		}
	}
	return all
}

func (d *database) commitTogether(all []*write) {
	err := d.guard(func() error {
		return d.bolt.Update(func(tx *bolt.Tx) error {
			for _, w := range all {
				w.committed, w.err = w.change(tx)
			}
			return nil
		})
	})
	for _, w := range all {
		switch {
		case err != nil:
			w.err = err
		case w.err == nil && w.committed != nil:
			w.committed()
		}
		close(w.done)
	}
}

// close waits for the change that is under way.
func (d *database) close() error {
	close(d.quit)
	<-d.ended
	return d.guard(d.bolt.Close)
}
