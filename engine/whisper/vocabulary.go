package whisper

import (
	"fmt"
	"slices"
	"strings"

	"hark/engine"
	"hark/models"
)

// vocabulary knows the special tokens of a model. Ordinary tokens come first; then follow, in this
// order (openai/whisper, tokenizer.py, get_encoding): end of text, start of
// transcript, the languages, translate, transcribe, startoflm, startofprev,
// nospeech, notimestamps and the timestamps from 0.00 to 30.00 in steps of 20 ms.
type vocabulary struct {
	size         int
	multilingual bool
	languages    []string // codes, in the order of their tokens

	endOfText, startOfTranscript, firstLanguage, translate, transcribe int32
	startOfLM, startOfPrev, noSpeech, noTimestamps, firstTimestamp     int32

	// suppress are ids never written, suppressFirst those not written first.
	suppress, suppressFirst []int32
	// tokenizer is nil where a model has none: it then decodes ids but no text.
	tokenizer *models.Tokenizer
}

// englishVocabulary is the size of an English-only vocabulary. With one token more there are
// 99 languages, with two more 100; the place of every special token follows from that.
const englishVocabulary = 51864

// newVocabulary derives the special tokens from the model's size and takes its suppressed ids from
// the config, or else from the tokenizer as the reference does.
func newVocabulary(c Config, t *models.Tokenizer) (*vocabulary, error) {
	v := &vocabulary{size: c.Vocabulary, tokenizer: t, multilingual: c.Vocabulary > englishVocabulary}
	ordinary, count := 50257, 99
	switch c.Vocabulary {
	case englishVocabulary:
		ordinary = 50256
	case englishVocabulary + 1:
	case englishVocabulary + 2:
		count = 100
	default:
		return nil, fmt.Errorf("a vocabulary of %d tokens is none of Whisper's (51864, 51865 or 51866)", c.Vocabulary)
	}
	v.endOfText = int32(ordinary)
	v.startOfTranscript = v.endOfText + 1
	v.firstLanguage = v.startOfTranscript + 1
	v.translate = v.firstLanguage + int32(count)
	v.transcribe = v.translate + 1
	v.startOfLM = v.transcribe + 1
	v.startOfPrev = v.startOfLM + 1
	v.noSpeech = v.startOfPrev + 1
	v.noTimestamps = v.noSpeech + 1
	v.firstTimestamp = v.noTimestamps + 1
	v.languages = []string{"en"}
	if v.multilingual {
		v.languages = engine.LanguageCodes()[:count]
	}
	if t != nil {
		if err := v.checkTokenizer(t); err != nil {
			return nil, err
		}
	}
	v.suppress = c.Suppress
	if v.suppress == nil && t != nil {
		v.suppress = nonSpeechTokens(t)
	}
	v.suppress = append(append([]int32(nil), v.suppress...),
		v.transcribe, v.translate, v.startOfTranscript, v.startOfPrev, v.startOfLM, v.noSpeech)
	v.suppressFirst = c.SuppressFirst
	if v.suppressFirst == nil && t != nil {
		v.suppressFirst = append(t.Encode(" "), v.endOfText)
	}
	for _, ids := range [][]int32{v.suppress, v.suppressFirst} {
		for _, id := range ids {
			if id < 0 || int(id) >= v.size {
				return nil, fmt.Errorf("suppressed token %d is outside the vocabulary of %d", id, v.size)
			}
		}
	}
	return v, nil
}

// checkTokenizer holds the tokenizer's special tokens, where it names them, to the model's.
func (v *vocabulary) checkTokenizer(t *models.Tokenizer) error {
	for name, want := range map[string]int32{
		"<|endoftext|>":         v.endOfText,
		"<|startoftranscript|>": v.startOfTranscript,
		"<|notimestamps|>":      v.noTimestamps,
	} {
		if id, ok := t.Special(name); ok && id != want {
			return fmt.Errorf("tokenizer.json belongs to another model: %s is %d there, %d here", name, id, want)
		}
	}
	return nil
}

// prompt is the start of every transcript: start, and for multilingual models the language and task.
func (v *vocabulary) prompt(language string, translate bool) []int32 {
	p := []int32{v.startOfTranscript}
	if !v.multilingual {
		return p
	}
	task := v.transcribe
	if translate {
		task = v.translate
	}
	return append(p, v.languageToken(language), task)
}

// languageToken is the token of a language's code, English's where the model does not know it.
func (v *vocabulary) languageToken(code string) int32 {
	return v.firstLanguage + int32(max(0, slices.Index(v.languages, code)))
}

func (v *vocabulary) knows(code string) bool { return slices.Contains(v.languages, code) }

// notLanguages are all ids but the languages': banned when the language is asked for.
func (v *vocabulary) notLanguages() []int32 {
	var ids []int32
	for id := range int32(v.size) {
		if id < v.firstLanguage || id >= v.translate {
			ids = append(ids, id)
		}
	}
	return ids
}

func (v *vocabulary) isTimestamp(id int32) bool { return id >= v.firstTimestamp }

// isText reports whether id is an ordinary token.
func (v *vocabulary) isText(id int32) bool { return id < v.endOfText }

// text keeps the ordinary tokens of ids.
func (v *vocabulary) text(ids []int32) []int32 {
	var text []int32
	for _, id := range ids {
		if v.isText(id) {
			text = append(text, id)
		}
	}
	return text
}

// nonSpeechTokens are the tokens of symbols that annotate rather than transcribe, such as brackets
// and notes (openai/whisper, tokenizer.py, Tokenizer.non_speech_tokens). A hyphen and
// an apostrophe are banned only where a word could start with them.
func nonSpeechTokens(t *models.Tokenizer) []int32 {
	symbols := strings.Split("\" # ( ) * + / : ; < = > @ [ \\ ] ^ _ ` { | } ~ 「 」 『 』 "+
		"<< >> <<< >>> -- --- -( -[ (' (\" (( )) ((( ))) [[ ]] {{ }} ♪♪ ♪♪♪", " ")
	seen := map[int32]bool{}
	var ids []int32
	add := func(id int32) {
		if !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	for _, s := range []string{" -", " '"} {
		if tokens := t.Encode(s); len(tokens) > 0 {
			add(tokens[0])
		}
	}
	for _, s := range symbols {
		for _, tokens := range [][]int32{t.Encode(s), t.Encode(" " + s)} {
			if len(tokens) == 1 {
				add(tokens[0])
			}
		}
	}
	// Musical notes share their first bytes: banning those bans all of them.
	for _, s := range []string{"♩", "♪", "♫", "♬", "♭", "♮", "♯"} {
		for _, tokens := range [][]int32{t.Encode(s), t.Encode(" " + s)} {
			if len(tokens) > 0 {
				add(tokens[0])
			}
		}
	}
	return ids
}
