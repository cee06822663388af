package whisper

import (
	"context"
	"encoding/binary"
	"os"
	"slices"
	"strings"
	"testing"

	"hark/engine"
)

func TestContextOf(t *testing.T) {
	m := *tinyModel(t)
	speech := m.speech
	for _, c := range []struct {
		short, speech, sequential bool
		content, seek             int
		want                      int
	}{
		{false, true, false, 500, 0, framesPerWindow},
		{true, false, false, 500, 0, framesPerWindow},
		{true, true, true, 500, 0, framesPerWindow},
		{true, true, false, 1, 0, 128},
		{true, true, false, 500, 0, 608},
		{true, true, false, 2748, 0, 2848},
		{true, true, false, 2749, 0, framesPerWindow},
		{true, true, false, 3000, 0, framesPerWindow},
		{true, true, false, 3000, 2500, 608},
	} {
		m.shortContext, m.speech = c.short, nil
		if c.speech {
			m.speech = speech
		}
		own := &chain{job: &job{options: engine.Options{Sequential: c.sequential}}, content: c.content, seek: c.seek}
		if got := m.contextOf(own); got != c.want {
			t.Errorf("%+v: %d frames", c, got)
		}
	}
}

// TestWindowAtTheEdge has chains at the end of their sound shown to the encoder: as much of it as
// there is, and then what each view has there.
func TestWindowAtTheEdge(t *testing.T) {
	m := *tinyModel(t)
	mels := m.config.Mels
	for _, c := range []struct {
		content, seek int
		short         bool
	}{
		{1, 0, true}, {2748, 0, true}, {3000, 2999, true}, {3000, 252, true}, {9001, 9000, true},
		{2749, 0, true}, {3000, 0, true}, {1, 0, false}, {9001, 9000, false},
	} {
		m.shortContext = c.short
		own := &chain{job: &job{model: &m}, samples: noise(c.content*hopSamples, 1), seek: c.seek}
		own.prepare()
		silence := own.mel[len(own.mel)-1]
		frames, size := m.contextOf(own), own.size()
		got := make([]float32, frames*mels)
		got[len(got)-1] = 7 // what an earlier window left there
		own.window(got)
		if sound := own.mel[c.seek*mels : c.content*mels]; !slices.Equal(got[:size*mels], sound[:size*mels]) {
			t.Errorf("%+v: the sound isn't what is shown first", c)
		}
		want := float32(0)
		if frames < framesPerWindow {
			want = silence
		}
		if frames > size && got[len(got)-1] != want {
			t.Errorf("%+v: %g after the sound, want %g", c, got[len(got)-1], want)
		}
	}
}

func TestEndsTwice(t *testing.T) {
	for _, c := range []struct {
		text string
		want bool
	}{
		{"", false},
		{"one two three four five six", false},
		{"And all are fast asleep. All are fast asleep.", true},
		{"bye bye", false}, // two words may well be said twice
		{"good bye, good bye", false},
		{"one two three one two three four", false},
		{"Who is it? Who IS it - ", true},
	} {
		if got := endsTwice(c.text); got != c.want {
			t.Errorf("%q: %t", c.text, got)
		}
	}
}

