package jobs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Incoming is audio that is being received for a job. It's for one goroutine. Drop it,
// which does nothing once a job has it.
type Incoming struct {
	store *Store
	id    string
	file  *os.File // nil once it's closed
	bytes int64    // counted as used; 0 once a job has it
}

// Receive begins to receive the audio of a job that is yet to be accepted.
func (s *Store) Receive() (*Incoming, error) {
	id := NewID()
	f, err := os.OpenFile(filepath.Join(s.cfg.Dir, incomingDir, id), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	return &Incoming{store: s, id: id, file: f}, nil
}

// Write takes all of p, or fails with a *FullError or what the disk says.
func (in *Incoming) Write(p []byte) (int, error) {
	n := int64(len(p))
	if !in.store.index.take(n, in.store.cfg.MaxBytes) {
		return 0, in.store.full(in.bytes+n, 0)
	}
	in.bytes += n
	return in.file.Write(p)
}

// File is what was received so far. Its offset is its end: read it by ReadAt.
func (in *Incoming) File() *os.File { return in.file }

// Bytes is how much there is; 0 of nil.
func (in *Incoming) Bytes() int64 {
	if in == nil {
		return 0
	}
	return in.bytes
}

// settle writes the audio through to the disk and puts it where the job id has it.
func (in *Incoming) settle(id string) error {
	if err := in.file.Sync(); err != nil {
		return err
	}
	err := in.file.Close()
	in.file = nil
	if err != nil {
		return err
	}
	if err := os.Rename(in.path(), in.store.audioPath(id)); err != nil {
		return err
	}
	return syncDir(filepath.Join(in.store.cfg.Dir, audioDir))
}

func (in *Incoming) path() string { return filepath.Join(in.store.cfg.Dir, incomingDir, in.id) }

// settled says that the job has been accepted, with which its bytes are counted.
func (in *Incoming) settled() {
	in.store.index.give(in.bytes)
	in.bytes = 0
}

// Drop removes what was received, unless a job has it.
func (in *Incoming) Drop() {
	if in.file != nil {
		in.file.Close()
		in.file = nil
		os.Remove(in.path()) // what stays is swept at the next start
	}
	in.settled()
}

// syncDir writes a folder's entries through to the disk, where the system can.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !unsyncable(err) {
		return fmt.Errorf("sync %s: %w", dir, err)
	}
	return nil
}
