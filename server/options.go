package server

import (
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"hark/engine"
)

// dialect is whose call a route answers.
type dialect struct {
	// openAI demands OpenAI's required fields and answers in its shapes.
	openAI bool
	// task is what the route does; /v1/transcribe lets the field task choose.
	task engine.Task
}

// wishes are a request's fields, understood.
type wishes struct {
	model         string // "" means the default
	format        Format
	segments      bool // of verbose_json
	words         bool
	logProbs      bool
	stream        bool
	strict        bool
	options       engine.Options
	languageField string // which gave options.Language
	choice        Choice
	deadline      time.Duration // 0: none
	unread        []string      // unknown members of fields that are JSON objects
	warnings      []string      // what is ignored, for X-Hark-Warning
}

// detail is what is shown besides the text.
func (v *wishes) detail() Detail { return Detail{v.segments, v.words, v.logProbs} }

func (v *wishes) warn(format string, args ...any) {
	v.warnings = append(v.warnings, fmt.Sprintf(format, args...))
}

// maxPromptBytes is far beyond what a model's 224 tokens of prompt hold, of which only the last are used.
const maxPromptBytes = 16 << 10

// maxDeadline keeps deadline_ms within a time.Duration.
const maxDeadline = 7 * 24 * time.Hour

// parseWishes understands a request's fields. Every error is an *apiError that names its field.
func parseWishes(f fields, d dialect) (*wishes, error) {
	v := &wishes{options: engine.Options{Task: d.task}}
	for _, parse := range []func(fields, dialect) error{
		v.parseModel, v.parseTask, v.parseFormat, v.parseGranularities, v.parseLanguage, v.parsePrompt, v.parseKeywords,
		v.parseTemperature, v.parseStream, v.parseChunking, v.parseSpeakers, v.parseOwn,
	} {
		if err := parse(f, d); err != nil {
			return nil, err
		}
	}
	return v, v.parseUnknown(f)
}

// parseUnknown names all fields that nobody reads, or refuses them.
func (v *wishes) parseUnknown(f fields) (err error) {
	if v.strict, err = f.flag("strict"); err != nil {
		return err
	}
	unknown := slices.Sorted(slices.Values(append(f.unknown(), v.unread...)))
	if len(unknown) == 0 {
		return nil
	}
	if v.strict {
		return unknownFields(unknown)
	}
	v.warn("unknown fields are ignored: %s", strings.Join(withGuesses(unknown), " "))
	return nil
}

// leaveQuery names the parameters of a URL on a path that reads none, or refuses them.
func (v *wishes) leaveQuery(query url.Values) error {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(query)) {
		names = append(names, shown(name))
	}
	if len(names) == 0 {
		return nil
	}
	named := strings.Join(names[:min(len(names), maxNamed)], " ")
	if v.strict {
		return badField(names[0], "unknown_parameter",
			"with strict=true nothing may be ignored, and this path reads no query parameters: send %s as fields of the form", named)
	}
	v.warn("query parameters are ignored, this path reads fields of the form: %s", named)
	return nil
}

// leaveWebhook names the webhook of a request that is answered at once, or refuses it.
func (v *wishes) leaveWebhook(f fields) error {
	for _, name := range webhookFields {
		if len(f[name]) == 0 {
			continue
		}
		if v.strict {
			return badField(name, "unsupported_parameter",
				"with strict=true nothing may be ignored, and %s is for jobs: send it with Prefer: respond-async, or to /v1/jobs", name)
		}
		v.warn("%s is ignored: it is for jobs, and this is the answer", name)
	}
	return nil
}

func (v *wishes) parseModel(f fields, d dialect) (err error) {
	v.model, err = f.text("model")
	if err == nil && v.model == "" && d.openAI {
		return badField("model", "missing_required_parameter", "you must provide a model: GET /v1/models lists them")
	}
	return err
}

func (v *wishes) parseTask(f fields, d dialect) error {
	task, err := f.text("task")
	if err != nil || task == "" {
		return err
	}
	if d.openAI {
		v.warn("task is ignored: the path says it")
		return nil
	}
	switch strings.ToLower(task) {
	case "transcribe":
		v.options.Task = engine.Transcribe
	case "translate":
		v.options.Task = engine.Translate
	default:
		return badField("task", "invalid_value", "task is %s, want transcribe or translate", quoted(task))
	}
	return nil
}

func (v *wishes) parseFormat(f fields, d dialect) error {
	name, err := f.text("response_format")
	if err != nil {
		return err
	}
	switch format := Format(strings.ToLower(name)); {
	case format == "" && d.openAI:
		v.format = JSON
	case format == "":
		v.format = VerboseJSON
	case format == TSV && d.openAI, format == DiarizedJSON && d.openAI && d.task == engine.Translate,
		!slices.Contains(Formats(), format):
		return badField("response_format", "invalid_value",
			"response_format is %s, want json, verbose_json, diarized_json, text, srt or vtt", quoted(name))
	default:
		v.format = format
	}
	return nil
}

func (v *wishes) parseGranularities(f fields, d dialect) error {
	const name = "timestamp_granularities"
	for _, g := range f.list(name) {
		switch strings.ToLower(g) {
		case "word":
			v.words = true
		case "segment":
			v.segments = true
		default:
			return badField(name+"[]", "invalid_value",
				"timestamp_granularities[] is %s, want word or segment", quoted(g))
		}
	}
	if v.format != VerboseJSON {
		if v.words || v.segments {
			v.warn("timestamp_granularities[] is ignored: only verbose_json shows them")
		}
		v.words, v.segments = false, false
	} else if !v.words || !d.openAI {
		v.segments = true
	}
	v.options.WordTimestamps = v.words
	return nil
}

