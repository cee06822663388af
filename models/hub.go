package models

import (
	"context"
	"crypto/sha1"
	"errors"
	"fmt"
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

// isMissing says whether the hub has no such file.
func isMissing(err error) bool {
	var status *statusError
	return errors.As(err, &status) && status.code == http.StatusNotFound
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
		Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext,
		TLSHandshakeTimeout: p.reach, ForceAttemptHTTP2: true,
	}}
	defer h.client.CloseIdleConnections()
	if saved, err := os.ReadFile(h.revisionFile()); err == nil && commitID.Match(saved) {
		h.revision = string(saved)
	}
	err := h.fetchAll(ctx)
	if resumed := h.revision != "main" && !h.pinned; resumed && isMissing(err) {
		// The commit that the earlier pull began with is gone from the hub.
		if err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o755), os.RemoveAll(h.revisionFile())); err != nil {
			return err
		}
		h.revision = "main"
		err = h.fetchAll(ctx)
	}
	return err
}

// fetchAll brings the model's files, in its other form where the hub lacks the
// first.
func (h *hubPull) fetchAll(ctx context.Context) error {
	err := h.fetchFiles(ctx, h.entry.Files)
	if isMissing(err) && len(h.entry.Otherwise) > 0 {
		if other := h.fetchFiles(ctx, h.entry.Otherwise); other != nil {
			return fmt.Errorf("%w; %w", err, other)
		}
		return nil
	}
	return err
}

func (h *hubPull) fetchFiles(ctx context.Context, files []File) error {
	h.now.Done, h.now.Total = 0, 0
	for _, f := range files {
		h.now.Total += f.Size
	}
	for _, f := range files {
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
		case isMissing(err) && f.Optional:
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
	note := func(resp *http.Response) {
		if seen.commit == "" {
			seen.commit = resp.Header.Get("X-Repo-Commit")
		}
		ids := []string{resp.Header.Get("X-Linked-ETag")}
		if seen.commit != "" && strings.HasPrefix(resp.Request.URL.String(), h.hub+"/") {
			ids = append(ids, resp.Header.Get("ETag")) // the hub's own, not that of some server
		}
		for _, id := range ids {
			if id = strings.Trim(id, `"`); seen.id == "" && (sha256Value.MatchString(id) || commitID.MatchString(id)) {
				seen.id = id
			}
		}
	}
	client := &http.Client{Transport: h.client, CheckRedirect: func(req *http.Request, via []*http.Request) error {
		note(req.Response)
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
	note(resp)
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
