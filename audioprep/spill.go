package audioprep

import (
	"errors"
	"os"
	"runtime"
	"sync"
)

// errBudget is why samples find no room where there can be no file.
var errBudget = errors.New("the memory for decoded audio is used up, and there can be no file for it")

// newSpill makes a file for samples. Its name goes at once, so that nothing is left of
// it after a crash. It is written to its full length before it is mapped: a page that
// could not be had would end the process.
func newSpill(dir string) (*os.File, error) {
	if !canMap {
		return nil, errors.ErrUnsupported
	}
	f, err := os.CreateTemp(dir, "hark-samples-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// samples is a run of samples and what they lie in.
type samples struct {
	x      []float32 // not to be looked at once closed
	mapped []byte    // nil: in memory
	budget Budget
	taken  int64

	once    sync.Once
	cleanup runtime.Cleanup
}

// newMapped returns samples that lie in a mapped file, which goes with them if nobody
// closes them.
func newMapped(x []float32, mapped []byte) *samples {
	s := &samples{x: x, mapped: mapped}
	s.cleanup = runtime.AddCleanup(s, func(b []byte) { unmap(b) }, mapped)
	return s
}

// close gives the memory back, the budget's share or the file.
func (s *samples) close() error {
	var err error
	s.once.Do(func() {
		if s.mapped != nil {
			s.cleanup.Stop()
			err = unmap(s.mapped)
		} else if s.budget != nil && s.taken > 0 {
			s.budget.Give(s.taken)
		}
		s.mapped = nil
	})
	return err
}

// pageSamples is how many samples are let go of at a time, in whole pages of any size
// that is in use.
const pageSamples = 1 << 18

// passed says that samples before n are not needed for a while: those of a file leave
// the memory and come back when they are looked at.
func (s *samples) passed(n int) {
	if s.mapped != nil && n%pageSamples == 0 && n > 0 {
		forget(s.mapped[bytesOf(n-pageSamples):bytesOf(n)])
	}
}
