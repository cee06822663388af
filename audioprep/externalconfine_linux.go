package audioprep

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// maxProcessMemory bounds the address space of an ffmpeg, in bytes: its libraries take a quarter of it.
const maxProcessMemory = 1 << 30

// confine bounds the means of a process: its memory, and no byte to any file.
func confine(pid int) error {
	for _, l := range []struct {
		resource int
		most     uint64
	}{{unix.RLIMIT_AS, maxProcessMemory}, {unix.RLIMIT_FSIZE, 0}, {unix.RLIMIT_CORE, 0}} {
		limit := unix.Rlimit{Cur: l.most, Max: l.most}
		err := unix.Prlimit(pid, l.resource, &limit, nil)
		if err != nil && !errors.Is(err, unix.ESRCH) { // ESRCH: it has ended already
			return fmt.Errorf("bound the process: %w", err)
		}
	}
	return nil
}
