package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"hark/audioprep"
	"hark/batcher"
	"hark/engine"
)

// explanation is the answer of POST /v1/explain: what would become of a file, without transcribing it.
type explanation struct {
	*FileReport
	// Model is the one that the request would go to.
	Model string `json:"model"`
	// Predicted is how long its answer would take by what is waiting now, once the file is decoded. It's not there
	// while nothing has been measured yet, or the model is not loaded.
	Predicted *float64 `json:"predicted_wait_ms,omitempty"`
}

// explain takes an upload in the way of /v1/transcribe, fields and all, and says what it is and what it would cost. A
// file that /v1/transcribe would refuse is refused in the same words.
func (s *Server) explain(_ http.ResponseWriter, r *http.Request) (*reply, error) {
	up, err := s.receive(r, dialect{})
	if err != nil {
		return nil, err
	}
	defer up.Close()
	wishes, model, err := s.understand(up, r, dialect{})
	if err != nil {
		return nil, err
	}
	recordOf(r).warnings = wishes.warnings
	in := Input{Model: model, Audio: up.audio.reader(r.Context()), Choice: wishes.choice, Options: wishes.options}
	report, err := s.transcriber.Explain(r.Context(), in, up.label)
	if err != nil {
		return nil, up.aboutFile(err)
	}
	e := explanation{FileReport: report, Model: model}
	if wait, ok := s.transcriber.predict(model, "", report.lane(), *report.CostMillis); ok {
		ms := inMillis(wait)
		e.Predicted = &ms
	}
	text, err := marshal(e)
	if err != nil {
		return nil, err
	}
	h := http.Header{}
	for _, warning := range wishes.warnings {
		h.Add("X-Hark-Warning", warning)
	}
	return &reply{header: h, contentType: "application/json", text: text}, nil
}

// Explain decodes an input as Transcribe would and reports what is in it. The model is not loaded for that: until it
// is, windows are counted as Whisper takes them. Errors are those of audioprep.Decode.
func (t *Transcriber) Explain(ctx context.Context, in Input, label audioprep.Label) (*FileReport, error) {
	window := maxClipSamples
	if info, ok := t.models.Known(in.Model); ok {
		window = info.MaxWindowSamples
	}
	var inspection *audioprep.Inspection
	err := t.clipFirst(ctx, in.Audio, func(limit time.Duration) (err error) {
		inspection, err = audioprep.Inspect(ctx, in.Audio, t.decodeOptions(limit, in.Choice), label, window)
		return err
	})
	if err != nil {
		return nil, err
	}
	if in.Options.Sequential && len(inspection.Windows) > 0 {
		inspection.CostSamples = inspection.Samples
	}
	return NewFileReport(inspection, nil), nil
}

// InspectFile reports a file without a server, with windows as Whisper takes them. Where nothing can be heard in it,
// the report comes with the error, as far as anything was found; for other errors it is nil.
func InspectFile(ctx context.Context, audio io.ReadSeeker, opt audioprep.Options,
	label audioprep.Label) (*FileReport, error) {
	inspection, err := audioprep.Inspect(ctx, audio, opt, label, maxClipSamples)
	var found *audioprep.DecodeError
	if err != nil && !errors.As(err, &found) {
		return nil, err
	}
	return NewFileReport(inspection, err), err
}

// predict is how long a request of so much audio, in ms, would take from now; ok is false where that is unknown.
func (t *Transcriber) predict(model, caller string, lane batcher.Lane, costMillis int64) (wait time.Duration, ok bool) {
	b := t.loaded(model)
	if b == nil {
		return 0, false
	}
	// No answer comes within a nanosecond: the refusal says how long it would take.
	err := b.Check(batcher.Request[engine.Window]{Lane: lane, CostMillis: costMillis, Caller: caller,
		Weight: t.weight(caller), Deadline: 1})
	var busy *batcher.BusyError
	if !errors.As(err, &busy) || busy.Predicted == 0 {
		return 0, false
	}
	return busy.Predicted, true
}