func (v *wishes) parseLanguage(f fields, d dialect) error {
	name, err := f.text("language")
	if err != nil {
		return err
	}
	v.languageField = "language"
	var codes []string
	if several := f.list("languages"); len(several) > 0 {
		if name != "" {
			return badField("languages[]", "conflicting_values",
				"language and languages[] exclude each other: send one of them")
		}
		for _, l := range several {
			code, ok := engine.ParseLanguage(l)
			if !ok {
				return unknownLanguage("languages[]", l)
			}
			if !slices.Contains(codes, code) {
				codes = append(codes, code)
			}
		}
		switch {
		case len(codes) == 1:
			name, v.languageField = codes[0], "languages[]"
		case !slices.Contains(codes, ""): // which may be any
			v.options.Languages = codes
		}
	}
	code, ok := engine.ParseLanguage(name)
	if !ok {
		return unknownLanguage(v.languageField, name)
	}
	v.options.Language = code
	return nil
}

func unknownLanguage(param, name string) error {
	return badField(param, "invalid_language",
		"%s is not a language that this server knows: send a code (en), a tag (pt-BR), an English name (german), or nothing to have it detected", quoted(name))
}

func (v *wishes) parsePrompt(f fields, d dialect) error {
	prompt, err := f.text("prompt")
	if err != nil {
		return err
	}
	if len(prompt) > maxPromptBytes {
		return badField("prompt", "too_long", "the prompt has %d bytes, at most %d are taken",
			len(prompt), maxPromptBytes)
	}
	if !utf8.ValidString(prompt) {
		return badField("prompt", "invalid_value", "the prompt is not valid UTF-8")
	}
	v.options.Prompt = prompt
	return nil
}

// parseKeywords refuses what OpenAI's guide forbids in a keyword, so that a request that passes here passes there too.
func (v *wishes) parseKeywords(f fields, d dialect) error {
	for _, word := range f.rawList("keywords") {
		if strings.ContainsAny(word, "<>\r\n") {
			return badField("keywords", "invalid_value",
				"the keyword %s holds <, > or a line break: send each keyword by itself, without them", quoted(word))
		}
	}
	v.options.Keywords = f.list("keywords")
	return nil
}

// parseTemperature reads 0 to 1. As OpenAI's reference says, 0 lets the temperature rise by itself where the text looks
// unsound, which is the model's own ladder; above 0 it's fixed.
func (v *wishes) parseTemperature(f fields, d dialect) error {
	text, err := f.text("temperature")
	if err != nil || text == "" {
		return err
	}
	t, err := strconv.ParseFloat(text, 32)
	if err != nil || math.IsNaN(t) || t < 0 || t > 1 {
		return badField("temperature", "invalid_value", "temperature is %s, want a number from 0 to 1", quoted(text))
	}
	if t > 0 {
		v.options.Temperatures = []float32{float32(t)}
	}
	return nil
}

func (v *wishes) parseStream(f fields, d dialect) error {
	var err error
	if v.stream, err = f.flag("stream"); err != nil {
		return err
	}
	if v.stream && (v.format == SRT || v.format == VTT || v.format == TSV) {
		v.warn("stream is ignored: %s comes in one piece", v.format)
		v.stream = false
	}
	for _, what := range f.list("include") {
		if what != "logprobs" {
			return badField("include[]", "invalid_value", "include[] is %s, want logprobs", quoted(what))
		}
		v.logProbs = v.format == JSON || v.format == VerboseJSON || v.stream && v.format == Text
	}
	if len(f.list("include")) > 0 && !v.logProbs {
		v.warn("include[] is ignored: %s has no log-probabilities, json and verbose_json have", v.format)
	}
	v.options.LogProbs = v.logProbs
	return nil
}

func (v *wishes) parseSpeakers(f fields, d dialect) error {
	for _, name := range []string{"known_speaker_names", "known_speaker_references"} {
		if len(f.list(name)) > 0 {
			return badField(name+"[]", "unsupported_parameter",
				"%s[] needs a model that knows people by their voices, which this server has not: channels=separate tells the channels of a file apart", name)
		}
	}
	return nil
}

// parseOwn reads the fields that OpenAI's API has not.
func (v *wishes) parseOwn(f fields, d dialect) (err error) {
	if v.options.Sequential, err = f.flag("sequential"); err != nil {
		return err
	}
	if v.choice, err = parseChoice(f); err != nil {
		return err
	}
	if v.format == DiarizedJSON && !v.choice.Separate {
		v.warn("all is one speaker: channels=separate hears each channel as one")
	}
	text, err := f.text("deadline_ms")
	if err != nil || text == "" {
		return err
	}
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil || ms <= 0 || ms > maxDeadline.Milliseconds() {
		return badField("deadline_ms", "invalid_value", "deadline_ms is %s, want whole milliseconds from 1 to %d",
			quoted(text), maxDeadline.Milliseconds())
	}
	v.deadline = time.Duration(ms) * time.Millisecond
	return nil
}

// parseChoice reads which of several audio tracks is to be heard, from 1, and whether its channels are mixed.
func parseChoice(f fields) (c Choice, err error) {
	track, err := f.text("track")
	if err != nil {
		return c, err
	}
	if track != "" {
		n, err := strconv.Atoi(track)
		if err != nil || n < 0 {
			return c, badField("track", "invalid_value",
				"track is %s, want the number of an audio track: 1 is the file's first", quoted(track))
		}
		c.Track = n
	}
	channels, err := f.text("channels")
	if err != nil {
		return c, err
	}
	switch strings.ToLower(channels) {
	case "", "mix":
	case "separate":
		c.Separate = true
	default:
		return c, badField("channels", "invalid_value",
			"channels is %s, want mix or separate: each channel a speaker", quoted(channels))
	}
	return c, nil
}
