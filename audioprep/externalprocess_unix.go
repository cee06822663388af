//go:build unix

package audioprep

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// passFile lets the program read a file that need not have a name.
func passFile(cmd *exec.Cmd, file *os.File) {
	if file != nil {
		cmd.ExtraFiles = []*os.File{file} // becomes descriptor 3
	}
}

// inputName is the name under which the program finds the file of passFile. It can seek there.
func inputName(*os.File) string {
	if runtime.GOOS == "linux" {
		return "/proc/self/fd/3"
	}
	return "/dev/fd/3"
}

func inOwnGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// killGroup kills a process that has not been waited for, and all that it started.
func killGroup(p *os.Process) {
	if p.Signal(syscall.Signal(0)) == nil {
		syscall.Kill(-p.Pid, syscall.SIGKILL)
	}
}
