//go:build !unix

package audioprep

import "time"

var started = time.Now()

// cpuTime is the time since the process began, where its CPU time is not to be had.
func cpuTime() time.Duration { return time.Since(started) }
