package whisper

import (
	"math"
	"testing"

	"hark/engine"
)

// Tolerances of single precision (golden/whisper/README.md).
const (
	logitTolerance     = 5e-3
	attentionTolerance = 1e-4
	logProbTolerance   = 1e-3
)

// goldenDecoding is one decoding of decoder/*.json.
type goldenDecoding struct {
	Prompt         []int32
	Tokens         []int32
	AvgLogProb     float64 `json:"avg_logprob"`
	NoSpeech       float64 `json:"no_speech_prob"`
	Ratio          float64 `json:"compression_ratio"`
	Text           string
	Beam5Tokens    []int32 `json:"beam5_tokens"`
	Beam5Text      string  `json:"beam5_text"`
	Beam5LogProb   float64 `json:"beam5_avg_logprob"`
	FirstStepsTop2 []struct {
		IDs    []int32
		Logits []float32
	} `json:"first_steps_top20_raw"`
}

func TestDecoderLogits(t *testing.T) {
	for _, c := range []struct{ model, mode string }{
		{"tiny.en", "no_timestamps"}, {"tiny.en", "timestamps"}, {"base", "no_timestamps"},
	} {
		t.Run(c.model+"/"+c.mode, func(t *testing.T) {
			m := model(t, c.model)
			listenTo(t, m, clip(t, "jfk"), 0)
			var f struct {
				Clips map[string]map[string]goldenDecoding
			}
			goldenJSON(t, &f, "decoder", c.model+"_jfk.json")
			d := f.Clips["jfk"][c.mode]
			_, want := goldenArray(t, "decoder", c.model+"_jfk_"+c.mode+"_logits5.npy")
			v := m.config.Vocabulary
			tokens := append([]int32(nil), d.Prompt...)
			var rows []row
			for i, id := range tokens {
				rows = append(rows, row{token: id, position: int32(i)})
			}
			for step := range 5 {
				m.dec.forward(rows, false, nil)
				got := download(t, m, m.dec.logits([]int32{int32(len(rows) - 1)}))
				if e := maxDiff(t, got, want[step*v:(step+1)*v]); !(e <= logitTolerance) {
					t.Errorf("step %d: logits differ by %.2g, want at most %.0g", step, e, logitTolerance)
				}
				rows = []row{{token: d.Tokens[step], position: int32(len(tokens))}}
				tokens = append(tokens, d.Tokens[step])
			}
		})
	}
}

func TestDecoderBlocksAndAttention(t *testing.T) {
	for _, name := range []string{"tiny.en", "base"} {
		t.Run(name, func(t *testing.T) {
			m := model(t, name)
			listenTo(t, m, clip(t, "jfk"), 3)
			var f struct {
				Sequence  []int32
				LogProbs  []float64 `json:"teacher_forced_next_token_logprob"`
				Positions []int     `json:"cross_rows_at_positions"`
			}
			goldenJSON(t, &f, "decoder", name+"_attention.json")
			n := len(f.Sequence)
			var rows []row
			for i, id := range f.Sequence {
				rows = append(rows, row{token: id, position: int32(i), slot: 5, window: 3})
			}
			_, want := goldenArray(t, "decoder", name+"_jfk_block_out.npy")
			size := n * m.config.Width
			layer := 0
			m.dec.forward(rows, false, func(stage string, x engine.Tensor) {
				if e := relativeL2(t, download(t, m, x), want[layer*size:(layer+1)*size]); !(e <= encoderTolerance) {
					t.Errorf("%s: relative error %.2g, want at most %.0g", stage, e, encoderTolerance)
				}
				layer++
			})
			var all []float32
			for from := 0; from < n; from += logitRows {
				var some []int32
				for i := from; i < min(from+logitRows, n); i++ {
					some = append(some, int32(i))
				}
				all = append(all, download(t, m, m.dec.logits(some))...)
			}
			for i, want := range f.LogProbs {
				scores := all[i*m.config.Vocabulary : (i+1)*m.config.Vocabulary]
				got := float64(scores[f.Sequence[i+1]]) - logSumExp(scores)
				if math.Abs(got-want) > logProbTolerance {
					t.Errorf("log-probability of token %d: got %.5f, want %.5f", i+1, got, want)
				}
			}
		})
	}
}

