package audioprep

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// lastGasp is how long a killed process, or one that others keep the pipes of, is waited for.
const lastGasp = 5 * time.Second

// process is a program under way. Read stdout to its end or kill, then wait.
type process struct {
	cmd    *exec.Cmd
	stdout *os.File
	log    ffmpegLog // of stderr; whole after wait
	stop   func() bool
}

// startProcess starts a program in a group of its own, with a clean environment and bounded means. When ctx
// ends, the group is killed and stdout ends. file is passed on under inputName, if it is not nil.
func startProcess(ctx context.Context, path string, args []string, file *os.File) (*process, error) {
	out, childOut, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.Command(path, args...), stdout: out}
	p.cmd.Env = cleanEnvironment()
	p.cmd.Dir = filepath.Dir(path) // not where we are: what lies there is not its business
	p.cmd.Stdout, p.cmd.Stderr = childOut, &p.log
	p.cmd.WaitDelay = lastGasp
	passFile(p.cmd, file)
	inOwnGroup(p.cmd)
	err = p.cmd.Start()
	childOut.Close()
	if err != nil {
		out.Close()
		return nil, err
	}
	if err := confine(p.cmd.Process.Pid); err != nil {
		p.kill()
		p.wait()
		return nil, err
	}
	p.stop = context.AfterFunc(ctx, p.kill)
	return p, nil
}

// kill ends the whole group and stdout.
func (p *process) kill() {
	killGroup(p.cmd.Process)
	p.stdout.Close()
}

// wait closes stdout, so that whoever still writes there ends, and returns how the process ended.
func (p *process) wait() error {
	p.stdout.Close()
	err := p.cmd.Wait()
	if p.stop != nil {
		p.stop()
	}
	p.log.end()
	if errors.Is(err, exec.ErrWaitDelay) {
		return nil // it ended well, but left somebody behind
	}
	return err
}

// cleanEnvironment is what a program needs to start, and nothing that could change what it does:
// ffmpeg reads FFREPORT, FFMPEG_DATADIR and proxies from there, its libraries the user's folders.
func cleanEnvironment() []string {
	env := []string{"LC_ALL=C", "AV_LOG_FORCE_NOCOLOR=1"}
	for _, name := range []string{"PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SystemRoot"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}
