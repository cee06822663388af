package parakeet

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"hark/engine"
)

// runSpans runs a job to its end, batch by batch.
func runSpans(t testing.TB, m *Model, samples []float32, spans []engine.Span, o engine.Options) *engine.Result {
	t.Helper()
	j, err := m.NewJob(samples, spans, o)
	if err != nil {
		t.Fatal(err)
	}
	for {
		batch := j.Next(m.info.MaxBatch)
		if len(batch) == 0 {
			break
		}
		runBatch(t, m, batch)
	}
	if done, total := j.Progress(); done != total {
		t.Errorf("%d of %d samples are done", done, total)
	}
	return j.Result()
}

// speech repeats the recordings of sentences up to a length, half a second apart, and cuts at the
// pauses. It returns what each span says, too.
func speech(t testing.TB, length int) (samples []float32, spans []engine.Span, texts []string) {
	t.Helper()
	all := slices.DeleteFunc(utterances(t, "tiny"), func(u goldenUtterance) bool { return u.Name == "09_long" || u.Name == "10_noise" })
	var sounds [][]float32
	for _, u := range all {
		sounds = append(sounds, recordingSamples(t, u.Name))
	}
	const pause = engine.SampleRate / 2
	samples = make([]float32, 0, length)
	for i := 0; len(samples) < length; i++ {
		sound := sounds[i%len(sounds)]
		start := len(samples)
		samples = append(samples, sound[:min(len(sound), length-start)]...)
		spans = append(spans, engine.Span{Start: start, End: len(samples)})
		samples = append(samples, make([]float32, min(pause, length-len(samples)))...)
		texts = append(texts, all[i%len(all)].Text)
	}
	return samples, spans, texts
}

// TestRecordings: of recordings around known failures of others, and of an hour, nothing is lost or doubled, and what
// they need beside the sound itself doesn't grow from six minutes on.
func TestRecordings(t *testing.T) {
	m := loadTiny(t).unpadded()
	lengths := []int{1, 399, 401, 3600}
	if testing.Short() {
		lengths = lengths[:3]
	}
	var least uint64
	for _, length := range lengths {
		samples, spans, texts := speech(t, length*engine.SampleRate)
		j, err := m.NewJob(samples, spans, engine.Options{WordTimestamps: true})
		if err != nil {
			t.Fatal(err)
		}
		var most uint64
		for batch := j.Next(m.info.MaxBatch); len(batch) > 0; batch = j.Next(m.info.MaxBatch) {
			runBatch(t, m, batch)
			var s runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&s)
			most = max(most, s.HeapAlloc-uint64(4*cap(samples)))
		}
		r := j.Result()
		last := len(texts) - 1 // it's cut short
		want, got := strings.Join(texts[:last], " "), r.Text()
		if !strings.HasPrefix(got, want) {
			t.Errorf("%d s: the text is not that of the recordings", length)
		}
		checkTimes(t, r, float64(length))
		if length == 399 {
			least = most
		}
		// Tokens of an hour take some megabytes.
		if least > 0 && most > least+16<<20 {
			t.Errorf("%d s need %d MB beside the sound, 399 s %d MB", length, most>>20, least>>20)
		}
	}
}

// checkTimes holds times to the audio and to each other.
func checkTimes(t *testing.T, r *engine.Result, duration float64) {
	t.Helper()
	before := 0.0
	for i, s := range r.Segments {
		if s.Start > s.End || s.End > duration || s.Start < before-1e-9 || !finite(s.AvgLogProb, s.CompressionRatio) || s.NoSpeechProb != 0 || s.Temperature != 0 {
			t.Errorf("segment %d: %+v", i, s)
		}
		before = s.Start
		for k, w := range s.Words {
			if w.Start < before-1e-9 || w.End < w.Start || w.End > s.End+1e-9 || !(w.Probability > 0 && w.Probability <= 1) || !(w.Confidence >= 0 && w.Confidence <= 1) {
				t.Errorf("segment %d word %d: %+v", i, k, w)
			}
			before = w.Start
		}
	}
}

func finite(values ...float64) bool {
	return !slices.ContainsFunc(values, func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) })
}

// TestOverlapIsSaidOnce cuts a recording at many places in the middle of speech, with an overlap of 2 s.
func TestOverlapIsSaidOnce(t *testing.T) {
	m := loadTiny(t)
	samples := recordingSamples(t, "08_three")
	want := hear(t, m, samples, engine.Options{}).Text()
	const overlap = 2 * engine.SampleRate
	for at := engine.SampleRate; at < len(samples)-overlap-engine.SampleRate/2; at += engine.SampleRate / 2 {
		spans := []engine.Span{{End: at + overlap}, {Start: at, End: len(samples), Overlap: overlap}}
		for _, sequential := range []bool{false, true} {
			r := runSpans(t, m, samples, spans, engine.Options{WordTimestamps: true, Sequential: sequential})
			if got := r.Text(); got != want {
				t.Errorf("shared from %.1f s on, sequential %t:\ngot  %q\nwant %q", seconds(at), sequential, got, want)
			}
			checkTimes(t, r, seconds(len(samples)))
		}
	}
}

