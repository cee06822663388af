package parakeet

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"hark/engine"
)

// settling runs a job to its end, batch by batch, the windows of each in reverse, and gathers what
// becomes final and what was kept on the way.
func settling(t testing.TB, m *Model, j engine.Job, size int) (settled []engine.Segment, kept []engine.Kept) {
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
	for batch := j.Next(size); len(batch) > 0; batch = j.Next(size) {
		for _, w := range slices.Backward(batch) {
			runBatch(t, m, []engine.Window{w})
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

// TestSettledIsTheResult: what becomes final on the way is the result, whatever ends first, and so it is when some of
// the windows were heard by an earlier job.
func TestSettledIsTheResult(t *testing.T) {
	m := loadTiny(t)
	samples, spans, _ := speech(t, 40*engine.SampleRate)
	sentence := recordingSamples(t, "08_three")
	const overlap = 2 * engine.SampleRate
	for _, c := range []struct {
		name    string
		samples []float32
		spans   []engine.Span
		o       engine.Options
	}{
		{"apart", samples, spans, engine.Options{WordTimestamps: true, LogProbs: true}},
		{"overlapping", sentence, []engine.Span{{End: 2*engine.SampleRate + overlap}, {Start: 2 * engine.SampleRate, End: len(sentence), Overlap: overlap}}, engine.Options{}},
		{"sequential", samples, spans, engine.Options{Sequential: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := toJSON(t, runSpans(t, m, c.samples, c.spans, c.o))
			j, err := m.NewJob(c.samples, c.spans, c.o)
			if err != nil {
				t.Fatal(err)
			}
			settled, kept := settling(t, m, j, 5)
			r := j.Result()
			if got := toJSON(t, r); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			if got := toJSON(t, &engine.Result{Language: r.Language, Segments: settled}); got != want {
				t.Errorf("settled %s\nwant    %s", got, want)
			}
			checkSpelling(t, r, c.o)
			if len(kept) != len(c.spans) {
				t.Fatalf("%d windows were kept, want %d", len(kept), len(c.spans))
			}
			for some := range len(kept) + 1 {
				var stored []engine.Kept
				if err := json.Unmarshal([]byte(toJSON(t, kept[:some])), &stored); err != nil {
					t.Fatal(err)
				}
				j, err := m.NewJob(c.samples, c.spans, c.o)
				if err != nil {
					t.Fatal(err)
				}
				j.Restore(stored)
				settled, rest := settling(t, m, j, 5)
				if len(rest) != len(kept)-some {
					t.Errorf("%d windows of %d were kept, and %d run", some, len(kept), len(rest))
				}
				if got := toJSON(t, j.Result()); got != want || len(settled) != len(r.Segments) {
					t.Errorf("with %d windows kept:\ngot  %s\nwant %s", some, got, want)
				}
			}
		})
	}
}

// checkSpelling holds the tokens of segments to their texts, and their log-probabilities to the mean.
func checkSpelling(t *testing.T, r *engine.Result, o engine.Options) {
	t.Helper()
	for _, s := range r.Segments {
		text, sum := "", 0.0
		for _, token := range s.Spelling {
			text += string(token.Bytes)
			sum += float64(token.LogProb)
		}
		switch {
		case !o.LogProbs && s.Spelling != nil:
			t.Errorf("tokens that nobody asked for: %+v", s)
		case o.LogProbs && (text != s.Text || math.Abs(sum/float64(len(s.Spelling))-s.AvgLogProb) > 1e-6):
			t.Errorf("tokens %q of %q, mean %.4f", text, s.Text, sum/float64(len(s.Spelling)))
		}
	}
}

// FuzzRestore: whatever is given back, a job runs to its end.
func FuzzRestore(f *testing.F) {
	for _, state := range []string{
		`{"tokens":[{"id":5,"frame":3,"duration":2,"logprob":-0.5,"confidence":0.5}]}`, `{}`, `null`, `[]`, ``, `{"tokens":null}`,
		`{"tokens":[{"id":-1}]}`, `{"tokens":[{"id":99999}]}`, `{"tokens":[{"frame":9},{"frame":1}]}`, `{"tokens":[{"duration":9223372036854775807}]}`,
		`{"tokens":[` + strings.Repeat(`{"id":1},`, 50) + `{"id":1}]}`,
	} {
		f.Add(0, engine.SampleRate, 0, state)
	}
	m := loadTiny(f)
	samples := noise(2*engine.SampleRate, 1)
	f.Fuzz(func(t *testing.T, start, end, pass int, state string) {
		j, err := m.NewJob(samples, []engine.Span{{End: engine.SampleRate}, {Start: engine.SampleRate, End: len(samples)}}, engine.Options{WordTimestamps: true})
		if err != nil {
			t.Fatal(err)
		}
		j.Restore([]engine.Kept{{Start: start, End: end, Pass: pass, State: json.RawMessage(state)}})
		settled, _ := settling(t, m, j, 12)
		checkTimes(t, &engine.Result{Segments: settled}, 2)
	})
}
