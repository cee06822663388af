package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"hark/engine"
	"hark/engine/parakeet"
	"hark/engine/whisper"
	"hark/internal/spelling"
	"hark/models"
)

// defaultModel is what transcribe and serve use unless told otherwise: on a CPU, the largest that keeps well ahead of
// speech.
const defaultModel = "base"

// loader brings models from where they are published onto the device.
type loader struct {
	ctx     context.Context // of the whole command
	console *console
	log     *zerolog.Logger // nil: the console is told
	store   *models.Store
	device  *computer
	wrap    func(engine.Device) engine.Device // puts something before the device; nil: nothing

	flags deviceFlags
}

func newLoader(ctx context.Context, c *console, cli *commandLine, flags deviceFlags) (*loader, error) {
	store, err := models.OpenStore(cli.ModelsDir)
	if err != nil {
		return nil, err
	}
	device, err := flags.open()
	if err != nil {
		return nil, err
	}
	return &loader{ctx: ctx, console: c, store: store, device: device, flags: flags}, nil
}

// close gives the device back, after the last model on it.
func (l *loader) close() { l.device.close() }

// known returns an error for a model that can't be had, before anything is fetched or loaded.
func (l *loader) known(name string) error {
	if _, ok := l.store.Path(name); ok {
		return nil
	}
	if _, ok := models.Find(name); !ok {
		return unknownModel(l.store, name)
	}
	return nil
}

// load is the registry's way to a model: fetched if it's not here, then put on the device.
func (l *loader) load(ctx context.Context, name string) (engine.Model, error) {
	// A registry's load outlives the request that began it, but not the command.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.ctx, cancel)()
	path, err := l.fetch(ctx, name)
	if err != nil {
		return nil, err
	}
	model, err := l.open(path, name)
	if err != nil {
		return nil, withHint(fmt.Errorf("load: %w", err), "if its files are damaged, %s", mend(l.store, name))
	}
	return model, nil
}

// open puts the model at path on the device, by the engine of its family.
func (l *loader) open(path, name string) (engine.Model, error) {
	family, err := models.Family(path)
	if err != nil {
		return nil, err
	}
	device, release, err := l.device.forModel(precisionFor(l.flags.Precision, name))
	if err != nil {
		return nil, err
	}
	if l.wrap != nil {
		device = l.wrap(device)
	}
	var model engine.Model
	if family == models.FamilyParakeet {
		model, err = parakeet.Load(device, path, name, parakeet.Config{MaxWindowSamples: l.flags.maxWindowSamples()})
	} else {
		short := shortContextFor(l.flags.EncoderContext, name)
		model, err = whisper.Load(device, path, name, whisper.Settings{ShortContext: short, Speech: sampleSound(5)})
	}
	if err != nil {
		release()
		return nil, err
	}
	return &releasingModel{model, release}, nil
}

// fetch returns where a model is, pulling it first, and saying so, if it's not here.
func (l *loader) fetch(ctx context.Context, name string) (path string, err error) {
	if err := l.known(name); err != nil {
		return "", err
	}
	if path, ok := l.store.Path(name); ok {
		return path, nil
	}
	return pull(ctx, l.store, name, l.say, l.console)
}

// say tells the operator.
func (l *loader) say(format string, args ...any) {
	if l.log != nil {
		l.log.Info().Msgf(format, args...)
		return
	}
	l.console.note("hark: "+format, args...)
}

// pull fetches a model that is not in the store, or damaged there, saying so, with a bar on a terminal.
func pull(ctx context.Context, store *models.Store, name string, say func(format string, args ...any),
	c *console) (string, error) {
	entry, ok := models.Find(name)
	if !ok {
		return "", unknownModel(store, name)
	}
	why := "which is not here yet"
	if err := store.Check(name); !errors.Is(err, models.ErrNotCached) {
		why = fmt.Sprintf("which is damaged here: %v", err)
	}
	say("fetching model %s (about %s), %s", name, byteSize(entry.Size), why)
	begin, waiting := time.Now(), false
	dir, err := store.Pull(ctx, name, func(p models.Progress) {
		switch {
		case p.Source == "" && !waiting:
			waiting = true
			say("another process is fetching model %s: waiting for it", name)
		case p.Err != nil:
			say("%s: trying another source", firstLine(p.Err))
		case p.Total > 0:
			c.draw(fmt.Sprintf("%s %s, %s of %s", name, bar(p.Done, p.Total), byteSize(p.Done), byteSize(p.Total)))
		}
	})
	c.clear()
	if err == nil {
		say("fetched model %s in %s", name, time.Since(begin).Round(100*time.Millisecond))
	}
	return dir, err
}

// mend is what to do about a damaged model.
func mend(store *models.Store, name string) string {
	dir, _ := store.Path(name)
	if _, known := models.Find(name); known {
		return fmt.Sprintf("`hark models rm %s` and `hark models pull %s` fetch it anew", name, name)
	}
	return "put whole files into " + dir
}

// unknownModel is the error for a name that is neither a model's nor that of a folder with one.
func unknownModel(store *models.Store, name string) error {
	for _, dir := range []string{filepath.Join(store.Dir(), name), name} {
		if info, err := os.Stat(dir); name != "" && err == nil && info.IsDir() {
			return withHint(fmt.Errorf("folder %s holds no model: it lacks %s", dir, missingFiles(dir)),
				"a model's folder holds config.json, tokenizer.json and model.safetensors, or model.bin as CTranslate2 writes it")
		}
	}
	hint := "`hark models list` shows the models there are; a folder with a model in it is a name too"
	if meant := spelling.Closest(strings.ToLower(name), knownModels(store)); meant != "" {
		hint = "did you mean " + meant + "? " + hint
	}
	return withHint(fmt.Errorf("there is no model %q", name), "%s", hint)
}

// knownModels are the names of all models that can be fetched or are here.
func knownModels(store *models.Store) (names []string) {
	for _, entry := range models.Catalogue() {
		names = append(names, entry.Name)
	}
	cached, _ := store.List() // what can't be read is told elsewhere
	for _, m := range cached {
		names = append(names, m.Name)
	}
	return names
}

// missingFiles are what a folder without weights lacks of a model's files.
func missingFiles(dir string) string {
	missing := "weights (model.safetensors or model.bin)"
	for _, name := range []string{"config.json", "tokenizer.json"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			missing += ", " + name
		}
	}
	return missing
}

// checkModelNames returns an error for a value of --model that names nothing, or something twice.
func checkModelNames(names []string) error {
	for i, name := range names {
		switch {
		case name == "":
			return withHint(&usage{errors.New("--model: a name is empty")},
				"`hark models list` shows the models there are")
		case slices.Contains(names[:i], name):
			return withHint(&usage{fmt.Errorf("--model: %s is named twice", name)},
				"name each model once; the first is the one for requests that name none")
		}
	}
	return nil
}
