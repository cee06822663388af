package server

import (
	"errors"
	"math"

	"hark/audioprep"
	"hark/batcher"
)

// FileReport says what is known of an audio file. It is what /v1/explain and hark inspect --json answer with, and the
// object "file" beside "error" where a file is refused (400, 413 for its length, 415): there it holds what had been
// found until then. bytes, duration_s and faults are always there, the rest where it is known.
type FileReport struct {
	Bytes int64 `json:"bytes"`
	// Container and Codec are named as audioprep.Info has them. Decoder is what decoded
	// the file if hark did not: "ffmpeg 5.1.9".
	Container  string `json:"container,omitempty"`
	Codec      string `json:"codec,omitempty"`
	Decoder    string `json:"decoder,omitempty"`
	SampleRate int    `json:"sample_rate,omitempty"`
	Channels   int    `json:"channels,omitempty"`
	// Tracks are the audio tracks, and Track the number of the one that is heard, from 1.
	Track  int           `json:"track,omitempty"`
	Tracks []TrackReport `json:"tracks,omitempty"`
	// Duration is what was decoded, in seconds. Where the file is too long, it's at least so long.
	Duration float64 `json:"duration_s"`
	// Loudness is integrated (ITU-R BS.1770, LUFS), Peak the largest sample in dB of full
	// scale. Neither is there for silence.
	Loudness *float64 `json:"loudness_lufs,omitempty"`
	Peak     *float64 `json:"peak_dbfs,omitempty"`
	// Speech is the part of the file, 0 to 1, in which speech was found.
	Speech *float64 `json:"speech_share,omitempty"`
	// Lane is where a request with this file would wait, CostMillis what the batcher would count it as, and Windows how
	// many pieces the model would be given: none of silence.
	Lane       string `json:"lane,omitempty"`
	CostMillis *int64 `json:"cost_ms,omitempty"`
	Windows    *int   `json:"windows,omitempty"`
	// Faults tells in words what is wrong with the file and was repaired, left out or put up with.
	Faults []string `json:"faults"`
	// Reason is why nothing can be heard; "" if something can.
	Reason string `json:"reason,omitempty"`
}

// TrackReport is one audio track of a file.
type TrackReport struct {
	Codec      string `json:"codec,omitempty"`
	SampleRate int    `json:"sample_rate,omitempty"`
	Channels   int    `json:"channels,omitempty"`
	Language   string `json:"language,omitempty"`
	Default    bool   `json:"default"`
}

// NewFileReport reports an inspection, and the error that came with it or nil.
func NewFileReport(i *audioprep.Inspection, err error) *FileReport {
	r := &FileReport{
		Bytes: i.Bytes, Container: i.Container, Codec: i.Codec, Decoder: i.Decoder,
		SampleRate: i.SampleRate, Channels: i.Channels,
		Track: i.Track, Duration: math.Round(i.Duration.Seconds()*1000) / 1000, Faults: i.Faults,
	}
	if r.Faults == nil {
		r.Faults = []string{}
	}
	for _, t := range i.Tracks {
		r.Tracks = append(r.Tracks, TrackReport{t.Codec, t.SampleRate, t.Channels, t.Language, t.Default})
	}
	if err != nil {
		r.Reason = err.Error()
		return r
	}
	r.Loudness, r.Peak = level(i.Loudness), level(i.Peak)
	speech := math.Round(i.Speech*1000) / 1000
	cost, windows := millis(i.CostSamples), len(i.Windows)
	r.Lane, r.CostMillis, r.Windows, r.Speech = laneOf(i.Samples).String(), &cost, &windows, &speech
	return r
}

// level is a number of decibels as JSON can have it.
func level(db float64) *float64 {
	if math.IsNaN(db) || math.IsInf(db, 0) {
		return nil
	}
	db = math.Round(db*10) / 10
	return &db
}

// lane is the report's lane.
func (r *FileReport) lane() batcher.Lane {
	if r.Lane == batcher.Recordings.String() {
		return batcher.Recordings
	}
	return batcher.Clips
}

// refusedFile is an error about a file that was sent, with what is known of the file.
type refusedFile struct {
	error
	report *FileReport
}

func (e *refusedFile) Unwrap() error { return e.error }

// aboutFile adds to an error what is known of the file, if the error is about it.
func (u *upload) aboutFile(err error) error {
	var found *audioprep.DecodeError
	if !errors.As(err, &found) {
		return err
	}
	return u.refused(err, found.Info)
}

// refused is aboutFile for an error that is about the file.
func (u *upload) refused(err error, info audioprep.Info) error {
	i := &audioprep.Inspection{Info: info, Bytes: u.audio.length()}
	i.Label(u.label)
	return &refusedFile{err, NewFileReport(i, err)}
}
