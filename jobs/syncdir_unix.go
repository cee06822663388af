//go:build !windows

package jobs

import (
	"errors"
	"syscall"
)

// unsyncable reports whether a file system has no way to write a folder through.
func unsyncable(err error) bool {
	return errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP)
}