// TestSequential: windows come one at a time, each knows the text before, and a long recording comes out whole.
func TestSequential(t *testing.T) {
	m := loadTiny(t).unpadded()
	samples, spans, texts := speech(t, 30*engine.SampleRate)
	planned, err := m.NewJob(samples, spans, engine.Options{Sequential: true})
	if err != nil {
		t.Fatal(err)
	}
	j := planned.(*job)
	for i := range spans {
		batch := j.Next(m.info.MaxBatch)
		if len(batch) != 1 || len(j.Next(m.info.MaxBatch)) != 0 {
			t.Fatalf("window %d: %d at once, or the next one before it has ended", i, len(batch))
		}
		context := j.windows[i].context()
		if n := len(context); (n > 0) != (i > 0) || n > contextTokens {
			t.Errorf("window %d: %d tokens before it", i, n)
		}
		if i > 0 {
			before := j.windows[i-1].heard
			if context[len(context)-1] != before[len(before)-1].id {
				t.Errorf("window %d: the text before ends with %d, want %d", i, context[len(context)-1], before[len(before)-1].id)
			}
		}
		runBatch(t, m, batch)
	}
	if len(j.Next(1)) != 0 {
		t.Error("a window after the last")
	}
	got := strings.Fields(j.Result().Text())
	want := strings.Fields(strings.Join(texts, " "))
	if n := len(got) - len(want); n < -5 || n > 5 { // the last recording is cut short; the text before may change a word
		t.Errorf("%d words, want about %d:\n%s", len(got), len(want), got)
	}

	unconditioned := runSpans(t, m, samples, spans, engine.Options{Sequential: true, Unconditioned: true})
	if got, want := toJSON(t, unconditioned), toJSON(t, runSpans(t, m, samples, spans, engine.Options{})); got != want {
		t.Errorf("without the text before:\ngot  %s\nwant %s", got, want)
	}
}

func runBatch(t testing.TB, m *Model, batch []engine.Window) {
	t.Helper()
	m.Run(context.Background(), batch, nil, func(_ engine.Window, err error) {
		if err != nil {
			t.Error(err)
		}
	})
}

func TestOptions(t *testing.T) {
	m := loadTiny(t)
	samples := noise(engine.SampleRate, 1)
	for _, c := range []struct {
		name   string
		o      engine.Options
		option string // that is refused
	}{
		{"none", engine.Options{}, ""},
		{"its own language", engine.Options{Language: "en"}, ""},
		{"another language", engine.Options{Language: "de"}, "language"},
		{"translate", engine.Options{Task: engine.Translate}, "task"},
		{"prompt", engine.Options{Prompt: "Hello."}, "prompt"},
		{"empty prompt", engine.Options{Prompt: " "}, ""},
		{"temperatures", engine.Options{Temperatures: []float32{0, 0.5}}, ""},
		{"widest beam", engine.Options{BeamSize: maxBeam}, ""},
		{"too wide", engine.Options{BeamSize: maxBeam + 1}, "beam_size"},
		{"too narrow", engine.Options{BeamSize: -1}, "beam_size"},
		{"keywords", engine.Options{Keywords: make([]string, maxKeywords)}, ""},
		{"too many keywords", engine.Options{Keywords: make([]string, maxKeywords+1)}, "keywords"},
		{"long keyword", engine.Options{Keywords: []string{strings.Repeat("x", maxKeywordBytes+1)}}, "keywords"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := m.NewJob(samples, whole(samples), c.o)
			var refused *engine.OptionError
			if errors.As(err, &refused) != (c.option != "") || refused != nil && refused.Option != c.option || refused == nil && err != nil {
				t.Errorf("got %v, want one about %q", err, c.option)
			}
		})
	}
}

func TestSpansOutsideAreRefused(t *testing.T) {
	m := loadTiny(t)
	samples := make([]float32, 61*engine.SampleRate)
	for _, s := range [][2]int{{-1, 10}, {len(samples) - 10, len(samples) + 1}, {10, 10}, {20, 10}, {0, len(samples)}} {
		if _, err := m.NewJob(samples, []engine.Span{{Start: s[0], End: s[1]}}, engine.Options{}); err == nil {
			t.Errorf("%+v is taken", s)
		}
	}
}

