package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"hark/engine"
)

// deepgram is POST /v1/listen of Deepgram's API for recorded audio: the body is the audio, or JSON with
// where it is, and every wish a parameter of the URL.
type deepgram struct {
	served     func(model string) bool
	hash       string // of the audio
	bare       bool   // punctuate=false: words as they are spoken
	detect     bool   // detect_language
	utterances bool
}

// Parameters of Deepgram's that nothing is done with. Numbers and punctuation are always written as people write them.
var deepgramIgnored = []string{
	"smart_format", "paragraphs", "numerals", "diarize", "diarize_version", "profanity_filter", "filler_words",
	"measurements", "dictation",
	"utt_split", "tag", "extra", "version", "tier", "mip_opt_out", "search", "replace", "summarize", "topics",
	"intents", "sentiment", "detect_entities",
	"custom_topic", "custom_topic_mode", "custom_intent", "custom_intent_mode", "encoding", "sample_rate", "channels",
}

// deepgramModels begin the names of Deepgram's models, which mean the default one, unless
// Config.NoAliases is set or one of that name is served.
var deepgramModels = []string{"nova", "enhanced", "base", "whisper", "flux"}

func (s *Server) newDeepgram() adapter {
	return &deepgram{served: func(model string) bool {
		_, err := s.resolve(model)
		return err == nil || s.cfg.NoAliases
	}}
}

func (c *deepgram) translate(up *upload, query url.Values, w *warner) error {
	theirs := fields{}
	for name, values := range query {
		theirs[name] = values
	}
	for _, name := range []string{"callback", "redact"} {
		if len(theirs[name]) > 0 {
			return badField(name, "unsupported_parameter", "%s is not supported: leave it out", name)
		}
	}
	w.ignored(theirs, deepgramIgnored...)
	f := fields{"response_format": {string(VerboseJSON)},
		"timestamp_granularities": {"word", "segment"}, "language": {"en"}}
	if err := c.translateModel(theirs, f); err != nil {
		return err
	}
	if err := c.translateFlags(theirs, f); err != nil {
		return err
	}
	if words := deepgramKeywords(theirs); len(words) > 0 {
		f["keywords"] = words
	}
	known := slices.Concat(deepgramFlags, deepgramIgnored, []string{"model", "language", "keyterm", "keywords"})
	for name, values := range theirs {
		if !slices.Contains(known, name) {
			f[name] = values
		}
	}
	if up.audio == nil { // the body is {"url": …}
		f["url"] = up.fields["url"]
	}
	up.fields = f
	return nil
}

// translateModel takes over the model, unless it's one of Deepgram's, and the language.
func (c *deepgram) translateModel(theirs, f fields) error {
	for _, name := range []string{"model", "language"} {
		value, err := theirs.text(name)
		if err != nil {
			return err
		}
		if name == "model" && !c.served(value) &&
			slices.ContainsFunc(deepgramModels, func(m string) bool { return strings.HasPrefix(value, m) }) {
			continue
		}
		if value != "" {
			f[name] = []string{value}
		}
	}
	return nil
}

// deepgramFlags are true or false.
var deepgramFlags = []string{"punctuate", "detect_language", "utterances", "multichannel"}

// translateFlags takes over what is true or false; f has the language.
func (c *deepgram) translateFlags(theirs, f fields) error {
	flags := map[string]bool{"punctuate": true}
	for _, name := range deepgramFlags {
		if len(theirs[name]) > 0 {
			flag, err := theirs.flag(name)
			if err != nil && name != "detect_language" { // which may be a list of languages to choose from
				return err
			}
			flags[name] = flag || err != nil
		}
	}
	c.bare, c.detect, c.utterances = !flags["punctuate"], flags["detect_language"], flags["utterances"]
	if c.detect || strings.EqualFold(f["language"][0], "multi") {
		f["language"] = []string{"auto"}
	}
	if flags["multichannel"] {
		f["channels"] = []string{"separate"}
	}
	return nil
}

// deepgramKeywords are the terms to expect, of both names that they have had, without
// how much they count: keywords=term:2.
func deepgramKeywords(theirs fields) (words []string) {
	for _, word := range slices.Concat(theirs["keyterm"], theirs["keywords"]) {
		if term, boost, ok := strings.Cut(word, ":"); ok {
			if _, err := strconv.ParseFloat(boost, 64); err == nil {
				word = term
			}
		}
		words = append(words, word)
	}
	return words
}

// adjust also hashes the audio.
func (c *deepgram) adjust(ctx context.Context, v *wishes, up *upload, model engine.ModelInfo) error {
	v.options.WordTimestamps = v.options.WordTimestamps && (model.WordTimes || model.Name == "")
	h := sha256.New()
	_, err := io.Copy(h, up.audio.reader(ctx))
	c.hash = hex.EncodeToString(h.Sum(nil))
	return err
}

