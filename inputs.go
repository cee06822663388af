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
			errs[i] = withHint(errors.New("-: standard input is a terminal"),
				"pipe a recording in, as with <talk.mp3 at the end of the line")
		case isFolder(stdin):
			errs[i] = withHint(errors.New("-: standard input is a folder"),
				"pipe a recording in, as with <talk.mp3 at the end of the line")
		}
		stdinUsed = stdinUsed || name == stdinName
	}
	return errs
}

func isFolder(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.IsDir()
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
		return withHint(fmt.Errorf("%s: is a folder", name), "name the files in it, as %s/*", name)
	}
	return nil
}

// openInput opens a file, or standard input, for reading from any place. The error does not name it.
func openInput(name string, stdin io.Reader) (io.ReadSeekCloser, error) {
	if name == stdinName {
		return spool(stdin)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, pathCause(err)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, pathCause(err)
	}
	if info.Mode().IsRegular() {
		return f, nil
	}
	defer f.Close() // a pipe or a device: read it once, to where it can be read again
	return spool(f)
}

// spool copies r to a file without a name, which goes away with the process.
func spool(r io.Reader) (io.ReadSeekCloser, error) {
	f, err := os.CreateTemp("", "hark-*")
	if err != nil {
		return nil, spoolError(err)
	}
	// Where a file in use can't be removed it's left to the system's cleaning of temporary files.
	os.Remove(f.Name())
	source := &sourceReader{Reader: r}
	_, err = io.Copy(f, source)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	switch {
	case err == nil:
		return f, nil
	case source.err != nil:
		err = pathCause(source.err)
	default:
		err = spoolError(err)
	}
	f.Close()
	return nil, err
}

// spoolError says where a copy of an input could not be kept, and what to do about it.
func spoolError(err error) error {
	return withHint(fmt.Errorf("no copy of it can be kept in %s: %w", os.TempDir(), pathCause(err)),
		"what is not a file is copied to the folder for temporary files first: set TMPDIR to one with room that can be written to")
}

// sourceReader remembers how reading failed, to tell that from a failure to write.
type sourceReader struct {
	io.Reader
	err error
}

func (s *sourceReader) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// pathCause is err without the call and the path, which the message has already.
func pathCause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