func TestNothingToHear(t *testing.T) {
	m := loadTiny(t)
	if r := runSpans(t, m, nil, nil, engine.Options{}); len(r.Segments) != 0 || r.Language != "en" {
		t.Errorf("no spans: got %+v", r)
	}
	for _, samples := range [][]float32{make([]float32, 1), make([]float32, 159), make([]float32, 160), noise(160, 2), make([]float32, 10*engine.SampleRate), noise(30*engine.SampleRate, 3)} {
		for _, o := range []engine.Options{{}, {BeamSize: 3, Keywords: []string{"Maria"}}} {
			for _, padded := range []int{0, minSamples} {
				m.minSamples = padded
				checkTimes(t, runSpans(t, m, samples, whole(samples), o), seconds(len(samples)))
			}
		}
	}
}

// TestUnequalBatch holds 10 ms beside half a minute to each alone.
func TestUnequalBatch(t *testing.T) {
	m := loadTiny(t)
	long := recordingSamples(t, "09_long")
	var jobs []*job
	var alone []string
	for _, samples := range [][]float32{long[:160], long, long[16000:16160], long[20000:50000], long[:100]} {
		o := engine.Options{WordTimestamps: true}
		alone = append(alone, toJSON(t, hear(t, m, samples, o)))
		jobs = append(jobs, newJob(t, m, samples, o))
	}
	runJobs(t, m, jobs, 12)
	for i, j := range jobs {
		if got := toJSON(t, j.Result()); got != alone[i] {
			t.Errorf("job %d:\ngot  %s\nwant %s", i, got, alone[i])
		}
	}
}

func TestLanguageIsReportedHonestly(t *testing.T) {
	m := loadTiny(t)
	m.info.Languages = europeanLanguages // as a multilingual one's
	samples := recordingSamples(t, "01_word")
	for _, language := range []string{"", "de"} {
		if r := runSpans(t, m, samples, whole(samples), engine.Options{Language: language}); r.Language != language {
			t.Errorf("asked for %q: got %q", language, r.Language)
		}
	}
	for _, code := range europeanLanguages {
		if got, ok := engine.ParseLanguage(code); !ok || got != code {
			t.Errorf("%q is no language of engine's", code)
		}
	}
}

func TestInfo(t *testing.T) {
	m := loadTiny(t)
	i := m.Info()
	if i.Name != "tiny" || i.Family != "parakeet" || !slices.Equal(i.Languages, []string{"en"}) || i.Translates || i.Prompts || !i.WordTimes ||
		i.MaxWindowSamples != 60*engine.SampleRate || i.MaxBatch != 12 || i.BudgetMillis != 720_000 || i.Device != "cpu" {
		t.Errorf("got %+v", i)
	}
	if parameters := int64(1_192_070); i.WeightBytes < 4*parameters || i.WeightBytes > 4*parameters*11/10 {
		t.Errorf("weights take %d bytes", i.WeightBytes)
	}
}

func TestConfigIsChecked(t *testing.T) {
	path := shared(t, "models", "parakeet-tiny", "hf")
	for _, c := range []Config{{MaxWindowSamples: MinWindowSamples - 1}, {MaxWindowSamples: MaxWindowSamples + 1}, {MaxBatch: -1}} {
		if _, err := Load(newTestDevice(t), path, "tiny", c); err == nil {
			t.Errorf("%+v is taken", c)
		}
	}
	m, err := Load(newTestDevice(t), path, "tiny", Config{MaxWindowSamples: MaxWindowSamples, MaxBatch: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	samples := recordingSamples(t, "09_long")
	if got, want := hear(t, m, samples, engine.Options{}).Text(), utterances(t, "tiny")[8].Text; got != want {
		t.Errorf("from the other form, in one window:\ngot  %q\nwant %q", got, want)
	}
}

func TestMissingModel(t *testing.T) {
	if _, err := Load(newTestDevice(t), t.TempDir(), "none", Config{}); err == nil || !strings.HasPrefix(err.Error(), "model none: ") {
		t.Errorf("got %v", err)
	}
}

// TestMemoryIsGivenBack: whether a model fits on its device or not, nothing stays there when it's closed.
func TestMemoryIsGivenBack(t *testing.T) {
	dev := &countingDevice{Device: newTestDevice(t), bound: 1 << 30}
	m, err := Load(dev, repository+"parakeet-tiny.nemo", "tiny", Config{})
	if err != nil {
		t.Fatal(err)
	}
	needed := dev.elements
	samples := noise(5*engine.SampleRate, 1)
	runSpans(t, m, samples, whole(samples), engine.Options{})
	if err := m.Close(); err != nil || dev.elements != 0 {
		t.Errorf("%d elements are left, %v", dev.elements, err)
	}
	for _, dev.bound = range []int{0, needed / 2, needed - 1} {
		if _, err := Load(dev, repository+"parakeet-tiny.nemo", "tiny", Config{}); !errors.Is(err, errFull) {
			t.Errorf("room for %d elements: got %v", dev.bound, err)
		}
		if dev.elements != 0 {
			t.Errorf("room for %d elements: %d are left", dev.bound, dev.elements)
		}
	}
}
