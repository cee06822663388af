package audioprep

import "time"

// Options says what to take from an upload, and how much of it. The zero value
// takes the default track, mixed to mono, however long.
type Options struct {
	// MaxDuration is the longest audio that is accepted. Decoding stops at the
	// first block beyond it, which is what makes a small file that unfolds to
	// hours harmless. 0: no limit.
	MaxDuration time.Duration
	// Track picks one of several audio tracks, counted from 1 in the file's
	// order. 0: the one that players take, see Track.Default.
	Track int
	// Separate keeps up to MaxSeparate channels apart, as for calls that have
	// each party on a channel of its own. Else they are mixed.
	Separate bool
	// Storage says where the samples lie.
	Storage Storage
	// FFmpeg decodes what this package does not. nil: nothing does.
	FFmpeg *FFmpeg

	meter *meter // looks at the samples as they were recorded; nil: nobody does
}

// MaxSeparate is the most channels that are kept apart.
const MaxSeparate = 8
