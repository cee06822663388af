package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"

	"hark/audioprep"
	"hark/batcher"
	"hark/engine"
)

// transcription handles the calls that turn an upload into text.
func (s *Server) transcription(d dialect) http.HandlerFunc {
	return s.admitted(func(w http.ResponseWriter, r *http.Request) (*reply, error) {
		switch {
		case !prefersAsync(r):
			return s.transcribe(w, r, d)
		case s.jobs != nil:
			return s.jobs.accept(r, d)
		}
		answer, err := s.transcribe(w, r, d)
		if answer != nil {
			answer.header.Add("X-Hark-Warning", "Prefer: respond-async is ignored: this server takes no jobs")
		}
		return answer, err
	})
}

// admitted handles a call with an upload: it takes a place for it before the body is read, and ends it when the server
// has to. An answer that has been written already is nil.
func (s *Server) admitted(answer func(w http.ResponseWriter, r *http.Request) (*reply, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		rec := recordOf(r)
		rec.bodyLeft = s.newBody(w, r)
		place, err := s.admit()
		if err != nil {
			s.fail(w, r, err)
			return
		}
		defer place.leave()
		// A stop that has lost its patience ends the request like a hang-up, with a cause that tells them apart.
		ctx, cancel := context.WithCancelCause(context.WithoutCancel(r.Context()))
		defer cancel(nil)
		resumable := wantsResume(r)
		rec.link = watchLink(r, rec.bodyLeft, func() {
			if !resumable || !rec.bodyLeft.whole() {
				cancel(context.Canceled)
			}
		})
		rec.free = func() {
			place.free()
			rec.leave()
		}
		defer context.AfterFunc(s.cutCtx, func() {
			cancel(errStopping)
			rec.bodyLeft.interrupt(errStopping)
		})()
		r = r.WithContext(ctx)
		reply, err := func() (*reply, error) {
			defer rec.link.stop() // a panic is answered too
			return answer(w, r)
		}()
		rec.free() // before the answer, so that a caller who has it finds the place free
		if err != nil {
			s.fail(w, r, err)
			return
		}
		if reply == nil { // a stream
			return
		}
		maps.Copy(w.Header(), reply.header)
		s.write(w, cmp.Or(reply.status, http.StatusOK), reply.contentType, reply.text)
	}
}

// reply is an answer that is still to be written.
type reply struct {
	status      int // 0 is 200
	header      http.Header
	contentType string
	text        []byte
}

// transcribe takes one request from its body to its answer.
func (s *Server) transcribe(w http.ResponseWriter, r *http.Request, d dialect) (*reply, error) {
	begin := time.Now()
	rec := recordOf(r)
	up, err := s.receiveAnd(r, d, func(up *upload) { s.decodeEarly(r, up, d) })
	if err != nil {
		return nil, err
	}
	defer up.Close()
	wishes, model, err := s.understand(up, r, d)
	if err != nil {
		return nil, err
	}
	rec.format, rec.warnings = wishes.format, wishes.warnings
	received := time.Since(begin)
	if wishes.stream {
		return nil, s.stream(w, r, d, up, wishes, s.input(r, up, wishes, model, begin))
	}

	t, err := s.run(r.Context(), s.input(r, up, wishes, model, begin))
	if err != nil {
		return nil, up.aboutFile(wishes.inFields(err, d))
	}
	rec.transcript = t
	s.metrics.countTranscript(t)
	answer, err := present(t, wishes, d)
	if err != nil {
		return nil, err
	}
	answer.header.Set("Server-Timing", serverTiming(received, t))
	return answer, nil
}

// inFields says of a wish that the model can't fulfil which field it came from, where
// that's not called as the option is.
func (v *wishes) inFields(err error, d dialect) error {
	var option *engine.OptionError
	switch {
	case !errors.As(err, &option):
	case option.Option == "task" && d.openAI: // whose calls have no such field
		return badField("model", "unsupported_value", "%s", option.Reason)
	case option.Option == "language":
		return badField(v.languageField, "unsupported_value", "%s", option.Reason)
	}
	return err
}

