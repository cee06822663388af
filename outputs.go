package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// extensions are what files of each format end in.
var extensions = map[string]string{
	"text": ".txt", "json": ".json", "verbose_json": ".json", "srt": ".srt", "vtt": ".vtt", "tsv": ".tsv",
}

// outputPaths gives every input a file of its own in dir: the input's name with another extension. Where two inputs
// share that name, the later one keeps more of its own name (talk.mp3.srt) or gets a number (talk-2.srt).
func outputPaths(dir string, inputs []string, extension string) []string {
	taken := map[string]bool{}
	paths := make([]string, len(inputs))
	for i, input := range inputs {
		whole := filepath.Base(input)
		if input == stdinName {
			whole = "stdin"
		}
		short := strings.TrimSuffix(whole, filepath.Ext(whole))
		if short == "" { // .wav is all name
			short = whole
		}
		name := short
		for n := 2; taken[strings.ToLower(name)]; n++ { // some file systems take A and a for the same
			if n == 2 && !taken[strings.ToLower(whole)] {
				name = whole
			} else {
				name = fmt.Sprintf("%s-%d", short, n)
			}
		}
		taken[strings.ToLower(name)] = true
		paths[i] = filepath.Join(dir, name+extension)
	}
	return paths
}

// makeOutputDir makes dir where it is missing and tries whether files can be written there.
func makeOutputDir(dir string) error {
	advice := "--output-dir wants a folder that can be written to"
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return withHint(fmt.Errorf("output folder %s: %w", dir, pathCause(err)), "%s", advice)
	}
	f, err := os.CreateTemp(dir, ".hark-*")
	if err != nil {
		return withHint(fmt.Errorf("output folder %s: %w", dir, pathCause(err)), "%s", advice)
	}
	f.Close()
	return os.Remove(f.Name())
}
