//go:build unix

package audioprep

import (
	"syscall"
	"time"
)

// cpuTime is the CPU time of this process until now.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