// present makes the answer of a transcript, by what was asked for.
func present(t *Transcript, wishes *wishes, d dialect) (*reply, error) {
	var err error
	var text []byte
	if wishes.format == VerboseJSON && !d.openAI {
		text, err = renderHark(t, wishes.detail())
	} else {
		text, err = Render(wishes.format, t.Result, t.Duration, t.Task, wishes.detail())
	}
	if err != nil {
		return nil, err
	}
	return &reply{header: headers(t, wishes), contentType: wishes.format.ContentType(), text: text}, nil
}

// headers are those of a transcript's answer, or of one that is to come.
func headers(t *Transcript, wishes *wishes) http.Header {
	h := warnings(wishes)
	h.Set("X-Hark-Model", shown(t.Model.Name))
	h.Set("X-Hark-Device", t.Model.Device)
	h.Set("X-Hark-Lane", t.Lane.String())
	for _, fault := range t.Audio.Faults {
		h.Add("X-Hark-Warning", headerText("audio: "+fault))
	}
	return h
}

// warnings are the headers that name what was ignored.
func warnings(wishes *wishes) http.Header {
	h := http.Header{}
	for _, warning := range wishes.warnings {
		h.Add("X-Hark-Warning", warning)
	}
	return h
}

// receive reads the body. What it refuses by its header it doesn't read at all.
func (s *Server) receive(r *http.Request, d dialect) (*upload, error) { return s.receiveAnd(r, d, nil) }

// receiveAnd is receive that tells of the file as soon as it begins.
func (s *Server) receiveAnd(r *http.Request, d dialect, began func(*upload)) (*upload, error) {
	return s.receiveWith(r, d, uploadLimits{began: began})
}

// receiveWith is receive by limits of which the server's own are still to be set.
func (s *Server) receiveWith(r *http.Request, d dialect, lim uploadLimits) (*upload, error) {
	if err := checkLength(r, s.cfg.MaxUploadBytes); err != nil {
		return nil, err
	}
	body := recordOf(r).bodyLeft
	lim.spoolDir, lim.spoolThreshold = s.cfg.SpoolDir, s.cfg.SpoolThreshold
	lim.maxFileBytes, lim.memory = s.cfg.MaxUploadBytes, &s.memory
	up, err := readUpload(r.Header.Get("Content-Type"), body, lim, !d.openAI)
	var unwanted *earlyRefusal
	switch {
	case errors.As(err, &unwanted):
		return nil, unwanted.error
	case err == nil:
		if up.audio != nil && up.audio.onDisk() {
			s.metrics.spooled.Inc()
		}
		return up, nil
	case body.err != nil: // the link's own error says more than what the parser made of it
		return nil, uploadError(body.err)
	}
	return nil, uploadError(err)
}

// earlyRefusal ends an upload of whose file enough is known.
type earlyRefusal struct{ error }

// decodeEarly begins to decode a file while it arrives, by the fields that came before it. If others come behind it,
// that was in vain.
func (s *Server) decodeEarly(r *http.Request, up *upload, d dialect) {
	before := maps.Clone(up.fields)
	if before == nil {
		before = fields{}
	}
	if !d.openAI {
		before.addQuery(r.URL.Query())
	}
	choice, err := parseChoice(before)
	if err != nil {
		return // which will be told when the fields are judged
	}
	up.decoding = s.transcriber.Decode(r.Context(), up.audio.reader(r.Context()), choice, func(err error) {
		up.audio.refuse(&earlyRefusal{up.aboutFile(err)})
	})
}

// understand judges an upload's fields, finds its model, and gets its file where that is named by URL.
func (s *Server) understand(up *upload, r *http.Request, d dialect) (*wishes, string, error) {
	wishes, model, err := s.judge(up, r, d)
	if err != nil {
		return nil, "", err
	}
	if err := wishes.leaveWebhook(up.fields); err != nil {
		return nil, "", err
	}
	url, err := s.urlOf(r.Context(), up)
	if err != nil {
		return nil, "", err
	}
	if url != "" {
		if err := s.fetch(r.Context(), up, url); err != nil {
			return nil, "", err
		}
	}
	return wishes, model, up.checkFile()
}

