package main

import (
	"errors"
	"os"
	"path/filepath"
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

// No name or link under which an input can be reached is written to, however it came there.
func TestOutputsAreNoInputs(t *testing.T) {
	dir := t.TempDir()
	input := filepath.Join(dir, "a.txt")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write(input, "sound")
	for name, link := range map[string]func(old, new string) error{"hard.txt": os.Link, "soft.txt": os.Symlink} {
		if err := link(input, filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
	}
	stdin, err := os.Open(input)
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	for _, inputs := range [][]os.FileInfo{inputFiles([]string{"missing", input}, nil), inputFiles([]string{stdinName}, stdin)} {
		for _, name := range []string{"a.txt", "hard.txt", "soft.txt"} {
			path := filepath.Join(dir, name)
			if err := checkOutput(path, inputs); !errors.Is(err, errIsInput) {
				t.Errorf("checking %s: got %v", name, err)
			}
			if err := writeOutput(path, []byte("text"), inputs); !errors.Is(err, errIsInput) {
				t.Errorf("writing %s: got %v", name, err)
			}
			if got, err := os.ReadFile(input); err != nil || string(got) != "sound" {
				t.Fatalf("after writing %s the input holds %q, %v", name, got, err)
			}
		}
		other := filepath.Join(dir, "b.txt")
		write(other, "what was there before")
		if err := errors.Join(checkOutput(other, inputs), writeOutput(other, []byte("text"), inputs)); err != nil {
			t.Error(err)
		}
		if got, err := os.ReadFile(other); err != nil || string(got) != "text" {
			t.Errorf("another file holds %q, %v", got, err)
		}
	}
}