// The answer's shape.
type (
	deepgramAnswer struct {
		Metadata deepgramMetadata `json:"metadata"`
		Results  deepgramResults  `json:"results"`
	}
	deepgramMetadata struct {
		RequestID string                   `json:"request_id"`
		SHA256    string                   `json:"sha256"`
		Created   string                   `json:"created"`
		Duration  float64                  `json:"duration"`
		Channels  int                      `json:"channels"`
		Models    []string                 `json:"models"`
		ModelInfo map[string]deepgramModel `json:"model_info"`
	}
	deepgramModel struct {
		Name    string `json:"name"`
		Version string `json:"version"`
		Arch    string `json:"arch"`
	}
	deepgramResults struct {
		Channels   []deepgramChannel    `json:"channels"`
		Utterances *[]deepgramUtterance `json:"utterances,omitempty"`
	}
	deepgramChannel struct {
		Alternatives []deepgramAlternative `json:"alternatives"`
		Detected     string                `json:"detected_language,omitempty"`
	}
	deepgramAlternative struct {
		Transcript string         `json:"transcript"`
		Confidence float64        `json:"confidence"`
		Words      []deepgramWord `json:"words"`
	}
	deepgramWord struct {
		Word       string  `json:"word"`
		Start      float64 `json:"start"`
		End        float64 `json:"end"`
		Confidence float64 `json:"confidence"`
		Punctuated string  `json:"punctuated_word,omitempty"`
	}
	deepgramUtterance struct {
		Start      float64        `json:"start"`
		End        float64        `json:"end"`
		Confidence float64        `json:"confidence"`
		Channel    int            `json:"channel"`
		Transcript string         `json:"transcript"`
		Words      []deepgramWord `json:"words"`
		ID         string         `json:"id"`
	}
)

func (c *deepgram) render(r *http.Request, t *Transcript, v *wishes) (string, []byte, error) {
	id := recordOf(r).id
	times := newClock(t.Duration)
	channels := make([]deepgramChannel, max(1, t.Channels))
	utterances := []deepgramUtterance{}
	text := make([]strings.Builder, len(channels))
	words := make([][]deepgramWord, len(channels))
	for i := range t.Result.Segments {
		s := &t.Result.Segments[i]
		n, _ := strconv.Atoi(s.Speaker) // "" is channel 0
		u := deepgramUtterance{Channel: n, Transcript: c.text(s.Text), Words: c.words(s.Words, times),
			ID: id + "-" + strconv.Itoa(i)}
		u.Start, u.End = times.span(s.Start, s.End)
		u.Confidence = meanConfidence(u.Words)
		text[n].WriteString(" " + u.Transcript)
		words[n] = append(words[n], u.Words...)
		utterances = append(utterances, u)
	}
	for i := range channels {
		a := deepgramAlternative{strings.TrimSpace(text[i].String()), meanConfidence(words[i]), words[i]}
		if a.Words == nil {
			a.Words = []deepgramWord{}
		}
		channels[i].Alternatives = []deepgramAlternative{a}
		if c.detect {
			channels[i].Detected = t.Result.Language
		}
	}
	answer := deepgramAnswer{
		Metadata: deepgramMetadata{
			RequestID: id, SHA256: c.hash, Created: time.Now().UTC().Format("2006-01-02T15:04:05.000Z"),
			Duration: times.duration, Channels: len(channels), Models: []string{t.Model.Name},
			ModelInfo: map[string]deepgramModel{t.Model.Name: {t.Model.Name, "hark", t.Model.Family}},
		},
		Results: deepgramResults{Channels: channels},
	}
	if c.utterances {
		answer.Results.Utterances = &utterances
	}
	body, err := marshal(answer)
	return VerboseJSON.ContentType(), body, err
}

// text is what was heard, without capitals and punctuation if it's wanted so.
func (c *deepgram) text(heard string) string {
	heard = strings.TrimSpace(heard)
	if !c.bare {
		return heard
	}
	var words []string
	for _, w := range strings.Fields(heard) {
		if w = bareWord(w); w != "" {
			words = append(words, w)
		}
	}
	return strings.Join(words, " ")
}

func (c *deepgram) words(heard []engine.Word, times clock) []deepgramWord {
	out := make([]deepgramWord, len(heard))
	for i, w := range heard {
		written := strings.TrimSpace(w.Text)
		out[i] = deepgramWord{Word: bareWord(written), Confidence: finite(w.Probability)}
		out[i].Start, out[i].End = times.span(w.Start, w.End)
		if !c.bare {
			out[i].Punctuated = written
		}
	}
	return out
}

// bareWord is a word in lower case without the punctuation around it.
func bareWord(w string) string {
	return strings.ToLower(strings.TrimFunc(w, func(r rune) bool { return unicode.IsPunct(r) && r != '%' }))
}

func meanConfidence(words []deepgramWord) float64 {
	if len(words) == 0 {
		return 0
	}
	sum := 0.0
	for _, w := range words {
		sum += w.Confidence
	}
	return sum / float64(len(words))
}

// deepgramError is Deepgram's form. Of its codes (its reference, "Errors") programs look at few.
func deepgramError(e *apiError, id string) any {
	code := http.StatusText(e.status)
	switch e.status {
	case http.StatusUnauthorized:
		code = "INVALID_AUTH"
	case http.StatusRequestTimeout:
		code = "SLOW_UPLOAD"
	case http.StatusTooManyRequests:
		code = "TOO_MANY_REQUESTS"
	}
	return map[string]string{"err_code": code, "err_msg": e.message, "request_id": id}
}
