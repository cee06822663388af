//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package models

import (
	"os/exec"
	"syscall"
)

// contain gives a command a process group of its own, all of which its context's
// end kills. Whoever kills us must also end the command.
func contain(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return killGroup(cmd) }
}
