package whisper

import (
	"testing"

	"hark/engine"
)

// TestWhatIsLeftIsHeard has a text of a window of 17 s end with a timestamp that stands alone, which says that nobody
// speaks after it: a window, which ends with speech, doesn't take that from a model that leaves much of it.
func TestWhatIsLeftIsHeard(t *testing.T) {
	m := tinyModel(t)
	v := m.vocabulary
	text := v.tokenizer.Encode("and so on")
	for _, c := range []struct {
		name       string
		end        int // frames
		pairs      bool
		sequential bool
		want       int // the frame where the next pass begins
	}{
		{"far from the end", 700, false, false, 700},
		{"far from the end, as the reference has it", 700, false, true, 1700},
		{"near the end", 1700 - minLeft + framesPerTimestamp, false, false, 1700},
		{"just far enough", 1700 - minLeft, false, false, 1700 - minLeft},
		{"at the start", 0, false, false, 1700},
		{"two sentences", 900, true, false, 900},
	} {
		own := &chain{job: &job{model: m, options: engine.Options{Sequential: c.sequential}}, content: 1700, language: "en"}
		tokens := append([]int32{v.firstTimestamp}, text...)
		if c.pairs {
			middle := v.firstTimestamp + 300/framesPerTimestamp
			tokens = append(append(tokens, middle, middle), text...)
		}
		tokens = append(tokens, v.firstTimestamp+int32(c.end/framesPerTimestamp))
		if err := own.accept(&outcome{tokens: tokens, logProbs: make([]float32, len(tokens))}, v.decode(tokens), nil); err != nil {
			t.Fatal(err)
		}
		if own.seek != c.want || own.ended != (c.want == 1700) {
			t.Errorf("%s: the next pass begins at %d, ended %t; want %d", c.name, own.seek, own.ended, c.want)
		}
	}
}
