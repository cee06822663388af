package access

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Keyring holds the keys of all callers. It's safe for concurrent use; make it with [Open] or [Read].
type Keyring struct {
	keys atomic.Pointer[[]key]

	path string // "" for a list that was not read from a file
	mu   sync.Mutex
	seen os.FileInfo // of the file as last looked at; nil: not there
}

type key struct {
	hash   hash
	caller *Caller
}

// Read returns a keyring of the keys in a list, as the package comment describes it; it never changes.
func Read(r io.Reader) (*Keyring, error) {
	k := &Keyring{}
	if err := k.take(r); err != nil {
		return nil, err
	}
	return k, nil
}

// Parse is Read for a list in one line, as environment variables hold it: keys separated by commas.
func Parse(text string) (*Keyring, error) {
	return Read(strings.NewReader(strings.ReplaceAll(text, ",", "\n")))
}

// Open returns a keyring of the keys in a file; [Keyring.Watch] keeps it up to date.
func Open(path string) (*Keyring, error) {
	k := &Keyring{path: path}
	if _, err := k.Reload(); err != nil {
		return nil, err
	}
	return k, nil
}

// Find returns whose key it is, or nil. It takes as long for a key that is nearly right as for any other.
func (k *Keyring) Find(text string) *Caller {
	sum := sha256.Sum256([]byte(text))
	var found *Caller
	for _, key := range *k.keys.Load() { // all of them, so that time doesn't tell where it stands
		if subtle.ConstantTimeCompare(key.hash[:], sum[:]) == 1 {
			found = key.caller
		}
	}
	return found
}

// Caller returns the caller of a name, or nil.
func (k *Keyring) Caller(name string) *Caller {
	for _, key := range *k.keys.Load() {
		if key.caller.name == name {
			return key.caller
		}
	}
	return nil
}

// Len is how many keys there are.
func (k *Keyring) Len() int { return len(*k.keys.Load()) }

// Reload reads the file again if it was changed since it was read or tried, and reports whether its keys were taken
// over. On an error the keys stay as they are.
func (k *Keyring) Reload() (changed bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	f, err := os.Open(k.path)
	if err != nil {
		gone := k.seen == nil
		k.seen = nil
		if gone && k.keys.Load() != nil {
			return false, nil // it was told already
		}
		return false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	if k.seen != nil && os.SameFile(info, k.seen) && info.ModTime().Equal(k.seen.ModTime()) &&
		info.Size() == k.seen.Size() {
		return false, nil
	}
	k.seen = info
	if err := k.take(f); err != nil {
		return false, fmt.Errorf("%s: %w", k.path, err)
	}
	return true, nil
}

// Watch looks at the file every so often until ctx ends, and tells of each change of it: nil once its
// keys are in use, or why the old ones stay.
func (k *Keyring) Watch(ctx context.Context, every time.Duration, tell func(error)) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if changed, err := k.Reload(); changed || err != nil {
			tell(err)
		}
	}
}

// take replaces the keys. Callers that were there before keep what they have used.
func (k *Keyring) take(r io.Reader) error {
	l, err := parseList(r)
	if err != nil {
		return err
	}
	callers := map[string]*Caller{}
	if old := k.keys.Load(); old != nil {
		for _, key := range *old {
			callers[key.caller.name] = key.caller
		}
	}
	keys := make([]key, len(l.keys))
	for i, listed := range l.keys {
		c, limits := callers[listed.name], l.limits[listed.name]
		if c == nil {
			c = newCaller(listed.name, limits)
			callers[listed.name] = c
		} else {
			c.setLimits(limits)
		}
		keys[i] = key{listed.hash, c}
	}
	k.keys.Store(&keys)
	return nil
}
