package models

import (
	"context"
	"crypto/sha1"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// hubRetries is how often a transfer that breaks is taken up again without a
// byte of progress in between.
const hubRetries = 3

var (
	errHubSlow  = errors.New("no answer in time")
	errStalled  = errors.New("the transfer stalled")
	errRestart  = errors.New("the file changed meanwhile") // the partial file was dropped
	commitID    = regexp.MustCompile(`^[0-9a-f]{40}$`)
	sha256Value = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// statusError is an answer of the hub that is not the file.
type statusError struct {
	url    string
	status string
	code   int
}

func (e *statusError) Error() string { return fmt.Sprintf("hub answers %s: %s", e.status, e.url) }

// final says whether asking again is of no use.
func (e *statusError) final() bool {
	return e.code < 500 && e.code != http.StatusTooManyRequests && e.code != http.StatusRequestTimeout
}

// hubPull fetches one model's files from the hub.
type hubPull struct {
	*pull
	client   *http.Transport
	dir      string
	revision string // the commit all files are taken from, or "main" while it is not known
	pinned   bool   // this pull, not an earlier one, learned the commit
	answered bool   // the hub has answered: it gets its time from now on
}

// fetchHub brings the model's files into dir. All come from one commit, the one
// that main named when the pull began, also when the pull is resumed later.
func (p *pull) fetchHub(ctx context.Context, dir string) error {
	dialer := &net.Dialer{Timeout: p.reach}
	h := &hubPull{pull: p, dir: dir, revision: "main", client: &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext, TLSHandshakeTimeout: p.reach, ForceAttemptHTTP2: true,
	}}
	defer h.client.CloseIdleConnections()
	if saved, err := os.ReadFile(h.revisionFile()); err == nil && commitID.Match(saved) {
		h.revision = string(saved)
	}
	err := h.fetchAll(ctx)
	var status *statusError
	if resumed := h.revision != "main" && !h.pinned; resumed && errors.As(err, &status) && status.code == http.StatusNotFound {
		// The commit that the earlier pull began with is gone from the hub.
		if err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o755), os.RemoveAll(h.revisionFile())); err != nil {
			return err
		}
		h.revision = "main"
		err = h.fetchAll(ctx)
	}
	return err
}

func (h *hubPull) fetchAll(ctx context.Context) error {
	h.now.Done, h.now.Total = 0, 0
	for _, f := range h.entry.Files {
		h.now.Total += f.Size
	}
	for _, f := range h.entry.Files {
		if err := h.fetch(ctx, f); err != nil {
			return err
		}
	}
	return nil
}

func (h *hubPull) revisionFile() string { return filepath.Join(h.work, "revision") }

// fetch brings one file, resuming as often as that gets it further.
func (h *hubPull) fetch(ctx context.Context, f File) error {
	path := filepath.Join(h.dir, f.Name)
	h.now.File = f.Name
	if info, err := os.Stat(path); err == nil { // finished by an earlier pull
		h.now.Done += info.Size()
		h.now.Total += info.Size() - f.Size
		return nil
	}
	before := h.now
	for failed := 0; ; {
		h.now.Done, h.now.Total = before.Done, before.Total
		had := partSize(path)
		err := h.transfer(ctx, f, path)
		var status *statusError
		var hash *HashError
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &status) && status.code == http.StatusNotFound && f.Optional:
			h.now.Done, h.now.Total = before.Done, before.Total-f.Size
			return nil
		case errors.As(err, &status) && status.final(), errors.As(err, &hash), isLocal(err):
			return err
		case !h.answered:
			return fmt.Errorf("hub not reachable: %w", err)
		}
		if partSize(path) > had {
			failed = 0
		}
		if failed++; failed > hubRetries {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(h.pause):
		}
	}
}

// isLocal tells an error of our own disk, which no retry mends.
func isLocal(err error) bool {
	var path *os.PathError
	return errors.As(err, &path)
}

func partSize(path string) int64 {
	if info, err := os.Stat(path + ".part"); err == nil {
		return info.Size()
	}
	return 0
}

// partState is kept beside a partial file, to tell whether the hub still has
// the same file when the rest is asked for.
type partState struct {
	ETag string `json:"etag"` // of the server that sent the bytes
	ID   string `json:"id"`   // of the hub: SHA-256 or git's hash; empty if it gave none
}

