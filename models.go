package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"hark/models"
)

// modelsCmd is about the models on this machine and where they come from.
type modelsCmd struct {
	List modelsListCmd `cmd:"" help:"List the models there are, and which of them are here."`
	Pull modelsPullCmd `cmd:"" help:"Fetch models, so that they are here when needed."`
	Show modelsShowCmd `cmd:"" help:"Describe a model."`
	Rm   modelsRmCmd   `cmd:"" help:"Remove models from this machine."`
}

type modelsListCmd struct {
	JSON bool `name:"json" help:"Print one JSON object a line."`
}

// modelLine is a model in the list, of the catalogue or only of the store.
type modelLine struct {
	Name      string `json:"name"`
	Family    string `json:"family,omitempty"`
	Languages string `json:"languages,omitempty"` // "english" or "many"
	PullBytes int64  `json:"pull_bytes,omitempty"`
	Here      bool   `json:"here"`
	Bytes     int64  `json:"bytes,omitempty"` // on this machine
	Dir       string `json:"dir,omitempty"`
	Damage    string `json:"damage,omitempty"` // what is wrong with its files here
}

func (m *modelsListCmd) Run(c *console, cli *commandLine) error {
	store, err := models.OpenStore(cli.ModelsDir)
	if err != nil {
		return err
	}
	lines, err := modelLines(store)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if m.JSON {
		enc := json.NewEncoder(&out)
		for _, l := range lines {
			if err := enc.Encode(l); err != nil {
				return err
			}
		}
		return c.write(out.Bytes())
	}
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tLANGUAGES\tFETCH\tHERE\t")
	for _, l := range lines {
		here := "-"
		if l.Here {
			here = byteSize(l.Bytes)
		}
		note := ""
		switch {
		case l.Damage != "":
			note = "DAMAGED: `hark models show " + l.Name + "` says how"
		case l.Name == defaultModel:
			note = "default"
		}
		fetch := "-"
		if l.PullBytes > 0 {
			fetch = byteSize(l.PullBytes)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", l.Name, l.Languages, fetch, here, note)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if err := c.write(trimLines(out.Bytes())); err != nil {
		return err
	}
	c.note("models are kept in %s", store.Dir())
	return nil
}

// modelLines are the models of the catalogue and whatever else the store holds.
func modelLines(store *models.Store) ([]modelLine, error) {
	cached, err := store.List()
	if err != nil {
		return nil, fmt.Errorf("models: %w", err)
	}
	here := map[string]models.Cached{}
	for _, m := range cached {
		here[m.Name] = m
	}
	var lines []modelLine
	for _, e := range models.Catalogue() {
		languages := "english"
		if e.Multilingual {
			languages = "many"
		}
		l := modelLine{Name: e.Name, Family: e.Family, Languages: languages, PullBytes: e.Size}
		if m, ok := here[e.Name]; ok {
			l.Here, l.Bytes, l.Dir, l.Damage = true, m.Size, m.Dir, damage(store, m.Name)
			delete(here, e.Name)
		}
		lines = append(lines, l)
	}
	for _, m := range cached {
		if _, left := here[m.Name]; left {
			lines = append(lines, modelLine{Name: m.Name, Languages: "unknown", Here: true, Bytes: m.Size, Dir: m.Dir,
				Damage: damage(store, m.Name)})
		}
	}
	return lines, nil
}

// damage is what is wrong with a model's files, or "".
func damage(store *models.Store, name string) string {
	if err := store.Check(name); err != nil {
		return err.Error()
	}
	return ""
}

type modelsPullCmd struct {
	Names []string `arg:"" name:"name" help:"Models to fetch; 'hark models list' shows those there are."`
}

func (m *modelsPullCmd) Run(ctx context.Context, c *console, cli *commandLine) error {
	store, err := models.OpenStore(cli.ModelsDir)
	if err != nil {
		return err
	}
	say := func(format string, args ...any) { c.note("hark: "+format, args...) }
	failed := false
	for _, name := range m.Names {
		dir, here := store.Path(name)
		_, known := models.Find(name)
		whole := here && store.Check(name) == nil
		if here && !whole && !known {
			c.report(withHint(fmt.Errorf("model %s: %w", name, store.Check(name)), "%s", mend(store, name)))
			failed = true
			continue
		}
		if !whole {
			if dir, err = pull(ctx, store, name, say, c); err != nil {
				if ctx.Err() != nil {
					return err
				}
				c.report(err)
				failed = true
				continue
			}
		}
		if err := c.write([]byte(name + "\t" + dir + "\n")); err != nil {
			return err
		}
	}
	if failed {
		return errReported
	}
	return nil
}

type modelsShowCmd struct {
	Name string `arg:"" help:"Model to describe."`
}

func (m *modelsShowCmd) Run(c *console, cli *commandLine) error {
	store, err := models.OpenStore(cli.ModelsDir)
	if err != nil {
		return err
	}
	entry, known := models.Find(m.Name)
	dir, here := store.Path(m.Name)
	if !known && !here {
		return unknownModel(store, m.Name)
	}
	var out bytes.Buffer
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "name\t%s\n", m.Name)
	if known {
		languages := "English only"
		switch {
		case entry.Multilingual && entry.Family == models.FamilyParakeet:
			languages = "25 European ones"
		case entry.Multilingual:
			languages = "many, and translation into English"
		}
		fmt.Fprintf(table, "family\t%s\nlanguages\t%s\nhub\t%s, %s\n", entry.Family, languages,
			entry.Repo, byteSize(entry.Size))
		for _, w := range entry.Wheels {
			fmt.Fprintf(table, "wheel\t%s==%s, %s\n", w.Name, w.Version, byteSize(w.Size))
		}
	}
	if here {
		fmt.Fprintf(table, "folder\t%s\n", dir)
		if err := store.Check(m.Name); err != nil {
			fmt.Fprintf(table, "DAMAGED\t%s; %s\n", firstLine(err), mend(store, m.Name))
		}
		if err := describeFolder(table, dir); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(table, "folder\tnot here: hark models pull %s\n", m.Name)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	return c.write(out.Bytes())
}

type modelsRmCmd struct {
	Names []string `arg:"" name:"name" help:"Models to remove."`
}

func (m *modelsRmCmd) Run(c *console, cli *commandLine) error {
	store, err := models.OpenStore(cli.ModelsDir)
	if err != nil {
		return err
	}
	failed := false
	for _, name := range m.Names {
		whole, err := store.Remove(name)
		switch {
		case err == nil && whole:
			c.note("hark: removed model %s", name)
			continue
		case err == nil:
			c.note("hark: removed what an unfinished download of model %s left", name)
			continue
		case errors.Is(err, models.ErrNotCached):
			err = withHint(fmt.Errorf("model %s is not here", name), "`hark models list` shows what is")
		}
		c.report(err)
		failed = true
	}
	if failed {
		return errReported
	}
	return nil
}

// trimLines takes the spaces off the ends of a table's lines.
func trimLines(table []byte) []byte {
	lines := strings.SplitAfter(string(table), "\n")
	for i, l := range lines {
		if body, ok := strings.CutSuffix(l, "\n"); ok {
			lines[i] = strings.TrimRight(body, " ") + "\n"
		}
	}
	return []byte(strings.Join(lines, ""))
}

// describeFolder tells what a model's folder holds, or its archive.
func describeFolder(w io.Writer, dir string) error {
	if weights, err := models.OpenWeights(dir); err == nil { // else the line about damage says why not
		fmt.Fprintf(w, "weights\t%s, %d tensors\n", weights.Format(), len(weights.Names()))
		if err := weights.Close(); err != nil {
			return err
		}
	}
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		fmt.Fprintf(w, "file\t%s, %s\n", info.Name(), byteSize(info.Size()))
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("model: %w", err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			fmt.Fprintf(w, "file\t%s, %s\n", e.Name(), byteSize(info.Size()))
		}
	}
	return nil
}
