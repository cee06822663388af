package cpu

import "sync"

// spare keeps what operations use for a while, so that they allocate only until there is one
// for each that runs at the same time. The zero value is empty and ready.
type spare[T any] struct {
	mu   sync.Mutex
	free []*T
}

// get returns one that was put back, in the state it was in, or a new zero one.
func (s *spare[T]) get() *T {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.free)
	if n == 0 {
		return new(T)
	}
	t := s.free[n-1]
	s.free = s.free[:n-1]
	return t
}

func (s *spare[T]) put(t *T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = append(s.free, t)
}

// scratch is memory of its own for every worker of a task.
type scratch [][]float32

// reserve makes room for n workers. It is called before the task runs.
func (s *scratch) reserve(n int) {
	if len(*s) < n {
		*s = append(*s, make([][]float32, n-len(*s))...)
	}
}

// get returns n elements of any content, for the worker alone.
func (s scratch) get(worker, n int) []float32 {
	if cap(s[worker]) < n {
		s[worker] = alignedFloats(n)
	}
	return s[worker][:n]
}
