package main

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/alecthomas/kong"

	"hark/audioprep"
)

// hinted is an error with advice on what to do about it.
type hinted struct {
	error
	hint string
}

func (e *hinted) Unwrap() error { return e.error }

// withHint adds advice to an error.
func withHint(err error, format string, args ...any) error {
	return &hinted{err, fmt.Sprintf(format, args...)}
}

// usage is a command line that can't be understood.
type usage struct{ error }

func (e *usage) Unwrap() error { return e.error }

// usageError is the error for a command line that the parser refused.
func usageError(err error, args []string) error {
	command := "hark"
	var p *kong.ParseError
	if errors.As(err, &p) && p.Context != nil {
		if node := p.Context.Selected(); node != nil {
			command = node.FullPath()
		}
		err = nameVariable(err, p.Context, args)
	}
	return withHint(&usage{err}, "%s --help shows what it takes", command)
}

// hintFor is the advice that goes with an error, or "".
func hintFor(err error) string {
	var h *hinted
	var format *audioprep.FormatError
	switch {
	case errors.As(err, &h):
		return h.hint
	case errors.As(err, &format) && format.Convertible():
		return "ffmpeg takes it: install it, or name one with --ffmpeg, and hark has it decode such files"
	case errors.Is(err, fs.ErrPermission):
		return "check who may read and write there"
	case errors.Is(err, syscall.ENOSPC):
		return "free some space: `hark models list` shows what models take, `hark models rm NAME` removes one"
	}
	return ""
}