// transfer asks for the file, or the rest of it, and finishes it.
func (h *hubPull) transfer(ctx context.Context, f File, path string) error {
	part := path + ".part"
	var state partState
	if saved, err := os.ReadFile(part + ".json"); err == nil {
		// A damaged note reads as no note: the file starts anew.
		_ = json.Unmarshal(saved, &state)
	}
	offset := partSize(path)
	if strings.Trim(state.ETag, `"`) == "" || strings.HasPrefix(state.ETag, "W/") {
		offset = 0 // nothing that a server could compare
	}

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	limit, reason := h.stall, errStalled
	if !h.answered {
		limit, reason = h.reach, errHubSlow
	}
	answer := time.AfterFunc(limit, func() { cancel(reason) })
	resp, seen, err := h.get(ctx, f, offset, state.ETag)
	answer.Stop()
	if err != nil {
		return causeOr(ctx, err)
	}
	defer resp.Body.Close()
	h.answered = true
	watch := time.AfterFunc(h.stall, func() { cancel(errStalled) })
	defer watch.Stop()

	flag := os.O_WRONLY | os.O_CREATE | os.O_APPEND
	switch resp.StatusCode {
	case http.StatusOK:
		offset, flag = 0, flag|os.O_TRUNC
	case http.StatusPartialContent:
		if !strings.HasPrefix(resp.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", offset)) || seen.id != state.ID {
			return errors.Join(errRestart, dropPart(part))
		}
	case http.StatusRequestedRangeNotSatisfiable:
		return errors.Join(errRestart, dropPart(part))
	default:
		return &statusError{resp.Request.URL.Redacted(), resp.Status, resp.StatusCode}
	}
	if err := h.pin(seen.commit); err != nil {
		return err
	}
	state = partState{resp.Header.Get("ETag"), seen.id}
	if err := writeJSON(part+".json", state); err != nil {
		return err
	}
	if resp.ContentLength >= 0 {
		h.now.Total += offset + resp.ContentLength - f.Size
	}
	h.now.Done += offset
	out, err := h.create(part, flag)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, &progressReader{resp.Body, h.pull, func() { watch.Reset(h.stall) }})
	watch.Stop()
	if err == nil {
		err = out.Sync()
	}
	if err := errors.Join(err, out.Close()); err != nil {
		return causeOr(ctx, err)
	}
	if err := verifyHub(part, f, seen.id); err != nil {
		return errors.Join(err, dropPart(part))
	}
	if err := os.Rename(part, path); err != nil {
		return err
	}
	h.tell(true)
	return dropPart(part)
}

// dropPart removes a partial file and its note, as far as they are there.
func dropPart(part string) error {
	return errors.Join(os.RemoveAll(part), os.RemoveAll(part+".json"))
}

// causeOr prefers why we cancelled a request to how it failed then.
func causeOr(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// pin remembers the commit that main stands for.
func (h *hubPull) pin(commit string) error {
	if h.revision != "main" || !commitID.MatchString(commit) {
		return nil
	}
	h.revision, h.pinned = commit, true
	return os.WriteFile(h.revisionFile(), []byte(commit), 0o644)
}

// hubIdentity is what the hub says about a file, on whichever of its redirects.
type hubIdentity struct {
	commit string
	id     string // SHA-256 of a large file, git's hash of another
}

// get sends the request. Large files are redirected to a store whose headers
// know nothing of the hub, so the redirects' headers are read too.
func (h *hubPull) get(ctx context.Context, f File, offset int64, etag string) (*http.Response, hubIdentity, error) {
	var seen hubIdentity
	note := func(header http.Header) {
		if commit := header.Get("X-Repo-Commit"); seen.commit == "" {
			seen.commit = commit
		}
		linked, own := header.Get("X-Linked-ETag"), header.Get("ETag")
		switch {
		case seen.id != "":
		case linked != "":
			seen.id = strings.Trim(linked, `"`)
		case header.Get("X-Repo-Commit") != "": // the hub's own ETag, not some server's
			seen.id = strings.Trim(own, `"`)
		}
	}
	client := &http.Client{Transport: h.client, CheckRedirect: func(req *http.Request, via []*http.Request) error {
		note(req.Response.Header)
		if len(via) > 10 {
			return errors.New("too many redirects")
		}
		if via[0].URL.Scheme == "https" && req.URL.Scheme != "https" {
			return errors.New("the hub redirects to an unencrypted address")
		}
		return nil
	}}
	address := fmt.Sprintf("%s/%s/resolve/%s/%s", h.hub, h.entry.Repo, h.revision, url.PathEscape(f.Name))
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, seen, err
	}
	req.Header.Set("User-Agent", "hark")
	req.Header.Set("Accept-Encoding", "identity") // lengths and ranges count the file's own bytes
	if offset > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", offset))
		req.Header.Set("If-Range", etag)
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, seen, err
	}
	note(resp.Header)
	return resp, seen, nil
}

// verifyHub holds a file to the catalogue's hash, else to the hub's.
func verifyHub(path string, f File, id string) error {
	switch {
	case f.SHA256 != "":
		return verifySHA256(path, f.Name, f.SHA256)
	case sha256Value.MatchString(id):
		return verifySHA256(path, f.Name, id)
	case commitID.MatchString(id): // git's hash of a blob
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		h := sha1.New()
		fmt.Fprintf(h, "blob %d\x00", info.Size())
		return verify(path, f.Name, id, h)
	}
	return nil
}

// progressReader counts what is read.
type progressReader struct {
	io.Reader
	pull  *pull
	alive func() // called after every read that brought something
}

func (r *progressReader) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	if n > 0 {
		r.alive()
		r.pull.now.Done += int64(n)
		r.pull.tell(false)
	}
	return n, err
}

func writeJSON(path string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}
