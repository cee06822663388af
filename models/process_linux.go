package models

import (
	"os/exec"
	"syscall"
)

// contain gives a command a process group of its own, all of which its context's
// end kills, and has the kernel kill the command when we are killed ourselves.
// The kernel takes the thread that starts the command for us: it must live as
// long as the command.
func contain(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return killGroup(cmd) }
}
