package main

import (
	"errors"
	"fmt"
	"io"
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

// inputFiles are the files behind inputs and standard input, as far as there are any.
func inputFiles(inputs []string, stdin io.Reader) []os.FileInfo {
	var files []os.FileInfo
	for _, name := range inputs {
		var info os.FileInfo
		var err error
		if name != stdinName {
			info, err = os.Stat(name)
		} else if f, ok := stdin.(*os.File); ok {
			info, err = f.Stat()
		}
		if err == nil && info != nil { // what can't be looked at can't be read either, which is told elsewhere
			files = append(files, info)
		}
	}
	return files
}

// errIsInput is the error for an output that would replace a recording.
var errIsInput = errors.New("would overwrite a recording that is read")

// checkOutput returns an error if path is, by this or another name or through a link, one of the inputs.
func checkOutput(path string, inputs []os.FileInfo) error {
	info, err := os.Stat(path)
	if err != nil {
		return nil // not there yet, or a matter for whoever opens it
	}
	return refuseInput(path, info, inputs)
}

func refuseInput(path string, info os.FileInfo, inputs []os.FileInfo) error {
	for _, in := range inputs {
		if os.SameFile(info, in) {
			return withHint(fmt.Errorf("output %s: %w", path, errIsInput),
				"--output-dir with another folder keeps them apart")
		}
	}
	return nil
}

// writeOutput writes a file that is none of the inputs. It is looked at once more when it is open and still whole:
// names and links may have changed since checkOutput.
func writeOutput(path string, text []byte, inputs []os.FileInfo) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o666)
	if err != nil {
		return fmt.Errorf("output %s: %w", path, pathCause(err))
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil {
		if err := refuseInput(path, info, inputs); err != nil {
			return err
		}
		if info.Mode().IsRegular() {
			err = f.Truncate(0)
		}
	}
	if err == nil {
		_, err = f.Write(text)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		return fmt.Errorf("output %s: %w", path, pathCause(err))
	}
	return nil
}
