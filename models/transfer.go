package models

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

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

	switch resp.StatusCode {
	case http.StatusOK:
		// The old bytes go before the new note comes, lest a kill in between
		// leave the two to be taken for each other's.
		offset = 0
		if err := dropPart(part); err != nil {
			return err
		}
	case http.StatusPartialContent:
		if !strings.HasPrefix(resp.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", offset)) ||
			seen.id != state.ID {
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
	out, err := h.create(part, os.O_WRONLY|os.O_CREATE|os.O_APPEND)
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
