package server

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"hark/batcher"
)

// wireError is the JSON of an error; all four keys are always there.
type wireError struct {
	Error struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    *string `json:"code"`
	} `json:"error"`
	// File is there where a file was refused for what it is: what was found of it. See FileReport.
	File *FileReport `json:"file,omitempty"`
	// Hark is there where a queue refused the request.
	Hark *wireBusy `json:"hark,omitempty"`
}

// wireBusy says what a refused request would have waited for.
type wireBusy struct {
	Limit     batcher.Limit `json:"limit"` // "count", "bytes", "wait" or "deadline"
	Waiting   int           `json:"waiting"`
	Predicted float64       `json:"predicted_wait_ms"` // 0 while nothing has been measured
}

// onWire is an error in OpenAI's form; err is what it was made of.
func onWire(e *apiError, err error) *wireError {
	body := &wireError{}
	body.Error.Message, body.Error.Type = e.message, e.kind()
	body.Error.Param, body.Error.Code = nullable(e.param), nullable(e.code)
	if e.busy != nil {
		body.Hark = &wireBusy{e.busy.Limit, e.busy.Waiting, inMillis(e.busy.Predicted)}
	}
	if file := (*refusedFile)(nil); errors.As(err, &file) && e.status < http.StatusInternalServerError {
		body.File = file.report
	}
	return body
}

// fail answers with an error and notes it for the request's log line. If the body has not been read to its end,
// it lingers so that the client gets to read the answer, then closes the link. To a client that is gone it
// writes nothing: observe aborts the link.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	e := describe(r.Context(), err)
	rec := recordOf(r)
	rec.err = e
	rec.leave()
	s.metrics.countError(e)
	if e.status == statusClientGone {
		return
	}

	h := w.Header()
	switch e.retry {
	case retrySoon:
		h.Set("Retry-After", strconv.Itoa(e.retrySeconds()))
	case retryNever:
		h.Set("x-should-retry", "false")
	}
	var body any
	if rec.errorForm != nil {
		body = rec.errorForm(e, rec.id)
	} else {
		body = onWire(e, err)
	}
	text, err := json.Marshal(body)
	if err != nil { // strings always marshal
		panic(err)
	}
	// HTTP/2 ends one body and keeps the link.
	unread := rec.bodyLeft != nil && !rec.bodyLeft.whole() && r.ProtoMajor == 1
	if unread {
		h.Set("Connection", "close")
		http.NewResponseController(w).EnableFullDuplex() // else the server reads the body before it answers
	}
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(text)))
	s.boundWriting(w)
	w.WriteHeader(e.status)
	w.Write(text)
	if unread {
		s.linger(w, r)
	}
}

// A client that still sends when its link is closed gets a reset and may lose the answer. So some of
// what it sends is read and dropped first.
const (
	lingerTime  = 2 * time.Second
	lingerBytes = 64 << 20
)

func (s *Server) linger(w http.ResponseWriter, r *http.Request) {
	rc := http.NewResponseController(w)
	if rc.Flush() != nil || strings.EqualFold(r.Header.Get("Expect"), "100-continue") {
		return
	}
	body := recordOf(r).bodyLeft
	rc.SetReadDeadline(time.Now().Add(lingerTime))
	body.discard(lingerBytes)
}

func nullable(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