// judge judges an upload's fields and finds its model.
func (s *Server) judge(up *upload, r *http.Request, d dialect) (*wishes, string, error) {
	if up.fields == nil {
		up.fields = fields{}
	}
	if !d.openAI {
		up.fields.addQuery(r.URL.Query())
	}
	if ms := r.Header.Get("X-Hark-Deadline-Ms"); ms != "" { // beside the field, it has to say the same
		up.fields.add("deadline_ms", ms)
	}
	wishes, err := parseWishes(up.fields, d)
	if err != nil {
		return nil, "", err
	}
	if d.openAI {
		if err := wishes.leaveQuery(r.URL.Query()); err != nil {
			return nil, "", err
		}
	}
	model, err := s.resolve(wishes.model)
	if err != nil {
		return nil, "", err
	}
	if info, ok := s.models.Known(model); ok && !info.Prompts && wishes.options.Prompt != "" {
		wishes.options.Prompt = "" // clients that always send one are not to fail
		wishes.warn("prompt is ignored: the model %s takes none, but keywords[]", model)
	}
	if len(up.other) > 0 {
		wishes.warn("files in other fields are ignored: %s", strings.Join(names(up.other), " "))
	}
	return wishes, model, nil
}

// checkFile returns what's wrong where there's no file, or nothing in it.
func (u *upload) checkFile() error {
	switch {
	case u.audio == nil && len(u.other) > 0:
		return badField("file", "missing_required_parameter",
			"there is a file in the field %s, but it belongs in the field \"file\"", quoted(u.other[0]))
	case u.audio == nil:
		return badField("file", "missing_required_parameter",
			"there is no file: send the audio in the field \"file\" of a multipart/form-data body, or where it is in the field \"url\"")
	case u.audio.length() == 0:
		return u.refused(badField("file", "empty_audio", "the file is empty: send audio"), audioprep.Info{})
	}
	return nil
}

func names(list []string) []string {
	out := make([]string, min(len(list), 16))
	for i := range out {
		out[i] = shown(list[i])
	}
	return out
}

// input is what an upload asks for. Its deadline counts from the request's arrival.
func (s *Server) input(r *http.Request, up *upload, v *wishes, model string, begin time.Time) Input {
	in := Input{
		Model:    model,
		Audio:    up.audio.reader(r.Context()),
		Choice:   v.choice,
		Decoding: up.decoding,
		Options:  v.options,
		Caller:   caller(r),
		Decoded:  up.Close,
	}
	if v.deadline > 0 {
		in.Deadline = begin.Add(v.deadline)
	}
	return in
}

// run transcribes an input within its deadline.
func (s *Server) run(ctx context.Context, in Input) (*Transcript, error) {
	bounded := ctx
	if !in.Deadline.IsZero() {
		var cancel context.CancelFunc
		bounded, cancel = context.WithDeadlineCause(ctx, in.Deadline, batcher.ErrDeadline) // also for decoding
		defer cancel()
	}
	t, err := s.transcriber.Transcribe(bounded, in)
	if err != nil && ctx.Err() == nil && errors.Is(context.Cause(bounded), batcher.ErrDeadline) {
		return nil, fmt.Errorf("%w: %w", batcher.ErrDeadline, err)
	}
	return t, err
}

// serverTiming tells a browser's network panel where the time went (W3C Server Timing).
func serverTiming(received time.Duration, t *Transcript) string {
	return fmt.Sprintf(`receive;dur=%.1f, decode;dur=%.1f, queue;dur=%.1f;desc="%d turns", compute;dur=%.1f`,
		inMillis(received), inMillis(t.Decode), inMillis(t.Queue), t.TurnsWaited, inMillis(t.Compute))
}
