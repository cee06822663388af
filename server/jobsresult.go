package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"hark/jobs"
)

// encodeTranscript writes a transcript as it's kept. JSON has no number for what isn't one, so such figures become 0.
func encodeTranscript(t *Transcript) ([]byte, error) {
	c, result := *t, *t.Result
	result.Segments = slices.Clone(result.Segments)
	for i := range result.Segments {
		s := &result.Segments[i]
		s.AvgLogProb, s.CompressionRatio, s.NoSpeechProb = finite(s.AvgLogProb),
			finite(s.CompressionRatio), finite(s.NoSpeechProb)
	}
	c.Result = &result
	return json.Marshal(&c)
}

// decodeTranscript reads it.
func decodeTranscript(text []byte) (*Transcript, error) {
	t := &Transcript{}
	if err := json.Unmarshal(text, t); err != nil {
		return nil, err
	}
	if t.Result == nil {
		return nil, errors.New("it holds no result")
	}
	return t, nil
}

// transcript reads what a done job came to, and what it was asked for.
func (o *office) transcript(id string) (*Transcript, *jobRequest, error) {
	text, err := o.store.Result(id)
	if err != nil {
		return nil, nil, err
	}
	t, err := decodeTranscript(text)
	if err != nil {
		return nil, nil, fmt.Errorf("result of a job: %w", err)
	}
	request, err := o.request(id)
	return t, request, err
}

// formFields are those that say how a result is shown, not what it is.
var formFields = []string{"response_format", "timestamp_granularities", "include"}

// jobResult answers with what a done job came to, as the call that made it would have,
// or in the form that the query says.
func (s *Server) jobResult(w http.ResponseWriter, r *http.Request, j *jobs.Job) {
	if !j.State.Over() {
		w.Header().Set("Retry-After", pollAfter(s.jobs.report(j)))
		s.fail(w, r, &apiError{status: http.StatusConflict, code: "job_not_done",
			message: "the job is not done yet: ask again after the seconds that Retry-After says, or read its events"})
		return
	}
	answer, err := s.jobs.outcome(r, j)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	maps.Copy(w.Header(), answer.header)
	s.write(w, http.StatusOK, answer.contentType, answer.text)
}

// outcome is the result of a job that is over, or why there is none.
func (o *office) outcome(r *http.Request, j *jobs.Job) (*reply, error) {
	switch j.State {
	case jobs.Failed:
		f := j.Failure
		return nil, &apiError{status: f.Status, code: f.Code, param: f.Param, message: f.Message, retry: retryNever}
	case jobs.Cancelled:
		return nil, &apiError{status: http.StatusGone, code: "job_cancelled",
			message: "the job was cancelled: there is no result", retry: retryNever}
	}
	answer, err := o.result(r, j)
	if err != nil {
		return nil, jobGone(err)
	}
	return answer, nil
}

// result makes the answer.
func (o *office) result(r *http.Request, j *jobs.Job) (*reply, error) {
	t, request, err := o.transcript(j.ID)
	if err != nil {
		return nil, err
	}
	d := request.dialect()
	had, err := parseWishes(request.Fields, d)
	if err != nil {
		return nil, err
	}
	shown := maps.Clone(request.Fields)
	asked := fields{}
	for name, values := range r.URL.Query() {
		for _, v := range values {
			asked.add(name, v)
		}
	}
	for name, values := range asked {
		if !slices.Contains(formFields, name) {
			return nil, badField(name, "unknown_parameter",
				"%s is no parameter of a result: want response_format, timestamp_granularities[] or include[]", quoted(name))
		}
		shown[name] = values
	}
	wishes, err := parseWishes(shown, d)
	if err != nil {
		return nil, err
	}
	if wishes.options.WordTimestamps && !had.options.WordTimestamps {
		return nil, badField("timestamp_granularities[]", "unsupported_value",
			"the job was made without the times of words: send timestamp_granularities[]=word with it")
	}
	if wishes.choice != had.choice {
		return nil, badField("response_format", "unsupported_value",
			"the job was made with its channels mixed: send channels=separate with it")
	}
	if wishes.logProbs && !had.logProbs {
		return nil, badField("include[]", "unsupported_value",
			"the job was made without log-probabilities: send include[]=logprobs with it")
	}
	wishes.warnings = had.warnings
	return present(t, wishes, d)
}
