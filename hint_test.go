package main

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"hark/audioprep"
)

// The advice to install ffmpeg goes with files that audioprep refuses and ffmpeg reads, and with no others.
func TestHintToConvert(t *testing.T) {
	_, err := audioprep.Decode(t.Context(), bytes.NewReader([]byte("#!AMR\n no more than that")), audioprep.Options{})
	var refused *audioprep.FormatError
	if !errors.As(err, &refused) || hintFor(err) == "" {
		t.Fatalf("AMR: got %v with hint %q", err, hintFor(err))
	}
	for found, want := range map[string]bool{
		"avi": true, "wavpack": true, "ac3": true, "ogg with speex": true, "mp4 with ac-3": true,
		"text": false, "png": false, "": false, "zip with mp4": false,
	} {
		err := fmt.Errorf("talk: %w", &audioprep.FormatError{Found: found, Accepted: refused.Accepted})
		if got := hintFor(err) != ""; got != want {
			t.Errorf("%q: got a hint: %v, want %v", found, got, want)
		}
	}
}
