package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// stdinName is the file name that stands for standard input.
const stdinName = "-"

// checkInputs looks at every file before any work is done and returns what is wrong with each, nil where nothing is.
func checkInputs(files []string, stdin io.Reader) []error {
	errs := make([]error, len(files))
	stdinUsed := false
	for i, name := range files {
		switch {
		case name != stdinName:
			errs[i] = checkFile(name)
		case stdinUsed:
			errs[i] = errors.New("-: standard input can be read only once")
		case isTerminal(stdin):
			errs[i] = withHint(errors.New("-: standard input is a terminal"), "pipe a recording in: hark transcribe - <talk.mp3")
		}
		stdinUsed = stdinUsed || name == stdinName
	}
	return errs
}

// checkFile returns why name can't be an input, or nil.
func checkFile(name string) error {
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return withHint(fmt.Errorf("%s: no such file", name), "check the path; a name with spaces needs quotes")
	case err != nil:
		return fmt.Errorf("%s: %w", name, pathCause(err))
	case info.IsDir():
		return withHint(fmt.Errorf("%s: is a folder", name), "name the files in it: hark transcribe %s/*", name)
	}
	return nil
}

// openInput opens a file, or standard input, for reading from any place.
func openInput(name string, stdin io.Reader) (io.ReadSeekCloser, error) {
	if name == stdinName {
		return spool(stdin)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, pathCause(err))
	}
	info, err := f.Stat()
	if err != nil || info.Mode().IsRegular() {
		return f, err
	}
	defer f.Close() // a pipe or a device: read it once, to where it can be read again
	return spool(f)
}

// spool copies r to a file without a name, which goes away with the process.
func spool(r io.Reader) (io.ReadSeekCloser, error) {
	f, err := os.CreateTemp("", "hark-*")
	if err != nil {
		return nil, fmt.Errorf("store the input: %w", err)
	}
	// Where a file in use can't be removed it's left to the system's cleaning of temporary files.
	os.Remove(f.Name())
	if _, err := io.Copy(f, r); err != nil {
		f.Close()
		return nil, fmt.Errorf("store the input: %w", err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		f.Close()
		return nil, fmt.Errorf("store the input: %w", err)
	}
	return f, nil
}

// pathCause is err without the call and the path, which the message has already.
func pathCause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
