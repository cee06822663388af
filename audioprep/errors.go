package audioprep

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrEmpty is returned for an upload without bytes or without a single sample.
var ErrEmpty = errors.New("the upload holds no audio samples")

// accepted lists the containers that Decode takes, as FormatError reports them.
var accepted = []string{"wav", "w64", "mp3", "flac", "mp4", "aac", "aiff", "au", "caf", "ogg", "webm", "matroska"}

// FormatError reports a container or codec that Decode does not support.
type FormatError struct {
	Found    string   // what the bytes are: "ogg", "png", "wav with codec 0xbeef"; "" when unknown
	Accepted []string // the containers that are supported
	Reason   string   // more about it, or ""
	tried    bool     // ffmpeg has refused it too
}

func (e *FormatError) Error() string {
	found := e.Found
	if found == "" {
		found = "this unknown format"
	}
	msg := found + " is not supported"
	if e.Reason != "" {
		msg += " (" + e.Reason + ")"
	}
	return msg + ": send one of " + strings.Join(e.Accepted, ", ")
}

// unsupported makes the FormatError for what was found.
func unsupported(found, reason string) error {
	return &FormatError{Found: found, Accepted: append([]string(nil), accepted...), Reason: reason}
}

// CorruptError reports an upload whose container was recognised but from which
// no audio could be decoded.
type CorruptError struct {
	Container string // as Sniff names it
	Err       error  // why; never nil
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("the %s file is damaged: %v", e.Container, e.Err)
}

func (e *CorruptError) Unwrap() error { return e.Err }

// corrupt wraps what is wrong with a container in a CorruptError, unless it is
// that a form is not supported.
func corrupt(container string, err error) error {
	var format *FormatError
	if errors.As(err, &format) {
		return err
	}
	return &CorruptError{Container: container, Err: err}
}

// DecodeError is any error of Decode's that lies in the upload. It carries what
// had been found until then, so that whoever sent the file can be told.
type DecodeError struct {
	Info Info
	Err  error // ErrEmpty, *FormatError, *CorruptError, *LimitError or *ChoiceError; never nil
}

func (e *DecodeError) Error() string { return e.Err.Error() }

func (e *DecodeError) Unwrap() error { return e.Err }

// ChoiceError reports a choice among Options that the upload does not offer.
type ChoiceError struct {
	What string // "track": there is none of that number; "channels": too many to keep apart
	Got  int    // the number asked for, or the channels that there are
	Have int    // how many tracks there are, or how many channels can be kept apart
}

func (e *ChoiceError) Error() string {
	switch {
	case e.What == "channels":
		return fmt.Sprintf("the audio has %d channels, at most %d can be kept apart: have them mixed", e.Got, e.Have)
	case e.Have == 1:
		return fmt.Sprintf("there is no audio track %d: the file has one", e.Got)
	}
	return fmt.Sprintf("there is no audio track %d: the file has %d, counted from 1", e.Got, e.Have)
}

// LimitError reports audio beyond a limit of the Options.
type LimitError struct {
	What string        // "duration"
	Got  time.Duration // what is there, or how far decoding came: at least this much
	Max  time.Duration
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("audio %s is over the limit: at least %v, at most %v is accepted",
		e.What, e.Got.Round(time.Millisecond), e.Max)
}
