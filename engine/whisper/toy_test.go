package whisper

import (
	"math"
	"path/filepath"
	"testing"

	"hark/engine"
	"hark/models"
)

// tolerances are how far a device may be from the reference.
type tolerances struct {
	encoder float64 // relative L2 error of the encoder's output
	logit   float64
	logProb float64 // of a token, and of the mean over a text
}

// TestToyTurbo holds a model of large-v3-turbo's kind (128 mels, 51 866 tokens), in Hugging Face's
// form and with random weights, to its goldens.
func TestToyTurbo(t *testing.T) {
	dev, err := testDevice()
	if err != nil {
		t.Fatal(err)
	}
	checkToyTurbo(t, dev, tolerances{encoderTolerance, logitTolerance, logProbTolerance})
}

// toyTurbo is that model.
func toyTurbo(t *testing.T, dev engine.Device) *Model {
	t.Helper()
	var rules map[string]struct {
		Always []int32 `json:"suppress_tokens_always"`
	}
	var all map[string]any
	goldenJSON(t, &all, "rules.json")
	for _, key := range []string{"timestamp_rule_cases_tiny.en", "rules", "thresholds", "compression_ratio"} {
		delete(all, key)
	}
	fromJSON(t, toJSON(t, all), &rules)
	dir := filepath.Dir(golden(t, "toy_turbo", "model.safetensors"))
	m, err := load(dev, dir, "toy", func() (*models.Tokenizer, error) { return nil, nil }, func(c *Config) { c.Suppress = rules["large-v3-turbo"].Always })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// checkToyTurbo is TestToyTurbo on a device.
func checkToyTurbo(t *testing.T, dev engine.Device, most tolerances) {
	t.Helper()
	m := toyTurbo(t, dev)
	var g struct {
		Prompt []int32
		Raw    []int32 `json:"greedy_raw_tokens"`
		Decode map[string]struct {
			Tokens     []int32
			AvgLogProb float64 `json:"avg_logprob"`
			NoSpeech   float64 `json:"no_speech_prob"`
		} `json:"decode_24"`
		Languages [][]any `json:"language_top10"`
	}
	goldenJSON(t, &g, "toy_turbo", "golden.json")

	m.mel.Window(m.melScratch, clip(t, "jfk"), framesPerWindow)
	shape, want := goldenArray(t, "mel", "jfk_128.npy")
	got := make([]float32, len(m.melScratch))
	for f := range framesPerWindow {
		for bin := range shape[0] {
			got[bin*framesPerWindow+f] = m.melScratch[f*shape[0]+bin]
		}
	}
	if d := maxDiff(t, got, want); !(d <= 1e-4) {
		t.Errorf("log-mel differs by %.2g", d)
	}
	playTo(m, clip(t, "jfk"))
	positions := m.enc.run([]int{framesPerWindow}, wholeView, nil)
	m.dec.listen(0, positions, wholeView)
	_, want = goldenArray(t, "toy_turbo", "jfk_encoder_final.npy")
	if e := relativeL2(t, download(t, m, positions), want); !(e <= most.encoder) {
		t.Errorf("encoder: relative error %.2g", e)
	}

	_, want = goldenArray(t, "toy_turbo", "jfk_logits_steps_0_1_4.npy")
	v := m.config.Vocabulary
	var rows []row
	for i, id := range g.Prompt {
		rows = append(rows, row{token: id, position: int32(i)})
	}
	at := 0
	for step, id := range g.Raw {
		m.dec.forward(rows, false, nil)
		logits := download(t, m, m.dec.logits([]int32{int32(len(rows) - 1)}))
		if step == 0 || step == 1 || step == 4 {
			if d := maxDiff(t, logits, want[at*v:(at+1)*v]); !(d <= most.logit) {
				t.Errorf("step %d: logits differ by %.2g", step, d)
			}
			at++
		}
		best := 0
		for i, x := range logits {
			if x > logits[best] {
				best = i
			}
		}
		if int32(best) != id {
			t.Errorf("step %d: got token %d, want %d", step, best, id)
		}
		rows = []row{{token: id, position: int32(len(g.Prompt) + step)}}
	}

	for mode, d := range g.Decode {
		prompt := g.Prompt[:3]
		if mode == "no_timestamps" {
			prompt = g.Prompt
		}
		search := decodeUpTo(t, m, prompt, mode == "timestamps", 1, 24)
		checkOutcome(t, m, mode, search, d.Tokens, d.AvgLogProb, most.logProb)
		if math.Abs(search.noSpeech-d.NoSpeech) > most.logProb {
			t.Errorf("%s: no-speech probability %.5f, want %.5f", mode, search.noSpeech, d.NoSpeech)
		}
	}

	top, err := m.topLanguages(0, 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	for i, w := range g.Languages { // neighbours that are nearly as likely may change places
		if math.Abs(top[i].prob-w[1].(float64)) > most.logProb {
			t.Errorf("language %d: got %s %.4f, want %v", i, top[i].code, top[i].prob, w)
		}
	}
	if want := g.Languages[0][0]; top[0].code != want {
		t.Errorf("got language %s, want %v", top[0].code, want)
	}
}
