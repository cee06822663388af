package whisper

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"hark/engine"
)

// settling runs a job to its end, batch by batch, the windows of each in reverse but for the first, which tells the
// others the language, and gathers what becomes final and what was kept on the way.
func settling(t testing.TB, m *Model, j engine.Job) (settled []engine.Segment, kept []engine.Kept) {
	t.Helper()
	last := math.Inf(-1)
	take := func() {
		segments, from := j.Settled()
		for _, s := range segments {
			if s.Start < last {
				t.Errorf("a segment starts at %.3f, after %.3f was promised", s.Start, last)
			}
		}
		settled, last = append(settled, segments...), from
	}
	take()
	for first := true; ; first = false {
		batch := j.Next(m.info.MaxBatch)
		if len(batch) == 0 {
			break
		}
		if from := 0; len(batch) > 1 {
			if first {
				from = 1
			}
			slices.Reverse(batch[from:])
		}
		for _, w := range batch {
			if err := runAll(context.Background(), m, []engine.Window{w})[0]; err != nil {
				t.Fatal(err)
			}
			k, err := j.Keep(w)
			if err != nil {
				t.Fatal(err)
			}
			kept = append(kept, k)
			take()
		}
	}
	if !math.IsInf(last, 1) {
		t.Errorf("at the end more is promised from %.3f on", last)
	}
	return settled, kept
}

// checkSettling holds what becomes final on the way to the result, and a job that some
// windows are given back to one that ran all.
func checkSettling(t *testing.T, m *Model, samples []float32, spans []engine.Span, o engine.Options) {
	t.Helper()
	want := toJSON(t, transcribe(t, m, samples, spans, o))
	j, err := m.NewJob(samples, spans, o)
	if err != nil {
		t.Fatal(err)
	}
	settled, kept := settling(t, m, j)
	r := j.Result()
	if got := toJSON(t, r); got != want {
		t.Errorf("got  %.500s\nwant %.500s", got, want)
	}
	if got := toJSON(t, &engine.Result{Language: r.Language, Segments: settled}); got != want {
		t.Errorf("settled %.500s\nwant    %.500s", got, want)
	}
	for _, s := range r.Segments {
		text := ""
		for _, token := range s.Spelling {
			text += string(token.Bytes)
			if !(token.LogProb <= 0) {
				t.Errorf("a token's log-probability is %.3f", token.LogProb)
			}
		}
		if o.LogProbs && strings.ToValidUTF8(text, "") != strings.ReplaceAll(s.Text, "\ufffd", "") || !o.LogProbs && s.Spelling != nil {
			t.Errorf("tokens %q of %q", text, s.Text)
		}
	}
	if len(r.Segments) == 0 || len(kept) < 2 {
		t.Errorf("%d segments of %d windows: too little to compare", len(r.Segments), len(kept))
	}
	for _, some := range []int{1, len(kept) - 1, len(kept)} {
		var stored []engine.Kept
		fromJSON(t, toJSON(t, kept[:some]), &stored)
		j, err := m.NewJob(samples, spans, o)
		if err != nil {
			t.Fatal(err)
		}
		j.Restore(stored)
		settled, rest := settling(t, m, j)
		if len(rest) != len(kept)-some {
			t.Errorf("%d windows of %d were kept, and %d run", some, len(kept), len(rest))
		}
		if got := toJSON(t, j.Result()); got != want || len(settled) != len(r.Segments) {
			t.Errorf("with %d windows kept:\ngot  %.500s\nwant %.500s", some, got, want)
		}
	}
}

var overlappingSpans = []engine.Span{{End: 160000}, {Start: 128000, End: 288000, Overlap: 32000}, {Start: 288000, End: 368000}, {Start: 352000, End: 416000, Overlap: 16000}}

// TestSettledIsTheResult: what becomes final on the way is the result, whatever ends first, and so it is when some of
// the windows were heard by an earlier job.
func TestSettledIsTheResult(t *testing.T) {
	m := tinyModel(t)
	samples := noise(416000, 1)
	greedy := []float32{0}
	t.Run("windows", func(t *testing.T) {
		checkSettling(t, m, samples, overlappingSpans, engine.Options{Temperatures: greedy})
	})
	t.Run("words", func(t *testing.T) {
		checkSettling(t, m, samples, overlappingSpans, engine.Options{Temperatures: greedy, WordTimestamps: true, LogProbs: true})
	})
	t.Run("chain", func(t *testing.T) {
		checkSettling(t, m, noise(16000*70, 1), []engine.Span{{End: 16000 * 70}}, engine.Options{Temperatures: greedy, Sequential: true})
	})
}

// TestSpeechSettles is TestSettledIsTheResult with speech, whose language is to be detected.
func TestSpeechSettles(t *testing.T) {
	samples := clip(t, "ted60")[:160000]
	spans := []engine.Span{{Start: 0, End: 64000}, {Start: 48000, End: 112000, Overlap: 16000}, {Start: 112000, End: len(samples)}}
	checkSettling(t, model(t, "base"), samples, spans, engine.Options{LogProbs: true})
}

// FuzzRestore: whatever is given back, a job runs to its end.
func FuzzRestore(f *testing.F) {
	for _, state := range []string{
		`{"language":"en","seek":100,"ended":true,"segments":[{"start":0,"end":0.5,"text":" a","tokens":[70],"words":[{"text":" a","tokens":[70],"start":0.1,"end":0.4}]}]}`,
		`{"language":"en","seek":20,"reset":1,"segments":[{"tokens":[70]}]}`, `{"language":"en","seek":9223372036854775807}`, `{"language":"en","seek":20,"reset":2}`,
		`{"language":"xx","seek":100,"ended":true}`, `{"seek":100,"ended":true}`, `{"language":"en","seek":20,"segments":[{"tokens":[99999]}]}`, `{}`, `null`, `[]`, ``,
	} {
		f.Add(0, 16000, 0, true, state)
		f.Add(0, 16000, 0, false, state)
	}
	m := tinyModel(f)
	samples := noise(16000, 1)
	f.Fuzz(func(t *testing.T, start, end, pass int, sequential bool, state string) {
		j, err := m.NewJob(samples, whole(samples), engine.Options{Sequential: sequential, WordTimestamps: true, Temperatures: []float32{0}})
		if err != nil {
			t.Fatal(err)
		}
		j.Restore([]engine.Kept{{Start: start, End: end, Pass: pass, State: json.RawMessage(state)}})
		for batch := j.Next(12); len(batch) > 0; batch = j.Next(12) {
			for _, err := range runAll(context.Background(), m, batch) {
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, s := range j.Result().Segments {
			if s.Start < 0 || s.End > 1 || s.End <= s.Start {
				t.Errorf("a segment from %.2f to %.2f of 1 s", s.Start, s.End)
			}
		}
	})
}
