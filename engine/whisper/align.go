package whisper

import (
	"errors"
	"math"
	"slices"

	"hark/engine"
)

var errTextTooLong = errors.New("text is too long to be aligned")

// detectLanguage asks the decoder for the language of an encoded window: the likeliest language
// token after the start of the transcript, and its probability among the languages.
// Where candidates are given, it is one of these, and the probability that among them.
func (m *Model) detectLanguage(window, slot int32, candidates []string) (code string, prob float64, err error) {
	if len(candidates) > 0 {
		return m.detectAmong(window, slot, candidates)
	}
	top, err := m.topLanguages(window, slot, 1)
	if err != nil || len(top) == 0 {
		return m.vocabulary.languages[0], 0, err
	}
	return top[0].code, top[0].prob, nil
}

func (m *Model) detectAmong(window, slot int32, candidates []string) (code string, prob float64, err error) {
	v := m.vocabulary
	m.dec.forward([]row{{token: v.startOfTranscript, slot: slot, window: window}}, false, nil)
	rows, ids := make([]int32, len(candidates)), make([]int32, len(candidates))
	for i, c := range candidates {
		ids[i] = v.firstLanguage + int32(slices.Index(v.languages, c))
	}
	probs, err := m.dev.TokenProbs(m.dec.logits([]int32{0}), rows, ids, m.config.Vocabulary)
	if err != nil {
		return "", 0, err
	}
	best, sum := 0, 0.0
	for i, p := range probs {
		sum += float64(p)
		if p > probs[best] {
			best = i
		}
	}
	if sum == 0 {
		return candidates[0], 0, nil
	}
	return candidates[best], float64(probs[best]) / sum, nil
}

// languageProb is a language and its probability among all that the model knows.
type languageProb struct {
	code string
	prob float64
}

// topLanguages are the k likeliest languages of an encoded window.
func (m *Model) topLanguages(window, slot int32, k int) ([]languageProb, error) {
	v := m.vocabulary
	m.dec.forward([]row{{token: v.startOfTranscript, slot: slot, window: window}}, false, nil)
	choices, err := m.dev.Select(m.dec.logits([]int32{0}), []engine.Rule{{Mask: m.rules.notLanguages}}, k)
	if err != nil {
		return nil, err
	}
	var top []languageProb
	for i, id := range choices[0].IDs {
		top = append(top, languageProb{v.languages[id-v.firstLanguage], math.Exp(float64(choices[0].LogProbs[i]))})
	}
	return top, nil
}

// align runs a known text through the decoder and reads off the alignment heads when each of its tokens was said, and
// how likely each token was. frames is the sound's length in the window, context the positions that it was encoded to.
func (m *Model) align(window, slot int32, language string, translate bool, text []int32,
	frames, context int) (alignment, error) {
	v := m.vocabulary
	start := v.prompt(language, translate)
	if most := min(maxRows, m.config.TextContext) - len(start) - 2; len(text) > most {
		return alignment{}, errTextTooLong
	}
	tokens := append(append(append([]int32(nil), start...), v.noTimestamps), text...)
	tokens = append(tokens, v.endOfText)
	n := len(tokens)
	rows := make([]row, n)
	for i, id := range tokens {
		rows[i] = row{token: id, position: int32(i), slot: slot, window: window}
	}
	if err := m.dec.reserveProbs(n, context); err != nil {
		return alignment{}, err
	}
	m.dec.forward(rows, true, nil)

	probs, err := m.textProbs(text, len(start))
	if err != nil {
		return alignment{}, err
	}
	heads := len(m.config.AlignmentHeads)
	attention := make([]float32, heads*n*context)
	if err := m.dev.Download(attention, m.dec.probs.Slice(0, heads*n)); err != nil {
		return alignment{}, err
	}
	positions := max(1, frames/framesPerPosition)
	return alignment{
		positions:     alignTokens(attention, heads, n, context, positions, len(start)),
		probabilities: probs,
	}, nil
}

// textProbs reads the probability of each text token among the ordinary ones from the last forward pass;
// the row that predicts the first is row first.
func (m *Model) textProbs(text []int32, first int) ([]float32, error) {
	var probs []float32
	for from := 0; from < len(text); from += logitRows {
		to := min(from+logitRows, len(text))
		gather, rows := make([]int32, to-from), make([]int32, to-from)
		for i := range gather {
			gather[i], rows[i] = int32(first+from+i), int32(i)
		}
		part, err := m.dev.TokenProbs(m.dec.logits(gather), rows, text[from:to], int(m.vocabulary.endOfText))
		if err != nil {
			return nil, err
		}
		probs = append(probs, part...)
	}
	return probs, nil
}
