package server

import (
	"bytes"
	"io"
	"os"
	"sync/atomic"
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

// spool holds an upload: in memory up to a threshold, beyond it in a temporary file. Write first, then read from
// [spool.reader]; Close gives back what it took, any number of times.
type spool struct {
	dir       string
	threshold int64
	limit     int64 // most bytes it takes
	share     *memoryShare

	size   int64
	memory bytes.Buffer
	file   *os.File // nil while all is in memory
	path   string   // to be removed by Close; "" when the file has no name any more
}

// Write takes all of p or fails with the 413 of its limit or what spoolFailed makes of the temporary file's error.
func (s *spool) Write(p []byte) (int, error) {
	if s.size+int64(len(p)) > s.limit {
		return 0, fileTooLarge(s.limit)
	}
	if s.file == nil && (s.size+int64(len(p)) > s.threshold || !s.share.take(int64(len(p)))) {
		if err := s.toFile(); err != nil {
			return 0, spoolFailed(err)
		}
	}
	var err error
	if s.file != nil {
		_, err = s.file.Write(p)
	} else {
		_, err = s.memory.Write(p)
	}
	if err != nil {
		return 0, spoolFailed(err)
	}
	s.size += int64(len(p))
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

// reader returns the upload from its start. It's good until Close.
func (s *spool) reader() (io.ReadSeeker, error) {
	if s.file == nil {
		return bytes.NewReader(s.memory.Bytes()), nil
	}
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return nil, spoolFailed(err)
	}
	return s.file, nil
}

// onDisk reports whether the upload went to a file.
func (s *spool) onDisk() bool { return s.file != nil }

func (s *spool) dropMemory() {
	s.share.give(int64(s.memory.Len()))
	s.memory = bytes.Buffer{}
}

func (s *spool) Close() {
	s.dropMemory()
	if s.file != nil {
		s.file.Close()
		if s.path != "" {
			os.Remove(s.path)
			s.path = ""
		}
	}
}
