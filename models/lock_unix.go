//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package models

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"
)

// lock takes the lock file at path for this process alone, and calls waiting
// once if another has it. The kernel frees the lock of a process that dies. The
// file stays: removing it would let two processes hold locks on two files of
// that name.
func lock(ctx context.Context, path string, waiting func()) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	for first := true; ; first = false {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if err != syscall.EWOULDBLOCK && err != syscall.EINTR {
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if first {
			waiting()
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}
