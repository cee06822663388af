//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package models

import (
	"os"
	"os/exec"
	"syscall"
)

// killGroup kills a command and whatever it started.
func killGroup(cmd *exec.Cmd) error {
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != syscall.ESRCH {
		return err
	}
	return os.ErrProcessDone
}