func TestCrossAttentionRows(t *testing.T) {
	for _, name := range []string{"tiny.en", "base"} {
		t.Run(name, func(t *testing.T) {
			m := model(t, name)
			listenTo(t, m, clip(t, "jfk"), 0)
			var f struct {
				Sequence  []int32
				Positions []int `json:"cross_rows_at_positions"`
				Layers    []int `json:"cross_layers"`
			}
			goldenJSON(t, &f, "decoder", name+"_attention.json")
			_, want := goldenArray(t, "decoder", name+"_jfk_cross_attn_rows.npy")
			all := make([]int, m.config.DecoderHeads)
			for i := range all {
				all[i] = i
			}
			saved := m.dec.alignment
			defer func() { m.dec.alignment = saved }()
			m.dec.alignment = make([][]int, m.config.DecoderLayers)
			for _, l := range f.Layers {
				m.dec.alignment[l] = all
			}
			var rows []row
			for i, id := range f.Sequence {
				rows = append(rows, row{token: id, position: int32(i)})
			}
			n := len(rows)
			if err := m.dec.reserveProbs(n, m.config.AudioContext); err != nil {
				t.Fatal(err)
			}
			m.dec.forward(rows, true, nil)
			width := m.config.AudioContext
			got := download(t, m, m.dec.probs.Slice(0, len(f.Layers)*len(all)*n))
			at := 0
			for l := range f.Layers {
				for h := range all {
					for _, p := range f.Positions {
						row := got[((l*len(all)+h)*n+p)*width:][:width]
						if e := maxDiff(t, row, want[at:at+width]); !(e <= attentionTolerance) {
							t.Errorf("layer %d head %d position %d: differs by %.2g", f.Layers[l], h, p, e)
						}
						at += width
					}
				}
			}
			if at != len(want) {
				t.Errorf("compared %d values of %d", at, len(want))
			}
		})
	}
}

func logSumExp(x []float32) float64 {
	most := x[0]
	for _, v := range x {
		most = max(most, v)
	}
	var sum float64
	for _, v := range x {
		sum += math.Exp(float64(v - most))
	}
	return float64(most) + math.Log(sum)
}

// decodeClip runs one search to its end, as decode() of the reference does.
func decodeClip(t testing.TB, m *Model, prompt []int32, timestamps bool, beam int) outcome {
	t.Helper()
	return decodeUpTo(t, m, prompt, timestamps, beam, m.config.TextContext/2)
}

func decodeUpTo(t testing.TB, m *Model, prompt []int32, timestamps bool, beam, limit int) outcome {
	t.Helper()
	slots := []int32{0, 1, 2, 3, 4, 5, 6, 7}
	p := &place{chain: &chain{}, slots: slots}
	p.search = newSearch(m.rules, prompt, timestamps, 0, beam, slots, m.config.TextContext)
	p.search.limit = limit
	s := &session{m: m, active: []*place{p}}
	for range 500 {
		rows := p.search.rows(nil, 0)
		m.dec.forward(rows, false, nil)
		if p.search.fresh() {
			start := int32(-1)
			for i, id := range prompt {
				if id == m.vocabulary.startOfTranscript {
					start = int32(i)
				}
			}
			if err := s.noSpeech([]int32{start}, []*search{p.search}); err != nil {
				t.Fatal(err)
			}
		}
		var last []int32
		for i := range p.search.live {
			last = append(last, int32(len(rows)-len(p.search.live)+i))
		}
		choices, err := m.dev.Select(m.dec.logits(last), p.search.rule(nil), p.search.candidates())
		if err != nil {
			t.Fatal(err)
		}
		copies, done := p.search.advance(choices)
		if done {
			return p.search.outcome()
		}
		for _, c := range copies {
			m.dev.CopySlots(m.dec.cache, []int32{c.to}, []int32{c.from}, []int{c.length})
		}
	}
	t.Fatal("the search does not end")
	return outcome{}
}

func TestDecodeTokens(t *testing.T) {
	for _, c := range []struct{ model, file string }{
		{"tiny.en", "tiny.en_jfk.json"}, {"tiny.en", "tiny.en_more.json"}, {"base", "base_jfk.json"}, {"base", "base_more.json"},
	} {
		var f struct {
			Clips map[string]map[string]goldenDecoding
		}
		goldenJSON(t, &f, "decoder", c.file)
		for id, modes := range f.Clips {
			for mode, d := range modes {
				t.Run(c.model+"/"+id+"/"+mode, func(t *testing.T) {
					m := model(t, c.model)
					listenTo(t, m, clip(t, id), 0)
					greedy := decodeClip(t, m, d.Prompt, mode == "timestamps", 1)
					checkOutcome(t, m, "greedy", greedy, d.Tokens, d.AvgLogProb, logProbTolerance)
					if math.Abs(greedy.noSpeech-d.NoSpeech) > logProbTolerance {
						t.Errorf("no-speech probability: got %.5f, want %.5f", greedy.noSpeech, d.NoSpeech)
					}
					beam := decodeClip(t, m, d.Prompt, mode == "timestamps", 5)
					checkOutcome(t, m, "beam 5", beam, d.Beam5Tokens, d.Beam5LogProb, logProbTolerance)
				})
			}
		}
	}
}

func checkOutcome(t *testing.T, m *Model, what string, got outcome, tokens []int32, logProb, tolerance float64) {
	t.Helper()
	if !equalIDs(got.tokens, tokens) {
		t.Errorf("%s tokens:\ngot  %v %q\nwant %v %q", what, got.tokens, m.vocabulary.decode(got.tokens), tokens, m.vocabulary.decode(tokens))
	}
	if math.Abs(got.avgLogProb-logProb) > tolerance {
		t.Errorf("%s mean log-probability: got %.5f, want %.5f", what, got.avgLogProb, logProb)
	}
}
