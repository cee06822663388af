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

type jsonTranscript struct {
	Text  string `json:"text"`
	Usage usage  `json:"usage"`
}

func renderJSON(res *engine.Result, duration float64) ([]byte, error) {
	return marshal(jsonTranscript{res.Text(), usage{"duration", newClock(duration).duration}})
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

// verboseTranscript is OpenAI's verbose_json. A list that was not asked for is left out; one that was is there even if empty.
type verboseTranscript struct {
	Task     string         `json:"task"`
	Language string         `json:"language"`
	Duration float64        `json:"duration"`
	Text     string         `json:"text"`
	Segments *[]jsonSegment `json:"segments,omitempty"`
	Words    *[]jsonWord    `json:"words,omitempty"`
	Usage    usage          `json:"usage"`
}

// renderVerbose gives the language by its English name. A translation is always "english".
func renderVerbose(res *engine.Result, duration float64, task engine.Task, detail Detail) ([]byte, error) {
	v := verbose(res, duration, task, detail)
	v.Language = engine.LanguageName(v.Language)
	if task == engine.Translate {
		v.Language = "english"
	}
	return marshal(v)
}

// verbose fills everything, the language as its code.
func verbose(res *engine.Result, duration float64, task engine.Task, detail Detail) *verboseTranscript {
	c := newClock(duration)
	v := &verboseTranscript{
		Task:     taskName(task),
		Language: res.Language,
		Duration: c.duration,
		Text:     res.Text(),
		Usage:    usage{"duration", c.duration},
	}
	if detail.Segments {
		list := jsonSegments(res, c)
		v.Segments = &list
	}
	if detail.Words {
		list := jsonWords(res, c)
		v.Words = &list
	}
	return v
}

func jsonSegments(res *engine.Result, c clock) []jsonSegment {
	list := make([]jsonSegment, len(res.Segments))
	for i := range res.Segments {
		s := &res.Segments[i]
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
			list = append(list, jsonWord{Word: strings.TrimSpace(w.Text), Start: start, End: end, Speaker: res.Segments[i].Speaker})
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
