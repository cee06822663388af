package audioprep

import (
	"fmt"
	"os"
	"unsafe"
)

// Storage says where decoded samples lie. The zero value keeps them in memory,
// however many: 230 MB for an hour.
type Storage struct {
	// Memory is how many bytes of one upload's samples stay in memory. What has more
	// goes to a file in Dir that has no name, and is mapped from there; systems that
	// can't map files keep all in memory. 0: everything stays.
	Memory int64
	// Dir is the folder for such files; "" is the system's for temporary files.
	Dir string
	// Budget, if not nil, is asked for all memory that samples take. What it refuses
	// goes to a file at once.
	Budget Budget
}

// Budget shares memory out among uploads. It must be safe for concurrent use.
type Budget interface {
	// Take counts bytes more as taken and reports true, unless they are too many.
	Take(bytes int64) bool
	// Give counts them as free again.
	Give(bytes int64)
}

// StorageError reports that decoded samples could be kept neither in memory nor in a
// file.
type StorageError struct{ Err error }

func (e *StorageError) Error() string { return fmt.Sprintf("decoded audio can't be stored: %v", e.Err) }

func (e *StorageError) Unwrap() error { return e.Err }

// pieceSamples is how many samples a store takes memory for at a time: four seconds.
const pieceSamples = 1 << 16

// store keeps the samples of one channel, and gives them in one piece at the end.
type store struct {
	opt    Storage
	memory int64       // bytes that may stay in memory, 0: all
	pieces [][]float32 // in memory; the last one has room
	count  int         // samples in all
	taken  int64       // of the budget, in bytes
	file   *os.File    // nil while all is in memory
	stuck  bool        // there can be no file
}

// bytesOf is what n samples take.
func bytesOf(n int) int64 { return int64(n) * 4 }

// asBytes is the memory of samples.
func asBytes(x []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*4)
}

// expect makes room for n samples to come, as far as they may stay in memory. It is
// for the first ones only.
func (s *store) expect(n int) {
	if s.count > 0 || s.pieces != nil || n <= 0 || s.memory > 0 && bytesOf(n) > s.memory || !s.take(n) {
		return
	}
	s.pieces = [][]float32{make([]float32, 0, n)}
}

// take asks the budget for room for n samples.
func (s *store) take(n int) bool {
	if s.opt.Budget != nil && !s.opt.Budget.Take(bytesOf(n)) {
		return false
	}
	s.taken += bytesOf(n)
	return true
}

// give returns all that the budget gave.
func (s *store) give() {
	if s.opt.Budget != nil && s.taken > 0 {
		s.opt.Budget.Give(s.taken)
	}
	s.taken = 0
}

// add appends samples.
func (s *store) add(x []float32) error {
	s.count += len(x)
	for len(x) > 0 {
		last := len(s.pieces) - 1
		if last < 0 || len(s.pieces[last]) == cap(s.pieces[last]) {
			if err := s.grow(); err != nil {
				return err
			}
			continue
		}
		p := s.pieces[last]
		n := min(len(x), cap(p)-len(p))
		s.pieces[last] = append(p, x[:n]...)
		x = x[n:]
	}
	return nil
}

// grow makes room behind pieces that are full: another one, or the last one again once
// it is in the file.
func (s *store) grow() error {
	if s.file != nil {
		return s.flush()
	}
	stays := s.memory == 0 || bytesOf(len(s.pieces)*pieceSamples) < s.memory || s.stuck
	if stays && s.take(pieceSamples) {
		s.pieces = append(s.pieces, make([]float32, 0, pieceSamples))
		return nil
	}
	if s.stuck {
		return &StorageError{errBudget}
	}
	return s.toFile()
}

// toFile goes on in a file. Where there can be none, memory has to do.
func (s *store) toFile() error {
	f, err := newSpill(s.opt.Dir)
	if err != nil {
		s.stuck = true
		if s.take(pieceSamples) {
			s.pieces = append(s.pieces, make([]float32, 0, pieceSamples))
			return nil
		}
		return &StorageError{err}
	}
	s.file = f
	if len(s.pieces) == 0 {
		s.pieces = [][]float32{make([]float32, 0, pieceSamples)}
		return nil
	}
	return s.flush()
}

// flush writes what is in memory to the file. One piece stays, which is empty then.
func (s *store) flush() error {
	for _, p := range s.pieces {
		if _, err := s.file.Write(asBytes(p)); err != nil {
			return &StorageError{err}
		}
	}
	if p := s.pieces[0]; len(s.pieces) > 1 || cap(p) != pieceSamples {
		s.pieces = [][]float32{make([]float32, 0, pieceSamples)}
	} else {
		s.pieces[0] = p[:0]
	}
	s.give() // what is left is as small as any buffer
	return nil
}

// whole returns all samples in one piece. They are no longer the store's.
func (s *store) whole() (*samples, error) {
	if s.file == nil {
		x := s.join()
		out := &samples{x: x, budget: s.opt.Budget, taken: s.taken}
		s.taken = 0
		return out, nil
	}
	if err := s.flush(); err != nil {
		return nil, err
	}
	mapped, err := mapSpill(s.file, bytesOf(s.count))
	if err != nil {
		return nil, &StorageError{err}
	}
	s.close()
	x := unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(mapped))), s.count)
	return newMapped(x, mapped), nil
}

// join puts the pieces in memory together.
func (s *store) join() []float32 {
	switch len(s.pieces) {
	case 0:
		return nil
	case 1:
		return s.pieces[0]
	}
	x := make([]float32, 0, s.count)
	for i, p := range s.pieces {
		x = append(x, p...)
		s.pieces[i] = nil // so that it can be collected on the way
	}
	return x
}

// close gives back what the store holds.
func (s *store) close() {
	if s.file != nil {
		s.file.Close()
		s.file = nil
	}
	s.pieces = nil
	s.give()
}
