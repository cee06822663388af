package jobs

import (
	"errors"
	"fmt"
)

var (
	// ErrLocked says that another process uses the folder.
	ErrLocked = errors.New("another process uses this folder for jobs")
	// ErrNotFound says that there is no such job (any more).
	ErrNotFound = errors.New("there is no such job")
	// ErrOver says that the job is over: done, failed or cancelled.
	ErrOver = errors.New("the job is over")
	// ErrUnfinished says that the job is not over yet.
	ErrUnfinished = errors.New("the job is not over")
	// ErrTooMany says that there are as many unfinished jobs as are taken.
	ErrTooMany = errors.New("too many jobs are unfinished")
	// ErrInFlight says that a job with the same key is being accepted.
	ErrInFlight = errors.New("a job with the same key is being accepted")
	// ErrClosed says that the store is closed.
	ErrClosed = errors.New("the jobs are closed")
)

// FullError says that there's no room within Config.MaxBytes.
type FullError struct {
	Max int64
	// Fits is the longest audio in bytes that has room once no other job has any.
	Fits int64
	// Never says that the audio is longer, so that waiting doesn't help.
	Never bool
	// Kept says that what is kept of jobs that are over leaves too little room, so that it
	// takes until some expire or are deleted.
	Kept bool
}

func (e *FullError) Error() string {
	return fmt.Sprintf("the jobs take up the %d bytes that they may have", e.Max)
}

// CorruptError says that the database is damaged.
type CorruptError struct {
	Path string
	Err  error
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("the database of jobs %s is damaged: %v", e.Path, e.Err)
}

func (e *CorruptError) Unwrap() error { return e.Err }
