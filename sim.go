package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"text/tabwriter"
	"time"

	"hark/batcher"
	"hark/batcher/sim"
)

// simCmd shows what ways of forming batches do under load, in virtual time.
type simCmd struct {
	Policy   []string `placeholder:"NAME" help:"How batches are formed, several times or separated by commas (default: all)."`
	Load     []string `placeholder:"NAME" help:"Who asks for what, several times or separated by commas (default: mixed)."`
	Duration timeSpan `default:"300s" placeholder:"TIME" help:"How long each run is, in virtual time; a bare number is seconds (default: ${default})."`

	Fixed     float64 `default:"0.6" placeholder:"SECONDS" help:"What a batch takes on the device, besides its windows (default: ${default}, one L4 with large-v3-turbo)."`
	PerWindow float64 `default:"0.021" placeholder:"SECONDS" help:"What each window of a batch adds (default: ${default}). Recordings take 0.6 s for each 30 s whatever both are where a policy runs them whole, and under windowed-same-cost."`
	Share     float64 `placeholder:"PART" help:"Part of the device's time that recordings get under the windowed policies (default: each policy's own)."`

	List bool   `help:"List policies and loads instead."`
	JSON bool   `name:"json" help:"Print one JSON object a line, for each policy and load."`
	SVG  string `name:"svg" placeholder:"FILE" help:"Draw the first two minutes of each run into a file."`
}

// timeSpan is a time on the command line: 300s, 50m, or a bare number of seconds.
type timeSpan time.Duration

// UnmarshalText implements encoding.TextUnmarshaler.
func (t *timeSpan) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	if seconds, plain := strconv.ParseFloat(string(text), 64); plain == nil {
		d, err = time.Duration(seconds*float64(time.Second)), nil
	}
	*t = timeSpan(d)
	return err
}

func (s *simCmd) Run(ctx context.Context, c *console) error {
	if s.List {
		return s.list(c)
	}
	policies, loads, err := s.chosen()
	if err != nil {
		return &usage{err}
	}
	var results []*sim.Result
	for _, l := range loads {
		for _, p := range policies {
			r, err := sim.Run(ctx, p, l, sim.Device{Fixed: s.Fixed, PerWindow: s.PerWindow}, time.Duration(s.Duration))
			if err != nil {
				return err
			}
			results = append(results, r)
		}
	}
	if s.SVG != "" {
		if err := s.draw(results); err != nil {
			return err
		}
	}
	var out bytes.Buffer
	if s.JSON {
		enc := json.NewEncoder(&out)
		for _, r := range results {
			if err := enc.Encode(r); err != nil {
				return err
			}
		}
	} else if err := sim.WriteTable(&out, results); err != nil {
		return err
	}
	return c.write(out.Bytes())
}

// chosen returns what is to be run, or an error that names the flag that can't be used.
func (s *simCmd) chosen() (policies []sim.Policy, loads []sim.Load, err error) {
	switch {
	case s.Duration <= 0:
		return nil, nil, errors.New("--duration: want more than 0")
	case !(s.Fixed >= 0 && s.PerWindow >= 0 && s.Fixed+s.PerWindow > 0 && s.Fixed+s.PerWindow < 1e6):
		return nil, nil, errors.New("--fixed, --per-window: want 0 or more, together above 0 and below 1000000")
	case s.Share != 0 && !(s.Share >= batcher.MinShare && s.Share <= batcher.MaxShare):
		return nil, nil, fmt.Errorf("--share: want %v to %v", batcher.MinShare, batcher.MaxShare)
	}
	policies = sim.Policies()
	if len(s.Policy) > 0 {
		policies = nil
	}
	for _, name := range s.Policy {
		p, err := sim.PolicyNamed(name)
		if err != nil {
			return nil, nil, fmt.Errorf("--policy: %w", err)
		}
		policies = append(policies, p)
	}
	if s.Share != 0 {
		for i, p := range policies {
			policies[i] = p.WithShare(s.Share)
		}
	}
	names := s.Load
	if len(names) == 0 {
		names = []string{"mixed"}
	}
	for _, name := range names {
		l, err := sim.LoadNamed(name)
		if err != nil {
			return nil, nil, fmt.Errorf("--load: %w", err)
		}
		loads = append(loads, l)
	}
	return policies, loads, nil
}

// draw writes the picture; a file that could not be written whole is an error.
func (s *simCmd) draw(results []*sim.Result) error {
	f, err := os.Create(s.SVG)
	if err != nil {
		return fmt.Errorf("--svg %s: %w", s.SVG, pathCause(err))
	}
	if err := errors.Join(sim.WriteSVG(f, results), f.Close()); err != nil {
		return fmt.Errorf("--svg %s: %w", s.SVG, pathCause(err))
	}
	return nil
}

func (s *simCmd) list(c *console) error {
	var out bytes.Buffer
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "POLICY\t")
	for _, p := range sim.Policies() {
		fmt.Fprintf(table, "%s\t%s\n", p.Name, p.About)
	}
	fmt.Fprintln(table, "\t\nLOAD\t")
	for _, l := range sim.Loads() {
		fmt.Fprintf(table, "%s\t%s\n", l.Name, l.About)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	return c.write(trimLines(out.Bytes()))
}
