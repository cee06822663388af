package whisper

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"hark/engine"
)

// goldenTranscript is one option set's result in transcribe/MODEL/CLIP.json.
type goldenTranscript struct {
	Options struct {
		Condition bool `json:"condition_on_previous_text"`
		Words     bool `json:"word_timestamps"`
		Task      string
		Language  *string
		Beam      int `json:"beam_size"`
	}
	Language string
	Text     string
	Segments []struct {
		Seek       int
		Start, End float64
		Text       string
		Tokens     []int32
		AvgLogProb float64 `json:"avg_logprob"`
		NoSpeech   float64 `json:"no_speech_prob"`
		Ratio      float64 `json:"compression_ratio"`
		Words      [][]any
	}
}

// exact are the clips whose samples are exactly the reference's: 16 kHz, mono.
func exact(t testing.TB, id string) bool {
	c, ok := clips(t)[id]
	return id == "silence30" || ok && (c.Root == "golden" || c.SampleRate == 16000) && !strings.HasSuffix(c.File, ".ogg") && !strings.HasSuffix(c.File, ".mp3")
}

// transcribe runs one job to its end, batch by batch.
func transcribe(t testing.TB, m *Model, samples []float32, spans []engine.Span, o engine.Options) *engine.Result {
	t.Helper()
	j, err := m.NewJob(samples, spans, o)
	if err != nil {
		t.Fatal(err)
	}
	for {
		batch := j.Next(m.info.MaxBatch)
		if len(batch) == 0 {
			return j.Result()
		}
		for _, err := range runAll(context.Background(), m, batch) {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

func whole(samples []float32) []engine.Span { return []engine.Span{{Start: 0, End: len(samples)}} }

// TestTranscribeLikeReference holds every exact clip of one window to the reference's transcribe(): the same
// tokens and segments, and the same words at the same times.
func TestTranscribeLikeReference(t *testing.T) {
	for _, name := range []string{"tiny.en", "base"} {
		m := model(t, name)
		files, err := filepath.Glob(filepath.Join(golden(t, "transcribe", name), "*.json"))
		if err != nil || len(files) == 0 {
			t.Fatal("no goldens", err)
		}
		for _, file := range files {
			var f struct {
				Clip     string
				Duration float64
				Configs  map[string]goldenTranscript
			}
			if err := readJSON(file, &f); err != nil {
				t.Fatal(err)
			}
			if !exact(t, f.Clip) || f.Duration > 30 {
				continue
			}
			for set, want := range f.Configs {
				t.Run(fmt.Sprintf("%s/%s/%s", name, f.Clip, set), func(t *testing.T) {
					// What the reference makes of silence, a window's own rule takes off; what it leaves out of the other's
					// end when it translates, another one hears.
					sequential := f.Clip == "silence30" || f.Clip == "fleurs-zh-1883"
					compareTranscript(t, m, clip(t, f.Clip), want, sequential)
				})
			}
		}
	}
}

func compareTranscript(t *testing.T, m *Model, samples []float32, want goldenTranscript, sequential bool) {
	o := engine.Options{
		Sequential:     sequential,
		WordTimestamps: want.Options.Words, BeamSize: want.Options.Beam,
		Temperatures: []float32{0}, Unconditioned: !want.Options.Condition,
	}
	if want.Options.Language != nil {
		o.Language = *want.Options.Language
	}
	if want.Options.Task == "translate" {
		o.Task = engine.Translate
	}
	got := transcribe(t, m, samples, whole(samples), o)
	if got.Language != want.Language {
		t.Errorf("language: got %q, want %q", got.Language, want.Language)
	}
	if got.Text() != strings.TrimSpace(want.Text) {
		t.Errorf("text:\ngot  %q\nwant %q", got.Text(), strings.TrimSpace(want.Text))
	}
	kept := want.Segments[:0]
	for _, s := range want.Segments {
		if s.Text != "" { // the reference keeps cleared segments, with their text gone
			kept = append(kept, s)
		}
	}
	if len(got.Segments) != len(kept) {
		t.Fatalf("got %d segments, want %d", len(got.Segments), len(kept))
	}
	limit := float64(len(samples)) / engine.SampleRate
	for i, w := range kept {
		g := got.Segments[i]
		if !equalIDs(g.Tokens, w.Tokens) || g.Text != w.Text {
			t.Errorf("segment %d:\ngot  %q %v\nwant %q %v", i, g.Text, g.Tokens, w.Text, w.Tokens)
		}
		if math.Abs(g.Start-w.Start) > 0.021 || math.Abs(g.End-min(w.End, limit)) > 0.021 || g.Seek != w.Seek {
			t.Errorf("segment %d: got %d %.2f-%.2f, want %d %.2f-%.2f", i, g.Seek, g.Start, g.End, w.Seek, w.Start, w.End)
		}
		if math.Abs(g.AvgLogProb-w.AvgLogProb) > logProbTolerance || math.Abs(g.NoSpeechProb-w.NoSpeech) > logProbTolerance {
			t.Errorf("segment %d: got log-probability %.4f, no speech %.4f, want %.4f, %.4f", i, g.AvgLogProb, g.NoSpeechProb, w.AvgLogProb, w.NoSpeech)
		}
		if len(g.Words) != len(w.Words) {
			t.Errorf("segment %d: got %d words, want %d", i, len(g.Words), len(w.Words))
			continue
		}
		late := 0.0 // by how much words without length, which get one, push back those after them
		for k, word := range w.Words {
			gw := g.Words[k]
			start, end, prob := word[1].(float64), word[2].(float64), word[3].(float64)
			if start == end {
				late += minWord
			}
			tolerance := 0.021 + late
			if gw.Text != word[0].(string) || math.Abs(gw.Start-start) > tolerance || math.Abs(gw.End-min(end, limit)) > tolerance || math.Abs(gw.Probability-prob) > 2e-3 {
				t.Errorf("segment %d word %d: got %q %.2f-%.2f %.3f, want %v", i, k, gw.Text, gw.Start, gw.End, gw.Probability, word)
			}
			if gw.End <= gw.Start || k > 0 && gw.Start < g.Words[k-1].End {
				t.Errorf("segment %d word %d: %.2f-%.2f takes no time or overlaps the one before", i, k, gw.Start, gw.End)
			}
		}
	}
}

// TestSequentialLikeReference does the same for recordings of a minute, decoded as one chain.
func TestSequentialLikeReference(t *testing.T) {
	for _, name := range []string{"tiny.en", "base"} {
		m := model(t, name)
		for _, id := range []string{"ted60"} {
			var f struct{ Configs map[string]goldenTranscript }
			goldenJSON(t, &f, "transcribe", name, id+".json")
			for set, want := range f.Configs {
				if strings.HasPrefix(set, "beam5") && testing.Short() {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/%s", name, id, set), func(t *testing.T) {
					samples := clip(t, id)
					j, err := m.NewJob(samples, whole(samples), engine.Options{
						WordTimestamps: want.Options.Words, BeamSize: want.Options.Beam, Language: "en",
						Temperatures: []float32{0}, Unconditioned: !want.Options.Condition, Sequential: true,
					})
					if err != nil {
						t.Fatal(err)
					}
					passes := 0
					for {
						batch := j.Next(12)
						if len(batch) == 0 {
							break
						}
						if len(batch) != 1 {
							t.Fatalf("a chain handed out %d windows at once", len(batch))
						}
						if err := runAll(context.Background(), m, batch)[0]; err != nil {
							t.Fatal(err)
						}
						passes++
					}
					if passes < 3 {
						t.Errorf("got %d passes over a minute, want at least 3", passes)
					}
					if got := j.Result().Text(); got != strings.TrimSpace(want.Text) {
						t.Errorf("text:\ngot  %q\nwant %q", got, strings.TrimSpace(want.Text))
					}
				})
			}
		}
	}
}

func TestLanguages(t *testing.T) {
	m := model(t, "base")
	var f map[string]struct {
		Detected string
		Top10    [][]any
	}
	goldenJSON(t, &f, "langid_base.json")
	for id, want := range f {
		if !exact(t, id) {
			continue
		}
		t.Run(id, func(t *testing.T) {
			listenTo(t, m, clip(t, id), 0)
			top, err := m.topLanguages(0, 0, 10)
			if err != nil {
				t.Fatal(err)
			}
			for i, w := range want.Top10 {
				if top[i].code != w[0].(string) || math.Abs(top[i].prob-w[1].(float64)) > 1e-3 {
					t.Errorf("place %d: got %s %.4f, want %v", i, top[i].code, top[i].prob, w)
				}
			}
		})
	}
}

// TestBatchChangesNothing: a clip gets the same answer alone and among eleven others, to the bit.
func TestBatchChangesNothing(t *testing.T) {
	m := model(t, "tiny.en")
	ids := []string{"jfk", "short05", "lj_02", "noise30", "silence30", "leopard-test", "ls-1089-134686-0000", "ls-1688-142285-0008",
		"ls-2033-164914-0000", "ls-3080-5032-0007", "sb-spk1_snt1", "ls-367-130732-0009"}
	var jobs []engine.Job
	var batch []engine.Window
	alone := map[string]string{}
	for i, id := range ids {
		o := engine.Options{WordTimestamps: i%2 == 0}
		if i%3 == 0 {
			o.Prompt = "A speech about nations, read aloud."
		}
		if i%4 == 1 {
			o.BeamSize = 5
		}
		samples := clip(t, id)
		alone[id] = toJSON(t, transcribe(t, m, samples, whole(samples), o))
		j, err := m.NewJob(samples, whole(samples), o)
		if err != nil {
			t.Fatal(err)
		}
		jobs, batch = append(jobs, j), append(batch, j.Next(12)...)
	}
	for i, err := range runAll(context.Background(), m, batch) {
		if err != nil {
			t.Fatal(i, err)
		}
	}
	for i, id := range ids {
		if got := toJSON(t, jobs[i].Result()); got != alone[id] {
			t.Errorf("%s:\nin a batch %s\nalone      %s", id, got, alone[id])
		}
	}
}

func TestRunEndsWithContext(t *testing.T) {
	m := model(t, "tiny.en")
	samples := clip(t, "jfk")
	j, err := m.NewJob(samples, whole(samples), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := runAll(ctx, m, j.Next(1))[0]; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	// The model is as good as new afterwards.
	if got := transcribe(t, m, samples, whole(samples), engine.Options{}).Text(); !strings.Contains(got, "fellow Americans") {
		t.Errorf("after a cancelled run: got %q", got)
	}
}

func TestShortAndSilent(t *testing.T) {
	m := model(t, "tiny.en")
	for _, n := range []int{1, 79, 160, 161, 1600, 12800, 15984} {
		samples := clip(t, "jfk")[:n]
		r := transcribe(t, m, samples, whole(samples), engine.Options{WordTimestamps: true})
		for _, s := range r.Segments {
			if s.End < s.Start || s.End > float64(n)/engine.SampleRate+0.005 {
				t.Errorf("%d samples: segment %.3f-%.3f", n, s.Start, s.End)
			}
		}
	}
	if r := transcribe(t, m, make([]float32, 1000), nil, engine.Options{}); len(r.Segments) != 0 || r.Text() != "" {
		t.Errorf("no spans: got %q", r.Text())
	}
}

func TestBadOptions(t *testing.T) {
	en := model(t, "tiny.en")
	base := model(t, "base")
	for _, c := range []struct {
		m      *Model
		o      engine.Options
		option string
	}{
		{en, engine.Options{Language: "de"}, "language"},
		{en, engine.Options{Task: engine.Translate}, "task"},
		{base, engine.Options{Language: "yue"}, "language"}, // of large-v3 alone
		{base, engine.Options{Language: "xx"}, "language"},
		{en, engine.Options{BeamSize: 9}, "beam_size"},
		{en, engine.Options{Temperatures: []float32{2}}, "temperature"},
		{en, engine.Options{Temperatures: []float32{float32(math.NaN())}}, "temperature"},
	} {
		_, err := c.m.NewJob(make([]float32, 100), nil, c.o)
		var bad *engine.OptionError
		if !errors.As(err, &bad) || bad.Option != c.option {
			t.Errorf("%+v: got %v, want an error about %s", c.o, err, c.option)
		}
	}
}

// TestOverlapIsSaidOnce cuts a recording in the middle of speech, with an overlap.
func TestOverlapIsSaidOnce(t *testing.T) {
	m := model(t, "tiny.en")
	samples := clip(t, "ted60")
	spans := []engine.Span{{Start: 0, End: 320000}, {Start: 288000, End: 608000, Overlap: 32000}, {Start: 576000, End: 896000, Overlap: 32000}, {Start: 864000, End: len(samples), Overlap: 32000}}
	cut := transcribe(t, m, samples, spans, engine.Options{Language: "en"})
	wholeText := transcribe(t, m, samples, whole(samples), engine.Options{Language: "en", Sequential: true})
	got, want := strings.Fields(cut.Text()), strings.Fields(wholeText.Text())
	if d := editDistance(got, want); d > len(want)/12 {
		t.Errorf("%d words of %d differ:\ngot  %s\nwant %s", d, len(want), cut.Text(), wholeText.Text())
	}
	last := 0.0
	for _, s := range cut.Segments {
		if s.Start < last-0.5 {
			t.Errorf("segment at %.2f starts before the end %.2f of the one before", s.Start, last)
		}
		if s.Words != nil {
			t.Error("words that nobody asked for")
		}
		last = s.End
	}
}

func editDistance(a, b []string) int {
	before := make([]int, len(b)+1)
	for j := range before {
		before[j] = j
	}
	for i := range a {
		here := make([]int, len(b)+1)
		here[0] = i + 1
		for j := range b {
			here[j+1] = min(before[j+1], here[j]) + 1
			if engine.PlainWord(a[i]) == engine.PlainWord(b[j]) {
				here[j+1] = min(here[j+1], before[j])
			} else {
				here[j+1] = min(here[j+1], before[j]+1)
			}
		}
		before = here
	}
	return before[len(b)]
}

func BenchmarkClip(b *testing.B) {
	for _, name := range []string{"tiny.en", "base"} {
		b.Run(name, func(b *testing.B) {
			m := model(b, name)
			samples := clip(b, "jfk")
			for b.Loop() {
				transcribe(b, m, samples, whole(samples), engine.Options{Temperatures: []float32{0}})
			}
			b.ReportMetric(float64(len(samples))/engine.SampleRate*float64(b.N)/b.Elapsed().Seconds(), "audio-s/s")
		})
	}
}

func BenchmarkEncoder(b *testing.B) {
	for _, name := range []string{"tiny.en", "base"} {
		b.Run(name, func(b *testing.B) {
			m := model(b, name)
			for b.Loop() {
				m.enc.run([]int{framesPerWindow}, wholeView, nil)
				if err := m.dev.Sync(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(30*float64(b.N)/b.Elapsed().Seconds(), "audio-s/s")
		})
	}
}