// TestNeedsContext: sound texts that account for the sound stay, others are heard again.
func TestNeedsContext(t *testing.T) {
	const text = " Try again."
	for _, c := range []struct {
		name    string
		out     outcome
		tokens  int
		seconds float64
		want    bool
	}{
		{"a short clip", outcome{avgLogProb: -0.3}, 3, 1.5, false},
		{"slow speech", outcome{avgLogProb: -0.3}, 30, 19, false},
		{"two words of 17 s", outcome{avgLogProb: -0.3}, 3, 17, true},
		{"a guess", outcome{avgLogProb: -1.2}, 3, 1.5, true},
		{"silence", outcome{avgLogProb: -1.2, noSpeech: 0.9}, 3, 1.5, true},
	} {
		if got := c.out.needsContext(text, c.tokens, c.seconds); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}

// TestPiecesOfSpeech hears pieces cut out of a recording without regard to words. tiny.en gave the first words alone.
func TestPiecesOfSpeech(t *testing.T) {
	m := model(t, "tiny.en")
	short := *m
	short.shortContext = true
	samples := clip(t, "long-5min")
	for _, c := range []struct {
		from  int // seconds
		words string
	}{{180, "butter"}, {216, "hold fast"}} {
		piece := samples[c.from*engine.SampleRate : (c.from+17)*engine.SampleRate]
		got := transcribe(t, &short, piece, whole(piece), engine.Options{Language: "en"}).Text()
		if !strings.Contains(strings.ToLower(got), c.words) {
			t.Errorf("%d s: %q lacks %q", c.from, got, c.words)
		}
	}
}

// TestDoubtIsHeardAgain relies on the random model's text, which is never sound: every window
// must come to what the whole context says.
func TestDoubtIsHeardAgain(t *testing.T) {
	m := tinyModel(t)
	short := *m
	short.shortContext = true
	for _, seconds := range []int{1, 7, 25} {
		samples := noise(16000*seconds, uint64(seconds))
		for _, o := range []engine.Options{{Temperatures: []float32{0}, WordTimestamps: true}, {BeamSize: 3, Temperatures: []float32{0}}} {
			want, got := transcribe(t, m, samples, whole(samples), o), transcribe(t, &short, samples, whole(samples), o)
			if toJSON(t, got) != toJSON(t, want) {
				t.Errorf("%d s: got %.300s\nwant %.300s", seconds, toJSON(t, got), toJSON(t, want))
			}
		}
	}
}

// TestLanguageOfDoubt: with a doubtful text in a short context goes the language that was detected there, but none that
// was given, nor what an earlier pass was heard in.
func TestLanguageOfDoubt(t *testing.T) {
	m := tinyModel(t)
	for _, c := range []struct {
		given  string
		passes int
		want   string
	}{{"", 0, ""}, {"", 1, "de"}, {"de", 0, "de"}} {
		own := &chain{job: &job{model: m, options: engine.Options{Language: c.given}}, language: "de", passes: c.passes}
		doubtful := &search{finished: []hypothesis{{sum: -9}}}
		p := &place{chain: own, frames: 320, encoded: true, search: doubtful}
		if err := (&session{m: m}).settle(p); err != nil {
			t.Fatal(err)
		}
		if p.encoded || p.frames != framesPerWindow || own.language != c.want {
			t.Errorf("%+v: heard again in %d frames as %q", c, p.frames, own.language)
		}
	}
}

// TestDraft has a random model, which is never sure, hear speech in a short context only, as a draft.
func TestDraft(t *testing.T) {
	m := tinyModel(t)
	samples := noise(16000, 1)
	c := &chain{job: &job{options: engine.Options{Draft: true}}, content: 100}
	if got := m.contextOf(c); got >= framesPerWindow {
		t.Errorf("a draft's context is %d frames", got)
	}
	want := transcribe(t, m, samples, whole(samples), engine.Options{Temperatures: []float32{0}})
	got := transcribe(t, m, samples, whole(samples), engine.Options{Temperatures: []float32{0}, Draft: true})
	if toJSON(t, got) == toJSON(t, want) {
		t.Error("a draft was heard again in the whole context")
	}
}

// TestRest learns the rest of windows twice, from other windows' remains, and from
// other speech, which makes a difference.
func TestRest(t *testing.T) {
	m := *tinyModel(t)
	learn := func(speech []float32) (rest []float32) {
		m.speech, m.knowsRest = speech, false
		if err := m.learnRest(); err != nil {
			t.Fatal(err)
		}
		for _, r := range append(slices.Clone(m.enc.rest), m.dec.rest...) {
			rest = append(rest, download(t, &m, r)...)
		}
		return rest
	}
	first := learn(noise(8*engine.SampleRate, 1))
	playTo(&m, noise(30*engine.SampleRate, 2))
	m.enc.run([]int{framesPerWindow}, wholeView, nil)
	if again := learn(noise(8*engine.SampleRate, 1)); !slices.Equal(again, first) {
		t.Error("the rest depends on what was heard before")
	}
	if other := learn(noise(3*engine.SampleRate, 3)); slices.Equal(other, first) {
		t.Error("the rest doesn't depend on the speech")
	}
	knows := learn(noise(engine.SampleRate, 4))
	m.speech = noise(engine.SampleRate, 5)
	if err := m.learnRest(); err != nil {
		t.Fatal(err)
	}
	if again := download(t, &m, m.enc.rest[0]); !slices.Equal(again, knows[:len(again)]) {
		t.Error("the rest was learned twice")
	}
}

// TestViewsInABatch has whole and short views take turns in a batch: each window must come to what it does alone. Short
// ones are encoded together, as many as are as long as a whole one.
func TestViewsInABatch(t *testing.T) {
	m := *tinyModel(t)
	m.shortContext = true
	o := engine.Options{Temperatures: []float32{0}, Draft: true}
	var jobs []engine.Job
	var alone []string
	var batch []engine.Window
	for i, seconds := range []int{3, 30, 30, 2, 9, 1, 20, 30} {
		samples := noise(seconds*engine.SampleRate, uint64(i))
		alone = append(alone, toJSON(t, transcribe(t, &m, samples, whole(samples), o)))
		j, err := m.NewJob(samples, whole(samples), o)
		if err != nil {
			t.Fatal(err)
		}
		jobs, batch = append(jobs, j), append(batch, j.Next(1)...)
	}
	enc := *m.enc
	groups := &groupsSeen{Device: enc.dev, conv: enc.conv1}
	enc.dev, m.enc = groups, &enc
	for i, err := range runAll(context.Background(), &m, batch) {
		if err != nil {
			t.Fatal(i, err)
		}
	}
	if want := []int{1, 1, 1, 4, 1}; len(groups.sizes) < len(want) || !slices.Equal(groups.sizes[:len(want)], want) {
		t.Errorf("groups of %v windows, want %v and later passes", groups.sizes, want)
	}
	for i, j := range jobs {
		if got := toJSON(t, j.Result()); got != alone[i] {
			t.Errorf("window %d in a batch %.300s\nalone %.300s", i, got, alone[i])
		}
	}
}

// groupsSeen notes how many windows an encoder's first convolution has at once.
type groupsSeen struct {
	engine.Device
	conv  engine.Conv
	sizes []int
}

func (d *groupsSeen) Conv(dst, x engine.Tensor, lens []int, c engine.Conv, act engine.Activation) {
	if c == d.conv {
		d.sizes = append(d.sizes, len(lens))
	}
	d.Device.Conv(dst, x, lens, c, act)
}

// sampleSpeech is the repository's sample.
func sampleSpeech(t *testing.T) []float32 {
	t.Helper()
	wav, err := os.ReadFile("../../testdata/sample.wav")
	if err != nil {
		t.Fatal(err)
	}
	var sound []float32
	for data := wav[44:]; len(data) > 1; data = data[2:] {
		sound = append(sound, float32(int16(binary.LittleEndian.Uint16(data)))/32768)
	}
	return sound
}

// TestShortContext holds short contexts to the reference's words, and to themselves in a batch.
func TestShortContext(t *testing.T) {
	for _, name := range []string{"tiny.en", "base"} {
		t.Run(name, func(t *testing.T) {
			m := *model(t, name)
			o := engine.Options{Language: "en", WordTimestamps: true}
			samples := clip(t, "jfk")
			want := transcribe(t, &m, samples, whole(samples), o)
			m.shortContext, m.speech = true, sampleSpeech(t)
			got := transcribe(t, &m, samples, whole(samples), o)
			heard, reference := plainWords(got), plainWords(want)
			if len(heard) != len(reference) {
				t.Fatalf("got %q, want %q", got.Text(), want.Text())
			}
			for i, w := range heard {
				if d := w.Start - reference[i].Start; w.Text != reference[i].Text || d < -0.25 || d > 0.25 {
					t.Errorf("%s at %.2f s, in the whole context %s at %.2f s", w.Text, w.Start, reference[i].Text, reference[i].Start)
				}
			}

			var jobs []engine.Job
			var alone []string
			var batch []engine.Window
			for _, n := range []int{2, 5, 8, 11} {
				part := samples[:n*engine.SampleRate]
				alone = append(alone, toJSON(t, transcribe(t, &m, part, whole(part), o)))
				j, err := m.NewJob(part, whole(part), o)
				if err != nil {
					t.Fatal(err)
				}
				jobs, batch = append(jobs, j), append(batch, j.Next(1)...)
			}
			for i, err := range runAll(context.Background(), &m, batch) {
				if err != nil {
					t.Fatal(i, err)
				}
			}
			for i, j := range jobs {
				if got := toJSON(t, j.Result()); got != alone[i] {
					t.Errorf("in a batch %.300s\nalone      %.300s", got, alone[i])
				}
			}
		})
	}
}

// plainWords are the words of a result in small letters, without their marks.
func plainWords(r *engine.Result) []engine.Word {
	var words []engine.Word
	for _, s := range r.Segments {
		for _, w := range s.Words {
			w.Text = strings.ToLower(strings.Trim(w.Text, " .,"))
			words = append(words, w)
		}
	}
	return words
}
