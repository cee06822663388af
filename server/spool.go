package server

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// uploadMemory is how many bytes of uploads may lie in memory, all together; beyond it even small ones go to disk.
const uploadMemory = 512 << 20

// memoryShare counts what all uploads hold in memory.
type memoryShare struct{ used atomic.Int64 }

// take counts n more bytes if they fit.
func (m *memoryShare) take(n int64) bool {
	if m.used.Add(n) <= uploadMemory {
		return true
	}
	m.used.Add(-n)
	return false
}

func (m *memoryShare) give(n int64) { m.used.Add(-n) }

// An upload that nobody wants any more is still read for so long and so far: a short one to its
// end, so that its link can be used again.
const (
	unwantedBytes = 1 << 20
	unwantedTime  = time.Second
)

// spool holds an upload: in memory up to a threshold, beyond it in a temporary file. One goroutine writes it
// and ends it; what is there can be read meanwhile from [spool.reader]. Close gives back what it took, any
// number of times, once nobody reads any more.
type spool struct {
	dir       string
	threshold int64
	limit     int64 // most bytes it takes
	share     *memoryShare

	mu       sync.Mutex
	size     int64
	memory   bytes.Buffer
	file     *os.File  // nil while all is in memory
	into     io.Writer // what writes to the file; nil: the file itself
	path     string    // to be removed by Close; "" when the file has no name any more
	ended    bool
	err      error         // why it ended early
	unwanted error         // why what is still to come is of no use; nil while it is
	since    time.Time     // of unwanted
	more     chan struct{} // closed when there is more to read, or the end; nil while nobody waits
}

// wholeFile is an upload that has arrived in a file, which is the spool's then.
func wholeFile(f *os.File) (*spool, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return &spool{file: f, size: info.Size(), limit: info.Size(), share: &memoryShare{}, ended: true}, nil
}

// Write takes all of p or fails with the 413 of its limit, what spoolFailed makes of the temporary file's error, or
// the reason why the upload is of no use.
func (s *spool) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unwanted != nil && (s.size > unwantedBytes || time.Since(s.since) > unwantedTime) {
		return 0, s.unwanted
	}
	if s.size+int64(len(p)) > s.limit {
		return 0, fileTooLarge(s.limit)
	}
	if s.file == nil && (s.size+int64(len(p)) > s.threshold || !s.share.take(int64(len(p)))) {
		if err := s.toFile(); err != nil {
			return 0, spoolFailed(err)
		}
	}
	var err error
	if s.into != nil {
		_, err = s.into.Write(p)
	} else if s.file != nil {
		_, err = s.file.Write(p)
	} else {
		_, err = s.memory.Write(p)
	}
	if err != nil {
		return 0, spoolFailed(err)
	}
	s.size += int64(len(p))
	s.tell()
	return len(p), nil
}

// toFile moves what is in memory to a new file, whose name goes at once where the system lets a file live without one.
func (s *spool) toFile() error {
	f, err := os.CreateTemp(s.dir, "hark-upload-*")
	if err != nil {
		return err
	}
	s.file, s.path = f, f.Name()
	if os.Remove(s.path) == nil {
		s.path = ""
	}
	_, err = f.Write(s.memory.Bytes())
	s.dropMemory()
	return err
}

// end says that nothing more comes: all is there, or err is why it isn't.
func (s *spool) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.ended, s.err = true, err
		s.tell()
	}
}

// refuse says that what is still to come is of no use, and why.
func (s *spool) refuse(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unwanted == nil {
		s.unwanted, s.since = err, time.Now()
	}
}

// tell wakes those who wait for more. The lock is held.
func (s *spool) tell() {
	if s.more != nil {
		close(s.more)
		s.more = nil
	}
}

// length is how many bytes there are by now.
func (s *spool) length() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.size
}

// onDisk reports whether the upload went to a file.
func (s *spool) onDisk() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.file != nil
}

// dropMemory empties the memory. The lock is held.
func (s *spool) dropMemory() {
	s.share.give(int64(s.memory.Len()))
	s.memory = bytes.Buffer{}
}

func (s *spool) Close() {
	s.end(errors.New("the upload was dropped"))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropMemory()
	if s.file != nil {
		s.file.Close()
		if s.path != "" {
			os.Remove(s.path)
			s.path = ""
		}
	}
}

// reader returns the upload from its start, whether or not it is whole. What isn't there yet is waited for until ctx
// ends. It's good until Close.
func (s *spool) reader(ctx context.Context) *spoolReader { return &spoolReader{spool: s, ctx: ctx} }

// spoolReader reads an upload while it arrives: it is an audioprep.Arriving.
type spoolReader struct {
	spool *spool
	ctx   context.Context
	pos   int64
	idle  idler // nil: nobody cares
}

// idler is told when a reader begins to wait for more of an upload, and when it goes
// on; and before each piece that is read.
type idler interface {
	wait()
	goOn(ctx context.Context) error
	giveWay(ctx context.Context)
}

// Read reads what is there, or waits for some of it or the end.
func (r *spoolReader) Read(p []byte) (int, error) {
	if ok, err := r.Reach(r.pos + 1); err != nil || !ok {
		if err == nil {
			err = io.EOF
		}
		return 0, err
	}
	if r.idle != nil {
		r.idle.giveWay(r.ctx)
	}
	n, err := r.spool.readAt(p, r.pos)
	r.pos += int64(n)
	return n, err
}

// File is the file that the upload lies in, for programs that can be given one; nil while it is in memory. The
// reader's place is not the file's.
func (r *spoolReader) File() *os.File {
	r.spool.mu.Lock()
	defer r.spool.mu.Unlock()
	return r.spool.file
}

// readAt reads what is there from a place before the end on.
func (s *spool) readAt(p []byte, pos int64) (int, error) {
	s.mu.Lock()
	p = p[:min(int64(len(p)), s.size-pos)]
	file := s.file
	if file == nil {
		defer s.mu.Unlock()
		return copy(p, s.memory.Bytes()[pos:]), nil
	}
	s.mu.Unlock() // what is written is written behind
	n, err := file.ReadAt(p, pos)
	if err != nil {
		return n, spoolFailed(err)
	}
	return n, nil
}

// Seek implements io.Seeker. Only from the end it waits, for the end.
func (r *spoolReader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.pos
	case io.SeekEnd:
		if _, err := r.Reach(r.spool.limit + 1); err != nil {
			return 0, err
		}
		offset += r.spool.length()
	}
	if offset < 0 {
		return 0, errors.New("seek before the start of the upload")
	}
	r.pos = offset
	return offset, nil
}

// Reach waits until there are n bytes or no more come, and reports whether there are. What was wrong with an upload
// that ended early is the error, once what there is of it doesn't do.
func (r *spoolReader) Reach(n int64) (ok bool, err error) {
	s := r.spool
	for waited := false; ; waited = true {
		s.mu.Lock()
		if n <= s.size || s.ended {
			ok, err = n <= s.size, s.err
			s.mu.Unlock()
			if ok {
				err = nil
			}
			if waited && r.idle != nil {
				err = errors.Join(err, r.idle.goOn(r.ctx))
			}
			return ok, err
		}
		if s.more == nil {
			s.more = make(chan struct{})
		}
		more := s.more
		s.mu.Unlock()
		if !waited && r.idle != nil {
			r.idle.wait()
		}
		select {
		case <-more:
		case <-r.ctx.Done():
			return false, r.ctx.Err()
		}
	}
}
