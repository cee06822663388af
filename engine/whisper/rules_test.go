package whisper

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"hark/engine"
)

// englishVocab is tiny.en's vocabulary without a tokenizer.
func englishVocab(t testing.TB) *vocabulary {
	t.Helper()
	v, err := newVocabulary(Config{Vocabulary: englishVocabulary}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestSpecialTokens(t *testing.T) {
	var f map[string]json.RawMessage
	goldenJSON(t, &f, "tokenizer", "special_tokens.json")
	for _, name := range []string{"tiny.en", "base", "large-v3-turbo"} {
		var g struct {
			Size          int `json:"n_vocab"`
			Special       map[string]int32
			Eot           int32
			Sot           int32
			NoSpeech      int32 `json:"no_speech"`
			NoTimestamps  int32 `json:"no_timestamps"`
			Transcribe    int32
			Translate     int32
			Prev          int32 `json:"sot_prev"`
			LM            int32 `json:"sot_lm"`
			FirstStamp    int32 `json:"timestamp_begin"`
			LanguageToken map[string]int32
			Languages     map[string]int32
		}
		fromJSON(t, string(f[name]), &g)
		v, err := newVocabulary(Config{Vocabulary: g.Size}, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := []int32{v.endOfText, v.startOfTranscript, v.noSpeech, v.noTimestamps, v.transcribe, v.translate, v.startOfPrev, v.startOfLM, v.firstTimestamp}
		want := []int32{g.Eot, g.Sot, g.NoSpeech, g.NoTimestamps, g.Transcribe, g.Translate, g.Prev, g.LM, g.FirstStamp}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
		if !v.multilingual {
			continue
		}
		if len(v.languages) != len(g.Languages) {
			t.Errorf("%s: got %d languages, want %d", name, len(v.languages), len(g.Languages))
		}
		for code, id := range g.Languages {
			if got := v.languageToken(code); got != id || !v.knows(code) {
				t.Errorf("%s: language %s: got %d, want %d", name, code, got, id)
			}
		}
	}
	if _, err := newVocabulary(Config{Vocabulary: 60000}, nil); err == nil {
		t.Error("a vocabulary of 60000: no error")
	}
}

func TestSuppressedTokens(t *testing.T) {
	for _, name := range []string{"tiny.en", "base"} {
		m := model(t, name)
		var f map[string]json.RawMessage
		goldenJSON(t, &f, "rules.json")
		var g struct {
			Always []int32 `json:"suppress_tokens_always"`
			Speech []int32 `json:"non_speech_tokens"`
			First  []int32 `json:"suppress_at_first_step"`
		}
		fromJSON(t, string(f[name]), &g)
		if got := sortedSet(m.vocabulary.suppress); !slices.Equal(got, g.Always) {
			t.Errorf("%s: suppressed %v, want %v", name, got, g.Always)
		}
		if got := sortedSet(nonSpeechTokens(m.vocabulary.tokenizer)); !slices.Equal(got, g.Speech) {
			t.Errorf("%s: from the tokenizer %v, want %v", name, got, g.Speech)
		}
		if got := sortedSet(m.vocabulary.suppressFirst); !slices.Equal(got, sortedSet(g.First)) {
			t.Errorf("%s: first %v, want %v", name, got, g.First)
		}
	}
}

func sortedSet(ids []int32) []int32 {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	return slices.Compact(ids)
}

// TestTimestampRules replays the reference's cases on the device.
func TestTimestampRules(t *testing.T) {
	dev, err := testDevice()
	if err != nil {
		t.Fatal(err)
	}
	var f struct {
		Cases []struct {
			Case, Logits string
			Sampled      []int32
			Allowed      [][2]int32 `json:"allowed_ranges_half_open"`
		} `json:"timestamp_rule_cases_tiny.en"`
	}
	goldenJSON(t, &f, "rules.json")
	v := englishVocab(t)
	v.suppress = nil // the cases look at the timestamp rules alone
	r, err := newRuleset(dev, v)
	if err != nil {
		t.Fatal(err)
	}
	buf, err := dev.Alloc(v.size)
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Free(buf)
	logits := engine.NewTensor(buf, 1, v.size)
	if len(f.Cases) == 0 {
		t.Fatal("no cases")
	}
	for _, c := range f.Cases {
		row := make([]float32, v.size)
		var id int
		var value float32
		if _, err := fmt.Sscanf(strings.TrimPrefix(c.Logits, "all 0 except "), "id %d = %g", &id, &value); err != nil {
			t.Fatal(err)
		}
		row[id] = value
		dev.Upload(logits, row)
		rule := r.next(c.Sampled, true)
		choices, err := dev.Select(logits, []engine.Rule{rule}, v.size)
		if err != nil {
			t.Fatal(err)
		}
		allowed := map[int32]bool{}
		for i, id := range choices[0].IDs {
			if !math.IsInf(float64(choices[0].LogProbs[i]), -1) {
				allowed[id] = true
			}
		}
		for id := range int32(v.size) {
			want := false
			for _, a := range c.Allowed {
				want = want || id >= a[0] && id < a[1]
			}
			if allowed[id] != want {
				t.Errorf("%s, %s: token %d allowed %v, want %v", c.Case, c.Logits, id, allowed[id], want)
				break
			}
		}
	}
}

func TestCompressionRatio(t *testing.T) {
	var f struct {
		Examples json.RawMessage `json:"compression_ratio"`
	}
	goldenJSON(t, &f, "rules.json")
	var examples []struct {
		Text  string
		Bytes float64 `json:"compressed_bytes_zlib_default_level"`
	}
	fromJSON(t, string(f.Examples), &examples)
	for _, e := range examples {
		// Go's and C's zlib choose differently now and then: two bytes may be between them.
		if got := float64(len(e.Text)) / engine.CompressionRatio(e.Text); math.Abs(got-e.Bytes) > 2.001 {
			t.Errorf("%.40q: got %.0f bytes, want %.0f", e.Text, got, e.Bytes)
		}
	}
}

// TestInventedText: what models write below music is dropped, what they are as unsure of in speech is not.
func TestInventedText(t *testing.T) {
	for _, c := range []struct {
		what                 string
		noSpeech, avgLogProb float64
		tokens               int
		seconds              float64
		invented             bool
	}{
		{"thanks below chords", 0.80, -0.87, 3, 20, true},
		{"thanks below a song without words", 0.82, -0.94, 3, 15, true},
		{"words drawn below strings", 0.30, -3.43, 6, 20, true},
		{"words drawn below a song", 0.53, -3.03, 8, 22, true},
		{"the last words of a clip", 0.86, -0.71, 3, 0.9, false},
		{"the last words of a French one", 0.70, -0.86, 4, 2.5, false},
		{"a short clip that is not understood", 0.50, -3.75, 5, 2, false},
		{"a long one", 0.10, -3.2, 5, 8, false},
		{"slow speech", 0.01, -0.3, 3, 20, false},
	} {
		if o := (outcome{noSpeech: c.noSpeech, avgLogProb: c.avgLogProb}); o.isInvented(" Words.", c.tokens, c.seconds) != c.invented {
			t.Errorf("%s: invented %t, want %t", c.what, !c.invented, c.invented)
		}
	}
	for noSpeech, invented := range map[float64]bool{0.97: true, 0.3: false} {
		if o := (outcome{noSpeech: noSpeech, avgLogProb: -0.3}); o.isInvented(" .", 1, 1) != invented {
			t.Errorf("a full stop where silence is %.2f likely: invented %t, want %t", noSpeech, !invented, invented)
		}
	}
}
