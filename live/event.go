package live

import (
	"time"

	"hark/engine"
)

// Event is something that a session tells. It is one of the types below. Times count
// from the start of the session's sound.
type Event interface{ event() }

type (
	// SpeechStarted says that a turn has begun, a tenth of a second or so ago.
	SpeechStarted struct {
		Item string        // that the turn will be
		At   time.Duration // where the turn begins, padding included
	}

	// SpeechStopped says that a turn has ended, since nobody speaks any more. Committed follows.
	SpeechStopped struct {
		Item string
		At   time.Duration // where the turn ends, the silence included
	}

	// Committed says that a turn is whole and is an item now.
	Committed struct {
		Item     string
		Previous string // the item before, "" for the first
	}

	// Cleared says that sound that was of no item yet is forgotten.
	Cleared struct{}

	// Delta is text behind the text that was told of an item before. It may come before Committed.
	Delta struct {
		Item string
		Text string // valid UTF-8, never empty
	}

	// Segment is a stretch of an item that is settled: joined, an item's segments have the text of its
	// deltas. They come when a piece is whole.
	Segment struct {
		Item       string
		Number     int     // from 0
		Start, End float64 // in seconds
		Text       string
	}

	// Completed ends an item.
	Completed struct {
		Item     string
		Text     string // all its deltas
		Language string // a code, "" if the model doesn't say
		Seconds  float64
		Spelling []engine.Token // if Options ask for it; of the last hypotheses, from which the text may differ
	}

	// Failed ends an item that could not be transcribed.
	Failed struct {
		Item string
		Err  error
	}
)

func (SpeechStarted) event() {}
func (SpeechStopped) event() {}
func (Committed) event()     {}
func (Cleared) event()       {}
func (Delta) event()         {}
func (Segment) event()       {}
func (Completed) event()     {}
func (Failed) event()        {}
