package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"hark/conform"
)

// conformCmd replays what broke transcription servers against one of them, ours or another.
type conformCmd struct {
	URL string `arg:"" optional:"" name:"url" help:"Address of a server with OpenAI's audio API, such as http://127.0.0.1:8080."`

	Quick    bool          `xor:"extent" help:"Leave out what takes minutes, and end after 3 minutes (the default)."`
	All      bool          `xor:"extent" help:"Replay every case; takes up to an hour."`
	Case     []string      `placeholder:"NAME" help:"Cases or groups to replay, such as T6 or T12.no-file, several times or separated by commas (default: all)."`
	Patience time.Duration `placeholder:"TIME" help:"Longest time for one case (default: 1m, with --all 15m)."`
	List     bool          `help:"List the cases instead: what is sent, what is right and why."`
	JSON     bool          `name:"json" help:"Print one JSON object a line, for each case: case, ok (null: not run), got, want."`

	Model string   `placeholder:"NAME" help:"Model to ask for (default: the first that the server lists, else whisper-1)."`
	Key   string   `placeholder:"KEY" help:"Key to send."`
	Field []string `sep:"none" placeholder:"NAME=VALUE" help:"Form field to send besides, several times."`
	Audio string   `type:"path" placeholder:"DIR" help:"Folder with speech in other languages, named by their codes: de.wav and, with its text, de.txt (default: such cases are not run)."`
}

func (f *conformCmd) Run(ctx context.Context, c *console) error {
	if f.List {
		return f.list(c)
	}
	if err := f.check(); err != nil {
		return err
	}
	card := conform.NewCard(writerFunc(c.write))
	var writing error
	sum, err := conform.Run(ctx, f.config(), func(k conform.Case, r conform.Result) {
		if f.JSON {
			writing = errors.Join(writing, conform.WriteJSON(writerFunc(c.write), r))
		} else {
			writing = errors.Join(writing, card.Write(k, r))
		}
	})
	switch {
	case errors.Is(err, conform.ErrConfig):
		return &usage{err}
	case errors.Is(err, conform.ErrNoServer):
		return withHint(err, "start it, or name its address; a server of hark's is started by `hark serve`")
	case err != nil:
		return err
	}
	if !f.JSON {
		writing = errors.Join(writing, card.Close(sum))
	}
	if writing == nil && sum.Failed > 0 {
		return errReported
	}
	return writing
}

func (f *conformCmd) check() error {
	if f.URL == "" {
		return withHint(&usage{errors.New("want the address of a server")},
			"such as `hark conform http://127.0.0.1:8080`")
	}
	if f.Patience < 0 {
		return &usage{errors.New("--patience: want more than 0")}
	}
	if f.Audio != "" {
		if _, err := os.ReadDir(f.Audio); err != nil {
			return &usage{fmt.Errorf("--audio %s: %w", f.Audio, pathCause(err))}
		}
	}
	return nil
}

func (f *conformCmd) config() conform.Config {
	return conform.Config{URL: f.URL, Model: f.Model, Key: f.Key, Fields: f.Field, Speech: sample, Audio: f.Audio,
		All: f.All, Only: f.Case, Patience: f.Patience}
}

// list prints the table.
func (f *conformCmd) list(c *console) error {
	var out bytes.Buffer
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "CASE\tSENT\tRIGHT")
	for _, k := range conform.Cases() {
		if k.Why != "" {
			if err := table.Flush(); err != nil {
				return err
			}
			fmt.Fprintf(&out, "\n%s: %s\n", k.Group(), k.Why)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", k.Name, k.Sends, k.Want)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	return c.write(trimLines(out.Bytes()))
}

// writerFunc is an io.Writer of a function.
type writerFunc func(p []byte) error

var _ io.Writer = writerFunc(nil)

func (f writerFunc) Write(p []byte) (int, error) {
	if err := f(p); err != nil {
		return 0, err
	}
	return len(p), nil
}
