package server

import (
	"context"
	"math"
	"net/http"
	"net/url"
	"strconv"

	"hark/engine"
)

// inference is POST /inference of whisper.cpp's server (its examples/server): a form of
// "file" and its own fields, every one optional.
type inference struct {
	step  float64 // temperature_inc
	words bool    // of verbose_json
}

// Fields of whisper.cpp's that nothing is done with, since silence and doubtful text
// are told by the server's own measure here.
var inferenceIgnored = []string{
	"offset_n", "max_context", "max_len", "best_of", "beam_size", "audio_ctx", "word_thold", "entropy_thold",
	"logprob_thold", "no_speech_thold",
	"debug_mode", "tinydiarize", "split_on_word", "carry_initial_prompt", "suppress_non_speech", "suppress_nst",
	"no_language_probabilities",
	"vad", "vad_threshold", "vad_min_speech_duration_ms", "vad_min_silence_duration_ms",
	"vad_max_speech_duration_s", "vad_speech_pad_ms",
	"vad_samples_overlap",
}

// inferenceStep is whisper.cpp's temperature_inc where it is not sent.
const inferenceStep = 0.2

func newInference() adapter { return &inference{} }

func (c *inference) translate(up *upload, query url.Values, w *warner) error {
	f := up.fields
	f.addQuery(query)
	for _, name := range []string{"offset_t", "duration"} {
		if v, err := f.text(name); err != nil || v != "" && v != "0" {
			return badField(name, "unsupported_value",
				"%s is not supported: files are heard from their start to their end", name)
		}
	}
	w.ignored(f, inferenceIgnored...)

	var err error
	c.step = inferenceStep
	if text, err := f.text("temperature_inc"); err != nil {
		return err
	} else if text != "" {
		if c.step, err = strconv.ParseFloat(text, 64); err != nil || !(c.step >= 0 && c.step <= 1) {
			return badField("temperature_inc", "invalid_value",
				"temperature_inc is %s, want a number from 0 to 1", quoted(text))
		}
	}
	flags := map[string]bool{"token_timestamps": true} // what they are where they are not sent
	for _, name := range []string{"translate", "detect_language", "diarize", "no_timestamps", "token_timestamps"} {
		if len(f[name]) > 0 {
			if flags[name], err = f.flag(name); err != nil {
				return err
			}
		}
	}
	c.words = flags["token_timestamps"] && !flags["no_timestamps"]
	set := func(name, value string) { f[name] = []string{value} }
	if format, err := f.text("response_format"); err != nil {
		return err
	} else if format == "" {
		set("response_format", string(JSON))
	}
	if language, err := f.text("language"); err != nil {
		return err
	} else if flags["detect_language"] {
		set("language", "auto")
	} else if language == "" {
		set("language", "en")
	}
	set("task", "transcribe")
	if flags["translate"] {
		set("task", "translate")
	}
	if flags["diarize"] { // which tells speakers by their channel there too
		set("channels", "separate")
	}
	for _, name := range append([]string{"temperature_inc", "translate", "detect_language", "diarize",
		"no_timestamps", "token_timestamps",
		"offset_t", "duration"}, inferenceIgnored...) {
		delete(f, name)
	}
	return nil
}

// adjust makes the ladder of temperatures. As there, a model of one language hears that one, whatever was asked for.
func (c *inference) adjust(_ context.Context, v *wishes, _ *upload, model engine.ModelInfo) error {
	v.options.WordTimestamps = c.words && v.format == VerboseJSON && model.WordTimes
	first := 0.0
	if len(v.options.Temperatures) > 0 {
		first = float64(v.options.Temperatures[0])
	}
	v.options.Temperatures = nil
	for n := 0; ; n++ {
		t := math.Round((first+float64(n)*c.step)*1e4) / 1e4
		if t > 1 {
			break
		}
		v.options.Temperatures = append(v.options.Temperatures, float32(t))
		if c.step < 0.01 { // as good as none
			break
		}
	}
	if len(model.Languages) == 1 && (v.options.Language != model.Languages[0] || v.options.Task == engine.Translate) {
		v.options.Language, v.options.Task = model.Languages[0], engine.Transcribe
		v.warn("language and translate are ignored: the model %s knows one language", model.Name)
	}
	return nil
}

// inferenceTranscript is whisper.cpp's verbose_json, without the probabilities of languages.
type inferenceTranscript struct {
	Task     string             `json:"task"`
	Language string             `json:"language"`
	Duration float64            `json:"duration"`
	Text     string             `json:"text"`
	Segments []inferenceSegment `json:"segments"`
	Detected string             `json:"detected_language"`
}

type inferenceSegment struct {
	ID           int             `json:"id"`
	Text         string          `json:"text"`
	Start        float64         `json:"start"`
	End          float64         `json:"end"`
	Tokens       []int32         `json:"tokens"`
	Words        []inferenceWord `json:"words,omitempty"`
	Temperature  float64         `json:"temperature"`
	AvgLogProb   float64         `json:"avg_logprob"`
	NoSpeechProb float64         `json:"no_speech_prob"`
	Speaker      string          `json:"speaker,omitempty"`
}

type inferenceWord struct {
	Word        string  `json:"word"`
	Start       float64 `json:"start"`
	End         float64 `json:"end"`
	Probability float64 `json:"probability"`
}

func (c *inference) render(_ *http.Request, t *Transcript, v *wishes) (string, []byte, error) {
	if v.format != VerboseJSON {
		text, err := Render(v.format, t.Result, t.Duration, t.Task, Detail{})
		return v.format.ContentType(), text, err
	}
	all := verbose(t.Result, t.Duration, t.Task, Detail{Segments: true})
	language := engine.LanguageName(t.Result.Language)
	out := inferenceTranscript{all.Task, language, all.Duration, all.Text,
		make([]inferenceSegment, len(*all.Segments)), language}
	times := newClock(t.Duration)
	for i, s := range *all.Segments {
		out.Segments[i] = inferenceSegment{
			ID: s.ID, Text: s.Text, Start: s.Start, End: s.End, Tokens: s.Tokens, Temperature: s.Temperature,
			AvgLogProb: s.AvgLogProb, NoSpeechProb: s.NoSpeechProb, Speaker: s.Speaker,
		}
		for _, w := range t.Result.Segments[i].Words {
			start, end := times.span(w.Start, w.End)
			out.Segments[i].Words = append(out.Segments[i].Words,
				inferenceWord{w.Text, start, end, finite(w.Probability)})
		}
	}
	text, err := marshal(out)
	return VerboseJSON.ContentType(), text, err
}

// inferenceError is whisper.cpp's form: a text alone.
func inferenceError(e *apiError, _ string) any {
	return map[string]string{"error": e.message}
}
