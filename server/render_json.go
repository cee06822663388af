package server

import (
	"strings"

	"hark/engine"
)

// usage tells how much audio was heard, in the form that OpenAI bills by duration.
type usage struct {
	Type    string  `json:"type"`
	Seconds float64 `json:"seconds"`
}

func durationUsage(c clock) usage { return usage{"duration", c.duration} }

type jsonTranscript struct {
	Text      string         `json:"text"`
	Languages []jsonLanguage `json:"languages,omitempty"`
	LogProbs  *[]jsonToken   `json:"logprobs,omitempty"`
	Usage     usage          `json:"usage"`
}

// jsonLanguage is a language that was spoken.
type jsonLanguage struct {
	Code string `json:"code"`
}

// languages are those of a transcript: one, or none where nobody says. A translation's
// is English, which needs no telling.
func languages(code string, task engine.Task) []jsonLanguage {
	if code == "" || task == engine.Translate {
		return nil
	}
	return []jsonLanguage{{code}}
}

func renderJSON(res *engine.Result, duration float64, task engine.Task, detail Detail) ([]byte, error) {
	t := jsonTranscript{Text: res.Text(), Languages: languages(res.Language, task),
		Usage: durationUsage(newClock(duration))}
	if detail.LogProbs {
		t.LogProbs = logProbs(res.Segments)
	}
	return marshal(t)
}

// jsonToken is a token as include[]=logprobs shows it. Where its bytes are no whole
// characters the token has U+FFFD for them.
type jsonToken struct {
	Token   string  `json:"token"`
	LogProb float64 `json:"logprob"`
	Bytes   []int   `json:"bytes"`
}

// logProbs lists the tokens of segments. It's never nil.
func logProbs(segments []engine.Segment) *[]jsonToken {
	list := []jsonToken{}
	for i := range segments {
		for _, t := range segments[i].Spelling {
			token := jsonToken{string(t.Bytes), finite(float64(t.LogProb)), make([]int, len(t.Bytes))}
			for k, b := range t.Bytes {
				token.Bytes[k] = int(b)
			}
			list = append(list, token)
		}
	}
	return &list
}

// jsonSegment has the ten keys that OpenAI's clients count on.
type jsonSegment struct {
	ID               int     `json:"id"`
	Seek             int     `json:"seek"`
	Start            float64 `json:"start"`
	End              float64 `json:"end"`
	Text             string  `json:"text"`
	Tokens           []int32 `json:"tokens"`
	Temperature      float64 `json:"temperature"`
	AvgLogProb       float64 `json:"avg_logprob"`
	CompressionRatio float64 `json:"compression_ratio"`
	NoSpeechProb     float64 `json:"no_speech_prob"`
	// Speaker is there where channels are heard separately: the channel's number, from "0".
	Speaker string `json:"speaker,omitempty"`
	// Model is there where two models work together: whose text it is.
	Model string `json:"model,omitempty"`
}

type jsonWord struct {
	Word  string  `json:"word"`
	Start float64 `json:"start"`
	End   float64 `json:"end"`
	// Speaker is the segment's.
	Speaker string `json:"speaker,omitempty"`
	// Probability and Confidence are in hark's own answer only: see engine.Word.
	Probability *float64 `json:"probability,omitempty"`
	Confidence  *float64 `json:"confidence,omitempty"`
}

// verboseTranscript is OpenAI's verbose_json. A list that was not asked for is left
// out; one that was is there even if empty.
type verboseTranscript struct {
	Task     string         `json:"task"`
	Language string         `json:"language"`
	Duration float64        `json:"duration"`
	Text     string         `json:"text"`
	Segments *[]jsonSegment `json:"segments,omitempty"`
	Words    *[]jsonWord    `json:"words,omitempty"`
	LogProbs *[]jsonToken   `json:"logprobs,omitempty"`
	Usage    usage          `json:"usage"`
}

// renderVerbose gives the language by its English name. A translation is always "english".
func renderVerbose(res *engine.Result, duration float64, task engine.Task, detail Detail) ([]byte, error) {
	return marshal(named(verbose(res, duration, task, detail), task))
}

// named gives a transcript its language by its English name.
func named(v *verboseTranscript, task engine.Task) *verboseTranscript {
	v.Language = engine.LanguageName(v.Language)
	if task == engine.Translate {
		v.Language = "english"
	}
	return v
}

// verbose fills everything, the language as its code.
func verbose(res *engine.Result, duration float64, task engine.Task, detail Detail) *verboseTranscript {
	c := newClock(duration)
	v := &verboseTranscript{
		Task:     taskName(task),
		Language: res.Language,
		Duration: c.duration,
		Text:     res.Text(),
		Usage:    durationUsage(c),
	}
	if detail.Segments {
		list := jsonSegments(res.Segments, c)
		v.Segments = &list
	}
	if detail.Words {
		list := jsonWords(res, c)
		v.Words = &list
	}
	if detail.LogProbs {
		v.LogProbs = logProbs(res.Segments)
	}
	return v
}

func jsonSegments(segments []engine.Segment, c clock) []jsonSegment {
	list := make([]jsonSegment, len(segments))
	for i := range segments {
		s := &segments[i]
		start, end := c.span(s.Start, s.End)
		tokens := s.Tokens
		if tokens == nil {
			tokens = []int32{}
		}
		list[i] = jsonSegment{
			ID: i, Seek: s.Seek, Start: start, End: end, Text: s.Text, Tokens: tokens,
			Temperature:      decimal(s.Temperature),
			AvgLogProb:       finite(s.AvgLogProb),
			CompressionRatio: finite(s.CompressionRatio),
			NoSpeechProb:     finite(s.NoSpeechProb),
			Speaker:          s.Speaker,
			Model:            s.Model,
		}
	}
	return list
}

// jsonWords lists the words of all segments, without the space before them.
func jsonWords(res *engine.Result, c clock) []jsonWord {
	list := []jsonWord{}
	for i := range res.Segments {
		for _, w := range res.Segments[i].Words {
			start, end := c.span(w.Start, w.End)
			list = append(list, jsonWord{Word: strings.TrimSpace(w.Text), Start: start, End: end,
				Speaker: res.Segments[i].Speaker})
		}
	}
	return list
}

// decimal is a temperature as it was meant: 0.2, not the 0.20000000298 that its float32 is.
func decimal(t float32) float64 { return finite(float64(int64(float64(t)*1e4+0.5)) / 1e4) }

func taskName(t engine.Task) string {
	if t == engine.Translate {
		return "translate"
	}
	return "transcribe"
}
