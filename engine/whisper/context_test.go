package whisper

import (
	"context"
	"strings"
	"testing"

	"hark/engine"
)

func TestContextOf(t *testing.T) {
	m := *tinyModel(t)
	for _, c := range []struct {
		short, sequential bool
		content, seek     int
		want              int
	}{
		{false, false, 500, 0, framesPerWindow},
		{true, true, 500, 0, framesPerWindow},
		{true, false, 1, 0, 416},
		{true, false, 500, 0, 928},
		{true, false, 2601, 0, framesPerWindow},
		{true, false, 3000, 0, framesPerWindow},
		{true, false, 3000, 2500, 928},
	} {
		m.shortContext = c.short
		own := &chain{job: &job{options: engine.Options{Sequential: c.sequential}}, content: c.content, seek: c.seek}
		if got := m.contextOf(own); got != c.want {
			t.Errorf("%+v: %d frames", c, got)
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

// TestDoubtIsHeardAgain relies on the random model's text, which is never sound: every window must come to what the whole context says.
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

// TestShortContext holds short contexts to the reference's words, and to themselves in a batch.
func TestShortContext(t *testing.T) {
	for _, name := range []string{"tiny.en", "base"} {
		t.Run(name, func(t *testing.T) {
			m := *model(t, name)
			o := engine.Options{Language: "en", WordTimestamps: true}
			samples := clip(t, "jfk")
			want := transcribe(t, &m, samples, whole(samples), o)
			m.shortContext = true
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
