package main

import (
	"slices"
	"testing"
)

func TestOutputPathsAreDistinct(t *testing.T) {
	for _, c := range []struct {
		name   string
		inputs []string
		want   []string
	}{
		{"plain", []string{"a.wav", "dir/b.mp3"}, []string{"out/a.srt", "out/b.srt"}},
		{"other folder", []string{"one/a.wav", "two/a.wav", "three/a.wav"}, []string{"out/a.srt", "out/a.wav.srt", "out/a-2.srt"}},
		{"other form", []string{"a.wav", "a.mp3", "a.flac"}, []string{"out/a.srt", "out/a.mp3.srt", "out/a.flac.srt"}},
		{"a name that was given away", []string{"a.wav", "a.mp3", "a.mp3.wav"}, []string{"out/a.srt", "out/a.mp3.srt", "out/a.mp3.wav.srt"}},
		{"other case", []string{"A.wav", "a.wav"}, []string{"out/A.srt", "out/a.wav.srt"}},
		{"twice", []string{"a.wav", "a.wav", "a.wav", "a.wav"}, []string{"out/a.srt", "out/a.wav.srt", "out/a-2.srt", "out/a-3.srt"}},
		{"stdin", []string{"-", "stdin.wav"}, []string{"out/stdin.srt", "out/stdin.wav.srt"}},
		{"no extension", []string{"talk", ".wav"}, []string{"out/talk.srt", "out/.wav.srt"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := outputPaths("out", c.inputs, ".srt"); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
