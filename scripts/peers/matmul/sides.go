//go:build linux && (amd64 || arm64)

package main

import (
	"fmt"
	"syscall"
	"time"

	"github.com/ebitengine/purego"
)

// library is what hark is compared with.
type library interface {
	version() string
	// contenders are its ways to compute the product of x, [m][k], and the transpose of w, [n][k]. release frees what they hold.
	contenders(s shape, x, w []float32) (ways []contender, release func(), err error)
}

// sides are all that compute.
type sides struct {
	threads   int
	hark      *harkSide
	libraries []library
}

// openSides opens the libraries whose files are given.
func openSides(blas, ort string, threads int) (*sides, error) {
	h, err := newHark(threads)
	if err != nil {
		return nil, err
	}
	s := &sides{threads: threads, hark: h}
	if blas != "" {
		l, err := openBLAS(blas, threads)
		if err != nil {
			return nil, err
		}
		s.libraries = append(s.libraries, l)
	}
	if ort != "" {
		l, err := openORT(ort, threads)
		if err != nil {
			return nil, err
		}
		s.libraries = append(s.libraries, l)
	}
	return s, nil
}

// contenders are hark's ways to compute a product, then the libraries'.
func (s *sides) contenders(at shape, x, w []float32) (all []contender, release func(), err error) {
	all, err = s.hark.contenders(at, x, w)
	if err != nil {
		return nil, nil, err
	}
	var releases []func()
	release = func() {
		for _, f := range releases {
			f()
		}
	}
	for _, l := range s.libraries {
		ways, free, err := l.contenders(at, x, w)
		if err != nil {
			release()
			return nil, nil, err
		}
		all, releases = append(all, ways...), append(releases, free)
	}
	return all, release, nil
}

// clock is what is measured: the processor time of this process where one thread computes, which other programs disturb least, else the
// time of day.
func (s *sides) clock() func() time.Duration {
	if s.threads > 1 {
		begin := time.Now()
		return func() time.Duration { return time.Since(begin) }
	}
	return func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			panic(err) // it fails for a wrong argument only
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
}

// open opens a shared library and finds a function, so that registering it can't fail.
func open(file, function string) (uintptr, error) {
	handle, err := purego.Dlopen(file, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return 0, err
	}
	if _, err := purego.Dlsym(handle, function); err != nil {
		return 0, fmt.Errorf("%s has no function %s", file, function)
	}
	return handle, nil
}
