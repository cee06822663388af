package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"hark/audioprep"
	"hark/server"
)

// inspectCmd says what files are, what is wrong with them and what they would cost, without a model.
type inspectCmd struct {
	Files []string `arg:"" name:"file" help:"Audio files, or films; - is standard input."`

	JSON        bool          `name:"json" help:"One JSON object a line and file, with the fields of POST /v1/explain."`
	Track       int           `placeholder:"N" help:"Audio track to look at, counted from 1 (default: the one that players take)."`
	Channels    string        `enum:"mix,separate" default:"mix" placeholder:"WORD" help:"mix, or separate to count the cost of each channel by itself (default: ${default})."`
	MaxDuration time.Duration `placeholder:"TIME" help:"Look at no more of a file than this; what is longer is too long (default: no limit)."`

	ffmpegFlags `embed:""`
}

// inspectMemory is how much decoded audio stays in memory: 15 minutes. What is longer lies on disk meanwhile.
const inspectMemory = 64 << 20

// inspectedFile is a line of --json.
type inspectedFile struct {
	File string `json:"file"`
	*server.FileReport
}

// Run fails when nothing can be heard in a file, after all of them have been looked at.
func (i *inspectCmd) Run(ctx context.Context, c *console) error {
	switch {
	case i.MaxDuration < 0:
		return &usage{errors.New("--max-duration: want more than 0")}
	case i.Track < 0:
		return &usage{errors.New("--track: tracks are counted from 1")}
	}
	ffmpeg, err := i.findLater(ctx)
	if err != nil {
		return err
	}
	opt := audioprep.Options{
		MaxDuration: i.MaxDuration, Track: i.Track, Separate: i.Channels == "separate", FFmpeg: ffmpeg,
		Storage: audioprep.Storage{Memory: inspectMemory},
	}
	failed := false
	for n, err := range checkInputs(i.Files, c.in) {
		var file *server.FileReport
		if err == nil {
			file, err = inspectFile(ctx, i.Files[n], c.in, opt)
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case file == nil: // it can't even be read
			c.report(err)
			failed = true
			continue
		}
		if err := c.write(i.render(n, file, hintFor(err))); err != nil {
			return err
		}
		failed = failed || err != nil
	}
	if failed {
		return errReported
	}
	return nil
}

// inspectFile looks at one file. Where nothing can be heard in it, there are a report and an error.
func inspectFile(ctx context.Context, name string, stdin io.Reader, opt audioprep.Options) (*server.FileReport, error) {
	f, err := openInput(name, stdin)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	defer f.Close()
	label := audioprep.Label{Name: filepath.Base(name)}
	if name == stdinName {
		label = audioprep.Label{}
	}
	report, err := server.InspectFile(ctx, f, opt, label)
	if err != nil && report == nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return report, err
}

// render makes what is printed of the n-th file.
func (i *inspectCmd) render(n int, file *server.FileReport, hint string) []byte {
	if i.JSON {
		line, err := json.Marshal(inspectedFile{i.Files[n], file})
		if err != nil { // its numbers are finite
			panic(err)
		}
		return append(line, '\n')
	}
	var out bytes.Buffer
	if n > 0 {
		out.WriteByte('\n')
	}
	fmt.Fprintln(&out, printable(i.Files[n]))
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	for _, row := range inspectRows(file, hint) {
		fmt.Fprintf(table, "  %s\t%s\n", row[0], printable(row[1]))
	}
	table.Flush() // to memory, which does not fail
	return out.Bytes()
}

// inspectRows are the lines of the table for people: what it is about, and what there is to say.
func inspectRows(f *server.FileReport, hint string) [][2]string {
	var rows [][2]string
	add := func(name, format string, args ...any) {
		rows = append(rows, [2]string{name, fmt.Sprintf(format, args...)})
	}
	if f.Container != "" {
		add("form", "%s", inspectForm(f))
	}
	if f.SampleRate > 0 {
		add("audio", "%s, %d Hz, %s", inspectDuration(f.Duration), f.SampleRate, inspectChannels(f.Channels))
	}
	if len(f.Tracks) > 1 {
		for k, t := range f.Tracks {
			add(fmt.Sprintf("track %d", k+1), "%s", inspectTrack(t, k+1 == f.Track))
		}
	}
	switch {
	case f.Loudness != nil:
		add("loudness", "%.1f LUFS, peak %.1f dBFS", *f.Loudness, *f.Peak)
	case f.Peak != nil:
		add("loudness", "peak %.1f dBFS", *f.Peak)
	}
	if f.Reason == "" {
		add("speech", "%.0f%%", 100**f.Speech)
		add("cost", "%.1f s for the model, in %s, in the lane of %s", float64(*f.CostMillis)/1000,
			plural(*f.Windows, "window"), f.Lane)
	}
	for k, fault := range f.Faults {
		name := ""
		if k == 0 {
			name = "faults"
		}
		add(name, "%s", fault)
	}
	switch {
	case f.Reason != "":
		add("REFUSED", "%s", f.Reason)
	case len(f.Faults) == 0:
		add("faults", "none")
	}
	switch {
	case hint != "":
		add("hint", "%s", hint)
	case f.Reason == "" && len(f.Tracks) > 1:
		add("hint", "--track %d hears the other track", f.Track%len(f.Tracks)+1)
	}
	return rows
}

func inspectForm(f *server.FileReport) string {
	form := f.Container
	if f.Codec != "" && f.Codec != f.Container {
		form += ", " + f.Codec
	}
	form += ", " + byteSize(f.Bytes)
	if f.Decoder != "" {
		form += ", decoded by " + f.Decoder
	}
	return form
}

// inspectDuration is 5.139 s, or 1:02:03.400 from a minute on.
func inspectDuration(seconds float64) string {
	if seconds < 60 {
		return fmt.Sprintf("%.3f s", seconds)
	}
	whole := int(seconds)
	return fmt.Sprintf("%d:%02d:%06.3f", whole/3600, whole/60%60, seconds-float64(whole/60*60))
}

func inspectChannels(n int) string {
	switch n {
	case 1:
		return "mono"
	case 2:
		return "stereo"
	}
	return plural(n, "channel")
}

func inspectTrack(t server.TrackReport, heard bool) string {
	parts := []string{t.Codec}
	if t.SampleRate > 0 {
		parts = append(parts, fmt.Sprintf("%d Hz", t.SampleRate))
	}
	if t.Channels > 0 {
		parts = append(parts, inspectChannels(t.Channels))
	}
	if t.Language != "" {
		parts = append(parts, t.Language)
	}
	if t.Default {
		parts = append(parts, "default")
	}
	if heard {
		parts = append(parts, "heard")
	}
	return strings.Join(parts, ", ")
}

// plural is "1 window", "2 windows".
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
