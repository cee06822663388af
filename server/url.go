package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"hark/audioprep"
	"hark/fetch"
)

// newFetcher makes what gets the files that requests name by URL.
func newFetcher(cfg Config) *fetch.Fetcher {
	return fetch.New(fetch.Config{
		AllowPrivate: cfg.FetchPrivate,
		MaxBytes:     cfg.MaxUploadBytes,
		Timeout:      cfg.UploadTimeout,
		IdleTimeout:  cfg.UploadIdleTimeout,
	})
}

// urlOf returns the URL that an upload names instead of a file, "" if it names none. It's one that may be
// called, as far as that can be known before.
func (s *Server) urlOf(ctx context.Context, up *upload) (string, error) {
	url, err := up.fields.text("url")
	switch {
	case err != nil:
		return "", err
	case url == "":
		return "", nil
	case up.audio != nil && up.audio.length() > 0:
		return "", badField("url", "conflicting_values", "there are a file and a url: send one of them")
	}
	if err := s.fetcher.Check(ctx, url); err != nil {
		return "", fetchFailed(err, "url")
	}
	return url, nil
}

// fetch gets the file at a URL, as if it had been uploaded.
func (s *Server) fetch(ctx context.Context, up *upload, url string) error {
	up.Close() // of an empty body
	up.decoding = nil
	up.audio = &spool{dir: s.cfg.SpoolDir, threshold: s.cfg.SpoolThreshold,
		limit: s.cfg.MaxUploadBytes, share: &s.memory}
	begin := time.Now()
	file, err := s.fetcher.Fetch(ctx, url, up.audio)
	up.audio.end(err)
	s.metrics.countFetch(file.Bytes, time.Since(begin), err)
	if err != nil {
		return fetchFailed(err, "url")
	}
	up.label = audioprep.Label{Name: file.Name} // what it is called; what it is, its bytes tell
	return nil
}

// fetchFailed maps what getting a file failed with. What the other side may have mended by
// another try has a status that is retried.
func fetchFailed(err error, param string) error {
	var (
		refused  *fetch.RefusedError
		status   *fetch.StatusError
		size     *fetch.SizeError
		late     *fetch.TimeError
		redirect *fetch.RedirectError
		network  *fetch.NetworkError
		dns      *net.DNSError
	)
	switch {
	case errors.As(err, &refused):
		advice := ": send one that is reachable from anywhere"
		if refused.Private {
			advice += ", or have whoever runs this server allow private networks"
		}
		return badField(param, "url_refused", "%v%s", refused, advice)
	case errors.As(err, &size):
		e := fileTooLarge(size.Max)
		e.param = param
		return e
	case errors.As(err, &redirect):
		return badField(param, "url_unreadable", "%v: send the URL that it leads to", redirect)
	case errors.As(err, &status) && status.Status < http.StatusInternalServerError:
		return badField(param, "url_unreadable", "%v: see that it can be read without a login", status)
	case errors.As(err, &dns) && dns.IsNotFound: // which asking again doesn't change
		return badField(param, "url_unreadable",
			"the URL's host has no address: see that it is spelt right, and known everywhere")
	case errors.As(err, &late):
		return &apiError{status: http.StatusGatewayTimeout, code: "url_timeout", param: param,
			message: fmt.Sprintf("%v: try again later", late)}
	case errors.As(err, &status), errors.As(err, &network):
		return &apiError{status: http.StatusBadGateway, code: "url_unreadable", param: param, cause: err,
			message: "the file can't be read from its URL, " + plainCause(status, network) +
				": see that it is there, or try again later"}
	}
	return err
}

// plainCause says in words for the client why a file can't be read, without what a stranger has
// no business to know, addresses above all.
func plainCause(status *fetch.StatusError, network *fetch.NetworkError) string {
	if status != nil {
		return fmt.Sprintf("which is answered with status %d", status.Status)
	}
	return "whose host can't be reached or broke off"
}
