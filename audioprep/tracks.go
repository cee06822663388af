package audioprep

import (
	"errors"
	"strings"
)

// Track is one audio track of an upload.
type Track struct {
	Codec string // as Info.Codec, or what the file calls it if it can't be decoded
	// SampleRate and Channels are what the file's header says, 0 if it does not.
	SampleRate, Channels int
	Language             string // as the file gives it, mostly ISO 639-2 ("eng"); "" if it does not
	Default              bool   // taken unless Options.Track asks for another
}

// maxListed bounds the tracks that are listed and can be asked for: films have a
// dozen.
const maxListed = 64

// pick returns the index of the track to decode: the one asked for, else the
// default one of s.info.Tracks.
func (s *sink) pick() (int, error) {
	tracks := s.info.Tracks
	if n := s.opt.Track; n != 0 {
		if n < 1 || n > len(tracks) {
			return 0, &ChoiceError{What: "track", Got: n, Have: len(tracks)}
		}
		s.info.Track = n
		return n - 1, nil
	}
	for i, t := range tracks {
		if t.Default {
			s.info.Track = i + 1
			return i, nil
		}
	}
	return 0, nil
}

// foreignCodec names the codec of a track that can't be decoded, by the error
// that said so.
func foreignCodec(err error) string {
	var format *FormatError
	if !errors.As(err, &format) {
		return ""
	}
	if _, codec, ok := strings.Cut(format.Found, " with "); ok {
		return codec
	}
	return format.Found
}

// single lists the one track of a container that has no more, unless several are
// listed already.
func (i *Info) single() {
	if len(i.Tracks) == 0 && i.Codec != "" {
		i.Tracks = []Track{{Codec: i.Codec, SampleRate: i.SampleRate, Channels: i.Channels, Default: true}}
	}
	if i.Track == 0 && len(i.Tracks) > 0 {
		i.Track = 1
	}
}
