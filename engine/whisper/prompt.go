package whisper

import "strings"

// promptTokens is the most text that a transcript's prompt holds: half of the context, less the token
// before it (openai/whisper, decoding.py, _get_initial_tokens).
func (c *Config) promptTokens() int { return c.TextContext/2 - 1 }

// initialPrompt is the text that a job's first pass takes as having been said: the keywords as one sentence, then the
// prompt. Of what is more than limit tokens, the end counts: the prompt's beginning is left out, and the
// keywords after the first ones that fill half of the place.
func initialPrompt(keywords []string, prompt string, limit int, encode func(string) []int32) []int32 {
	var ids []int32
	for _, word := range keywords {
		word = " " + strings.TrimSpace(word)
		if len(ids) > 0 {
			word = "," + word
		}
		more := encode(word)
		if len(ids)+len(more)+1 > limit/2 { // one for the full stop
			break
		}
		ids = append(ids, more...)
	}
	if len(ids) > 0 {
		ids = append(ids, encode(".")...)
	}
	if prompt = strings.TrimSpace(prompt); prompt == "" {
		return ids
	}
	text := encode(" " + prompt)
	return append(ids, text[max(0, len(text)-(limit-len(ids))):]...)
}
