package models

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// DefaultHub is the public hub that models are pulled from unless HARK_HUB
// names another.
const DefaultHub = "https://huggingface.co"

// nemoSuffix ends the name of a NeMo archive, which holds a whole model.
const nemoSuffix = ".nemo"

var (
	// ErrUnknownModel is returned, wrapped, for a name that is neither in the
	// catalogue nor a folder with a model.
	ErrUnknownModel = errors.New("no such model")
	// ErrNotCached is returned, wrapped, for a model that the store does not hold.
	ErrNotCached = errors.New("not in the store")
)

// Store keeps pulled models below one folder, each in a folder of its name.
// A model is there entirely or not at all: it is put together in a hidden
// folder beside its place (.NAME.partial) and renamed. Several processes may
// use one folder; a Store is safe for concurrent use.
type Store struct {
	dir    string
	hub    string // base URL, without a slash at its end
	python string

	// reach is how long the hub may take to answer the first request before the
	// next source has its go; stall how long any later answer or the next bytes
	// of a file may keep us waiting; pause the wait before a retry.
	reach, stall, pause time.Duration

	find   func(name string) (Entry, bool)               // the catalogue; tests bring their own
	create func(path string, flag int) (*os.File, error) // opens files to write; tests make it fail
}

// OpenStore returns the store below dir. An empty dir means $HARK_MODELS, else
// $XDG_CACHE_HOME/hark/models, else ~/.cache/hark/models. HARK_HUB replaces
// [DefaultHub] and HARK_PYTHON the python3 that runs pip. Nothing is created
// before a pull.
func OpenStore(dir string) (*Store, error) {
	if dir == "" {
		dir = os.Getenv("HARK_MODELS")
	}
	if dir == "" {
		cache := os.Getenv("XDG_CACHE_HOME")
		if !filepath.IsAbs(cache) { // the XDG specification has relative ones ignored
			home, err := os.UserHomeDir()
			if err != nil {
				return nil, fmt.Errorf("no folder for models, set HARK_MODELS: %w", err)
			}
			cache = filepath.Join(home, ".cache")
		}
		dir = filepath.Join(cache, "hark", "models")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	hub := strings.TrimRight(envOr("HARK_HUB", DefaultHub), "/")
	if u, err := url.Parse(hub); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("HARK_HUB %q is not the URL of a hub, such as %s", hub, DefaultHub)
	}
	return &Store{
		dir: dir, hub: hub, python: envOr("HARK_PYTHON", "python3"),
		reach: 3 * time.Second, stall: 30 * time.Second, pause: time.Second,
		find:   Find,
		create: func(path string, flag int) (*os.File, error) { return os.OpenFile(path, flag, 0o644) },
	}, nil
}

func envOr(name, otherwise string) string {
	if v := os.Getenv(name); v != "" {
		return v
	}
	return otherwise
}

// Dir returns the store's folder, an absolute path that need not exist yet.
func (s *Store) Dir() string { return s.dir }

// Path returns where a model is on this machine: one of the store by its name,
// or any other by its path, which is that of a folder with a model or of a NeMo
// archive. A name of the store goes before one in the working directory: write
// ./base for the latter.
func (s *Store) Path(name string) (path string, ok bool) {
	if isPlain(name) {
		if path := filepath.Join(s.dir, name); holdsModel(path) {
			return path, true
		}
		if _, known := s.find(name); known {
			return "", false
		}
	}
	if name != "" && holdsModel(name) {
		return name, true
	}
	return "", false
}

// isPlain says whether a name may be that of a folder in the store: no path,
// and not hidden, as what is not a model is.
func isPlain(name string) bool {
	return name != "" && name[0] != '.' && filepath.IsLocal(name) && !strings.ContainsAny(name, `/\`)
}

// holdsModel says whether path is a folder with a weight file, or a NeMo archive.
func holdsModel(path string) bool {
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		return info.Mode().IsRegular() && strings.HasSuffix(path, nemoSuffix)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return false
	}
	for _, e := range entries {
		switch name := e.Name(); {
		case name == safetensorsFile, name == safetensorsIndex, name == ctranslate2File,
			strings.HasSuffix(name, nemoSuffix):
			return true
		}
	}
	return false
}

// Check returns what is wrong with the files of a model that is on this machine,
// or nil: whether weights, configuration and tokenizer are there, can be read,
// and have the lengths that they claim. The weights' values are not read, so it
// takes well under a second whatever the model's size, but for a compressed NeMo
// archive. The error wraps [ErrNotCached] if there is no such model, is a
// [*FormatError] for a damaged file, or one of a kind that hark doesn't run, and
// comes from the operating system otherwise.
func (s *Store) Check(name string) error {
	path, ok := s.Path(name)
	if !ok {
		return fmt.Errorf("%q: %w", name, ErrNotCached)
	}
	_, err := checkModel(path)
	return err
}

// Cached is a model in the store.
type Cached struct {
	Name string
	Dir  string // absolute; the file, for a NeMo archive that lies in no folder of its own
	Size int64  // bytes of all its files
}

// List returns the models in the store, by name. A store that does not exist is
// empty.
func (s *Store) List() ([]Cached, error) {
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []Cached
	for _, e := range entries {
		dir := filepath.Join(s.dir, e.Name())
		if isPlain(e.Name()) && holdsModel(dir) {
			all = append(all, Cached{e.Name(), dir, folderSize(dir)})
		}
	}
	return all, nil
}

// folderSize adds up the files below a folder, as far as they can be seen.
func folderSize(dir string) int64 {
	var size int64
	// What vanishes meanwhile is not counted; nothing depends on the sum.
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return nil
		}
		if info, err := e.Info(); err == nil {
			size += info.Size()
		}
		return nil
	})
	return size
}

// Remove deletes a model from the store, and what an unfinished pull of it
// left; whole says whether there was more than that. The error wraps
// [ErrNotCached] if there was neither. A model that is being pulled is not
// removed. A process that has the model open keeps it until it closes it.
func (s *Store) Remove(name string) (whole bool, err error) {
	if !isPlain(name) {
		return false, fmt.Errorf("%q: %w: only models of the store can be removed", name, ErrNotCached)
	}
	dir, partial := filepath.Join(s.dir, name), s.hidden(name, "partial")
	if !exists(dir) && !exists(partial) {
		return false, fmt.Errorf("%q: %w: `hark models list` shows what is", name, ErrNotCached)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	unlock, err := lock(ctx, s.hidden(name, "lock"), cancel) // a pull may take an hour: do not wait for it
	if errors.Is(err, context.Canceled) {
		return false, fmt.Errorf("%q is being pulled at this moment: stop that pull first", name)
	}
	if err != nil {
		return false, err
	}
	defer unlock()
	// Renamed first, so that a removal that is cut short leaves no half model.
	removed := s.hidden(name, "removed")
	if err := os.RemoveAll(removed); err != nil {
		return false, err
	}
	if err := os.Rename(dir, removed); err == nil {
		whole = true
	} else if !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	return whole, errors.Join(os.RemoveAll(removed), os.RemoveAll(partial))
}

// hidden returns the path of what the store keeps about a model beside it.
func (s *Store) hidden(name, kind string) string {
	return filepath.Join(s.dir, "."+name+"."+kind)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
