package parakeet

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	"hark/engine"
)

// goldenUtterance is what NeMo made of a recording.
type goldenUtterance struct {
	Name              string
	Tokens            []int32
	Frames, Durations []int
	Text              string
	Words             []goldenSpan
	Segments          []goldenSpan
	MaxProb           goldenConfidence `json:"confidence_max_prob"`
	Entropy           goldenConfidence `json:"confidence_entropy"`
	PaddedTo1s        *goldenUtterance `json:"nemo_transcribe_padded_to_1s"`
}

type goldenSpan struct {
	Word, Segment string
	Start, End    float64
}

type goldenConfidence struct{ Token, Word []float64 }

func utterances(t testing.TB, model string) []goldenUtterance {
	t.Helper()
	var golden struct{ Utterances []goldenUtterance }
	goldenJSON(t, &golden, model+".json")
	if len(golden.Utterances) == 0 {
		t.Fatal("no utterances")
	}
	return golden.Utterances
}

// repository is the folder of the small trained model and a recording of what it knows.
const repository = "../../testdata/parakeet-tiny/"

// loadTiny is the small trained model, with windows of a minute.
func loadTiny(t testing.TB) *Model {
	t.Helper()
	m, err := Load(newTestDevice(t), repository+"parakeet-tiny.nemo", "tiny", Config{MaxWindowSamples: 60 * engine.SampleRate})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// loadShape is the random model of the released models' shapes.
func loadShape(t testing.TB, f *formula) *Model {
	t.Helper()
	m, err := load(newTestDevice(t), f.config(), f, nil, Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	m.minSamples = 0
	return m
}

// unpadded lets a model hear short recordings as the goldens' model did.
func (m *Model) unpadded() *Model {
	m.minSamples = 0
	return m
}

func whole(samples []float32) []engine.Span { return []engine.Span{{Start: 0, End: len(samples)}} }

// newJob is a job of one window.
func newJob(t testing.TB, m *Model, samples []float32, o engine.Options) *job {
	t.Helper()
	j, err := m.NewJob(samples, whole(samples), o)
	if err != nil {
		t.Fatal(err)
	}
	return j.(*job)
}

// runJobs runs the windows of jobs, in batches of a size that others join as places get free.
func runJobs(t testing.TB, m *Model, jobs []*job, batch int) {
	t.Helper()
	var windows []engine.Window
	for _, j := range jobs {
		windows = append(windows, j.Next(len(j.windows))...)
	}
	left := windows[min(batch, len(windows)):]
	m.Run(context.Background(), windows[:min(batch, len(windows))], func(free int) []engine.Window {
		n := min(free, batch, len(left))
		more := left[:n]
		left = left[n:]
		return more
	}, func(_ engine.Window, err error) {
		if err != nil {
			t.Error(err)
		}
	})
	if len(left) > 0 {
		t.Fatalf("%d windows were left over", len(left))
	}
}

// checkTokens holds what was heard to the golden tokens, frames and durations.
func checkTokens(t *testing.T, got []token, want *goldenUtterance) {
	t.Helper()
	var ids []int32
	var frames, durations []int
	for _, k := range got {
		ids, frames, durations = append(ids, k.id), append(frames, k.frame), append(durations, k.duration)
	}
	if !slices.Equal(ids, want.Tokens) || !slices.Equal(frames, want.Frames) || !slices.Equal(durations, want.Durations) {
		t.Errorf("%s:\ntokens    %v\nwant      %v\nframes    %v\nwant      %v\ndurations %v\nwant      %v",
			want.Name, ids, want.Tokens, frames, want.Frames, durations, want.Durations)
	}
}

// TestGreedyGolden holds what is heard in each recording, alone and in batches of
// several sizes and orders, to the goldens.
func TestGreedyGolden(t *testing.T) {
	for _, c := range []struct {
		name string
		load func(t *testing.T) *Model
	}{
		{"tiny", func(t *testing.T) *Model { return loadTiny(t).unpadded() }},
		{"shape", func(t *testing.T) *Model { return loadShape(t, newFormula(t, 2)) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := c.load(t)
			all := utterances(t, c.name)
			for _, batch := range []int{1, 2, 5, 12} {
				for order := range 2 {
					var jobs []*job
					for _, u := range all {
						jobs = append(jobs, newJob(t, m, recordingSamples(t, u.Name), engine.Options{}))
					}
					runJobs(t, m, jobs, batch)
					for i := range all {
						checkTokens(t, jobs[i].windows[0].heard, &all[i])
					}
					if slices.Reverse(all); order == 0 && batch == 1 {
						break // alone, the order is nothing
					}
				}
			}
		})
	}
}

// TestTwo needs nothing but the repository: a recording, alone and many times in a batch, is what NeMo makes of it.
func TestTwo(t *testing.T) { checkTwo(t, loadTiny(t), 20, 7) }

// checkTwo hears the repository's recording so many times, in batches.
func checkTwo(t *testing.T, m *Model, times, batch int) {
	t.Helper()
	data, err := os.ReadFile(repository + "two.json")
	if err != nil {
		t.Fatal(err)
	}
	var want goldenUtterance
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	var jobs []*job
	for range times {
		jobs = append(jobs, newJob(t, m, wavSamples(t, repository+"two.wav"), engine.Options{WordTimestamps: true}))
	}
	runJobs(t, m, jobs, batch)
	for _, j := range jobs {
		checkTokens(t, j.windows[0].heard, &want)
		r := j.Result()
		if r.Text() != want.Text || len(r.Segments) != 2 {
			t.Errorf("got %d segments: %q", len(r.Segments), r.Text())
		}
		var words []goldenSpan
		for _, s := range r.Segments {
			for _, w := range s.Words {
				words = append(words, goldenSpan{Word: w.Text[1:], Start: w.Start, End: w.End})
			}
		}
		checkSpans(t, "words", words, want.Words)
	}
}

// TestForcedGolden holds a model that never leaves a frame by itself to the golden: ten tokens each, then a step.
func TestForcedGolden(t *testing.T) {
	f := newFormula(t, 2)
	var golden struct {
		Forced struct {
			goldenUtterance
			Blank     float64 `json:"blank_bias_add"`
			Duration0 float64 `json:"duration0_bias_add"`
		}
	}
	goldenJSON(t, &golden, "shape.json")
	f.BlankBias += golden.Forced.Blank
	f.DurationBias[0] += golden.Forced.Duration0
	m := loadShape(t, f)
	j := newJob(t, m, recordingSamples(t, golden.Forced.Name), engine.Options{})
	runJobs(t, m, []*job{j}, 1)
	golden.Forced.Durations = make([]int, len(golden.Forced.Tokens))
	checkTokens(t, j.windows[0].heard, &golden.Forced.goldenUtterance)
}

// TestResultGolden holds text, words, segments and confidences to the goldens.
func TestResultGolden(t *testing.T) {
	m := loadTiny(t).unpadded()
	for _, u := range utterances(t, "tiny") {
		t.Run(u.Name, func(t *testing.T) {
			j := newJob(t, m, recordingSamples(t, u.Name), engine.Options{WordTimestamps: true})
			runJobs(t, m, []*job{j}, 1)
			heard := j.windows[0].heard
			tokens := placeTokens(heard, 0, m.config.FrameSeconds())
			refineTimes(m.pieces, tokens)
			words := splitWords(m.pieces, tokens)
			checkSpans(t, "words", wordSpans(words), u.Words)
			var segments []goldenSpan
			for _, s := range splitSegments(words) {
				segments = append(segments, goldenSpan{Segment: segmentResult(m.pieces, s, math.Inf(1), &engine.Options{}).Text[1:], Start: s[0].start, End: s[len(s)-1].end})
			}
			checkSpans(t, "segments", segments, u.Segments)

			n := float64(m.dec.steps.blank) + 1
			for i, k := range heard {
				// NeMo's max_prob goes from 0, for equal ones, to 1.
				if p := (math.Exp(float64(k.logProb))*n - 1) / (n - 1); math.Abs(p-u.MaxProb.Token[i]) > 1e-3 {
					t.Errorf("token %d: maximum %.5f, want %.5f", i, p, u.MaxProb.Token[i])
				}
				if c := float64(k.confidence); math.Abs(c-u.Entropy.Token[i]) > 1e-3 {
					t.Errorf("token %d: confidence %.5f, want %.5f", i, c, u.Entropy.Token[i])
				}
			}
			r := j.Result()
			if r.Text() != u.Text {
				t.Errorf("text:\ngot  %q\nwant %q", r.Text(), u.Text)
			}
			if r.Language != "en" {
				t.Errorf("language %q", r.Language)
			}
			at := 0
			for _, s := range r.Segments {
				for _, w := range s.Words {
					if math.Abs(w.Confidence-u.Entropy.Word[at]) > 1e-3 {
						t.Errorf("word %q: confidence %.5f, want %.5f", w.Text, w.Confidence, u.Entropy.Word[at])
					}
					at++
				}
			}
			if at != len(u.Entropy.Word) {
				t.Errorf("%d words, want %d", at, len(u.Entropy.Word))
			}
		})
	}
}

func wordSpans(words []spokenWord) (spans []goldenSpan) {
	for _, w := range words {
		spans = append(spans, goldenSpan{Word: w.text, Start: w.start, End: w.end})
	}
	return spans
}

func checkSpans(t *testing.T, what string, got, want []goldenSpan) {
	t.Helper()
	same := func(a, b goldenSpan) bool {
		return a.Word == b.Word && a.Segment == b.Segment && math.Abs(a.Start-b.Start) < 1e-9 && math.Abs(a.End-b.End) < 1e-9
	}
	if !slices.EqualFunc(got, want, same) {
		t.Errorf("%s:\ngot  %+v\nwant %+v", what, got, want)
	}
}

// TestShortRecordingsArePadded holds a recording of less than a second to what NeMo's
// transcribe() hears, its times moved back.
func TestShortRecordingsArePadded(t *testing.T) {
	m := loadTiny(t)
	checked := 0
	for _, u := range utterances(t, "tiny") {
		if u.PaddedTo1s == nil {
			continue
		}
		samples := recordingSamples(t, u.Name)
		j := newJob(t, m, samples, engine.Options{WordTimestamps: true})
		runJobs(t, m, []*job{j}, 1)
		before := float64((engine.SampleRate-len(samples))/2) / engine.SampleRate
		var want []goldenSpan
		for _, w := range u.PaddedTo1s.Words {
			want = append(want, goldenSpan{Word: w.Word, Start: w.Start - before, End: w.End - before})
		}
		var got []goldenSpan
		for _, w := range j.Result().Segments[0].Words {
			got = append(got, goldenSpan{Word: w.Text[1:], Start: w.Start, End: w.End})
		}
		checkSpans(t, u.Name, got, want)
		checked++
	}
	if checked == 0 {
		t.Error("no recording is that short")
	}
}

// hear is what a model hears in a recording, alone.
func hear(t testing.TB, m *Model, samples []float32, o engine.Options) *engine.Result {
	t.Helper()
	j := newJob(t, m, samples, o)
	runJobs(t, m, []*job{j}, 1)
	return j.Result()
}

// TestKeywords: a keyword that was nearly heard is written, whatever its case in the request; and nothing else changes.
func TestKeywords(t *testing.T) {
	m := loadTiny(t)
	nearly := recordingSamples(t, "12_fast")
	if got, want := hear(t, m, nearly, engine.Options{BeamSize: keywordBeam}).Text(), "Plea in the bedroom at one."; got != want {
		t.Fatalf("without keywords: got %q, want %q", got, want)
	}
	for _, word := range []string{"Play", "play", " PLAY"} {
		keywords := []string{"Robert", word, "kitchen"}
		if got, want := hear(t, m, nearly, engine.Options{Keywords: keywords}).Text(), "Play in the bedroom at one."; got != want {
			t.Errorf("with %q: got %q, want %q", keywords, got, want)
		}
	}
	for _, u := range utterances(t, "tiny") {
		if u.Name == "10_noise" || u.Name == "12_fast" || u.Name == "09_long" {
			continue // where the model isn't sure of anything, a beam may find something else
		}
		if got := hear(t, m, recordingSamples(t, u.Name), engine.Options{Keywords: []string{"Play", "yellow", "weather"}}).Text(); got != u.Text {
			t.Errorf("%s: got %q, want %q", u.Name, got, u.Text)
		}
	}
}

// TestBeamsInBatches holds windows with beams beside greedy ones to what each is alone.
func TestBeamsInBatches(t *testing.T) {
	m := loadTiny(t)
	var jobs []*job
	var alone []string
	for i, u := range utterances(t, "tiny") {
		samples, o := recordingSamples(t, u.Name), engine.Options{BeamSize: []int{1, 8, 2, 0}[i%4], WordTimestamps: true}
		if i%3 == 0 {
			o.Keywords = []string{"Peter", "radio"}
		}
		alone = append(alone, toJSON(t, hear(t, m, samples, o)))
		jobs = append(jobs, newJob(t, m, samples, o))
	}
	runJobs(t, m, jobs, 7)
	for i, j := range jobs {
		if got := toJSON(t, j.Result()); got != alone[i] {
			t.Errorf("recording %d:\nin a batch %s\nalone      %s", i, got, alone[i])
		}
	}
}

func toJSON(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
