package live

import (
	"context"
	"errors"
	"time"

	"hark/audioprep"
	"hark/engine"
)

// Settings are what a client may change while a session goes on.
type Settings struct {
	// Codec and Rate are the form of the sound that is appended.
	Codec audioprep.RawCodec
	Rate  int
	// Turns says how turns are found; nil: the client commits them.
	Turns *Turns
	// Text says how turns are transcribed; nil: they aren't.
	Text *Text
}

// Turns are how turns are told apart.
type Turns struct {
	// Threshold is how far speech must stand out, 0 to 1: see audioprep.Detector.
	Threshold float64
	// Padding is how much sound before the speech belongs to the turn; Silence how long a pause must be to end it.
	Padding, Silence time.Duration
}

// Text is how turns become text.
type Text struct {
	// Model is passed on to the Transcriber.
	Model string
	// Options are the wishes. Those that only change how sure a text is (Temperatures,
	// BeamSize, LogProbs) are for whole pieces.
	Options engine.Options
	// Every is how much more must have been said before a partial hypothesis is worth it; half of it will do while an
	// item has no text, which is waited for most.
	Every time.Duration
}

// Limits bound a session.
type Limits struct {
	// Ahead is how much sound may wait to be transcribed, not counting silence between turns.
	Ahead time.Duration
	// Patience is how long a whole piece is tried again while the Transcriber is busy, before its item fails.
	Patience time.Duration
}

var (
	// ErrAhead says that more sound waits than Limits allow. The session is of no use any more.
	ErrAhead = errors.New("live: more sound waits to be transcribed than is kept")
	// ErrNothing says that there is no sound to commit.
	ErrNothing = errors.New("live: there is no sound to commit")
	// ErrBusy is for a Transcriber to wrap when a request may succeed later.
	ErrBusy = errors.New("live: busy")
)

// Request is a stretch of sound to transcribe.
type Request struct {
	// Samples are mono, 16 kHz. They don't change any more and may be kept.
	Samples []float32
	// Text says how.
	Text Text
	// Partial is true where more of the same is to come: what counts then is a text soon.
	Partial bool
}

// Transcriber turns sound into text. The times of its result count from the first sample.
type Transcriber interface {
	Transcribe(ctx context.Context, r Request) (*engine.Result, error)
}

// Outcome is what became of a partial hypothesis.
type Outcome string

// The outcomes.
const (
	Shown   Outcome = "shown"    // it settled some text
	Same    Outcome = "same"     // it settled nothing
	Given   Outcome = "given_up" // its piece ended before
	Impeded Outcome = "failed"
)

// Observer is told how a session does, for metrics and logs. Its methods are called one
// at a time, and must not call the session.
type Observer interface {
	// TurnDone is called for each committed item that has ended, with an error if it failed. final is
	// the time from its end to its transcript.
	TurnDone(final time.Duration, err error)
	// PartialDone is called for each partial hypothesis.
	PartialDone(o Outcome)
	// FirstText is called with the time from the beginning of a turn's speech to its first
	// text, where that came while it was spoken.
	FirstText(after time.Duration)
}
