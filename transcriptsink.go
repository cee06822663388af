package main

import (
	"fmt"
	"os"

	"hark/server"
)

// transcriptSink writes transcripts in the wanted format: to files of their own, or one after another to stdout.
type transcriptSink struct {
	console *console
	format  server.Format
	lines   bool // json: one object a line
	words   bool
	files   []string
	several bool     // files were asked for, whether or not they can be read
	paths   []string // nil for stdout
	inputs  []os.FileInfo
}

func newTranscriptSink(c *console, t *transcribeCmd, files []string) *transcriptSink {
	s := &transcriptSink{console: c, format: server.Format(t.Format), lines: t.Format == "json",
		words: t.WordTimestamps, files: files, several: len(t.Files) > 1}
	if t.OutputDir != "" {
		s.paths = outputPaths(t.OutputDir, files, extensions[t.Format])
		s.inputs = inputFiles(t.Files, c.in)
	}
	return s
}

// leaveOutInputs takes out the files whose transcripts would go into one of the
// recordings, and reports and counts them.
func (s *transcriptSink) leaveOutInputs() (failed int) {
	var files, paths []string
	for i, path := range s.paths {
		if err := checkOutput(path, s.inputs); err != nil {
			s.console.report(fmt.Errorf("%s: %w", s.files[i], err))
			failed++
			continue
		}
		files, paths = append(files, s.files[i]), append(paths, path)
	}
	s.files, s.paths = files, paths
	return failed
}

// put writes the transcript of file i, and tells what was wrong with the audio.
func (s *transcriptSink) put(i int, t *server.Transcript) error {
	for _, fault := range t.Audio.Faults {
		s.console.note("hark: %s: %s", s.files[i], fault)
	}
	if len(t.Result.Segments) == 0 {
		s.console.note("hark: %s: no speech found", s.files[i])
	}
	text, err := s.render(i, t)
	if err != nil {
		return err
	}
	if s.paths == nil {
		return s.console.write(text)
	}
	if err := writeOutput(s.paths[i], text, s.inputs); err != nil {
		return err
	}
	s.console.note("%s: written to %s", s.files[i], s.paths[i])
	return nil
}

func (s *transcriptSink) render(i int, t *server.Transcript) ([]byte, error) {
	if s.lines {
		return server.RenderLine(s.files[i], t, s.words)
	}
	text, err := server.Render(s.format, t.Result, t.Duration, t.Task, server.Detail{Segments: true, Words: s.words})
	if err == nil && s.paths == nil && s.several && s.format != server.VerboseJSON {
		// Several files on one stream are told apart as head and tail do it.
		text = append([]byte("==> "+s.files[i]+" <==\n"), append(text, '\n')...)
	}
	return text, err
}
