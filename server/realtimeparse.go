package server

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"hark/audioprep"
	"hark/engine"
	"hark/live"
)

// logprobsInclude is what "include" may hold.
const logprobsInclude = "item.input_audio_transcription.logprobs"

// update changes settings as an event's session says. Only the members that are there change
// anything. What is ignored comes back in words.
func (v *liveSettings) update(raw json.RawMessage) (warnings []string, err error) {
	o, err := newObject("session.", raw)
	if err != nil {
		return nil, err
	}
	p := &liveParser{settings: v}
	if err := p.session(o); err != nil {
		return nil, err
	}
	slices.Sort(p.warnings)
	return p.warnings, nil
}

// liveParser reads the object "session".
type liveParser struct {
	settings *liveSettings
	warnings []string
}

func (p *liveParser) warn(format string, args ...any) {
	p.warnings = append(p.warnings, fmt.Sprintf(format, args...))
}

// rest warns of the members that nobody took.
func (p *liveParser) rest(o object) {
	for name, raw := range o.members {
		if string(raw) != "null" && len(p.warnings) < 16 {
			p.warn("%s is ignored: this server does not know it", shown(o.path+name))
		}
	}
}

func (p *liveParser) session(o object) error {
	kind := ""
	if err := o.into("type", &kind, "a string"); err != nil {
		return err
	}
	if kind != "" && kind != "transcription" {
		return badField("session.type", "invalid_value",
			"session.type is %s, want transcription: this server transcribes, and does not converse", quoted(kind))
	}
	if err := p.include(o); err != nil {
		return err
	}
	audio, _, ok, err := o.object("audio")
	if err != nil {
		return err
	}
	if ok {
		input, _, _, err := audio.object("input")
		if err != nil {
			return err
		}
		if err := p.input(input, ""); err != nil {
			return err
		}
		p.rest(input)
		p.rest(audio)
	}
	// In beta the members of audio.input stood in the session itself.
	if err := p.input(o, "input_audio_"); err != nil {
		return err
	}
	for _, name := range []string{"modalities", "id", "object", "expires_at", "client_secret"} {
		delete(o.members, name) // what clients send back as they got it
	}
	p.rest(o)
	return nil
}

// input reads what is said of the sound, in members whose names begin with a prefix, but for turn_detection.
func (p *liveParser) input(o object, prefix string) error {
	if err := p.format(o, prefix+"format"); err != nil {
		return err
	}
	if err := p.transcription(o, prefix+"transcription"); err != nil {
		return err
	}
	p.noiseReduction(o, prefix+"noise_reduction")
	return p.turnDetection(o)
}

func (p *liveParser) include(o object) error {
	list := []string(nil)
	if _, ok := o.members["include"]; !ok {
		return nil
	}
	if err := replace(o, "include", &list, "a list of strings"); err != nil {
		return err
	}
	p.settings.logprobs = false
	for _, what := range list {
		if what != logprobsInclude {
			return badField("session.include", "invalid_value", "session.include has %s, want %s",
				quoted(what), logprobsInclude)
		}
		p.settings.logprobs = true
	}
	return nil
}

// format reads an object, or in beta a name.
func (p *liveParser) format(o object, member string) error {
	raw, null, ok := o.take(member)
	if !ok || null {
		return nil
	}
	param := o.path + member
	var name string
	if json.Unmarshal(raw, &name) == nil {
		format, ok := betaFormats[name]
		if !ok {
			return badField(param, "invalid_value", "%s is %s, want pcm16, g711_ulaw or g711_alaw", param, quoted(name))
		}
		p.settings.format = format
		return nil
	}
	f, err := newObject(param+".", raw)
	if err != nil {
		return err
	}
	name = "audio/pcm"
	if err := f.into("type", &name, "a string"); err != nil {
		return err
	}
	format, ok := soundFormats[name]
	if !ok {
		return badField(f.path+"type", "invalid_value",
			"%stype is %s, want audio/pcm, audio/pcmu or audio/pcma", f.path, quoted(name))
	}
	rate := format.rate
	if err := f.into("rate", &rate, "a whole number"); err != nil {
		return err
	}
	if rate != format.rate && (format.codec != audioprep.RawPCM16 || !slices.Contains(pcmRates, rate)) {
		return badField(f.path+"rate", "invalid_value",
			"%srate is %d, want one of 8000, 16000, 24000, 44100, 48000 for audio/pcm, and 8000 for the others", f.path, rate)
	}
	p.settings.format = soundFormat{format.codec, rate}
	p.rest(f)
	return nil
}

// noiseReduction is taken and not done: models hear better what was recorded than what a filter left of it.
func (p *liveParser) noiseReduction(o object, member string) {
	if _, null, ok := o.take(member); ok && !null {
		p.warn("%s is ignored: the sound is heard as it comes", o.path+member)
	}
}

func (p *liveParser) transcription(o object, member string) error {
	t, null, ok, err := o.object(member)
	if err != nil || !ok {
		return err
	}
	if null {
		p.settings.transcription = nil
		return nil
	}
	s := p.settings.transcription
	if s == nil {
		s = &transcriptionSettings{}
		p.settings.transcription = s
	}
	if err := t.into("model", &s.model, "a string"); err != nil {
		return err
	}
	for _, parse := range []func(object, *transcriptionSettings) error{p.language, p.prompt, p.keywords, p.delay} {
		if err := parse(t, s); err != nil {
			return err
		}
	}
	p.rest(t)
	return nil
}

func (p *liveParser) language(t object, s *transcriptionSettings) error {
	_, one := t.members["language"]
	_, several := t.members["languages"]
	if !one && !several {
		return nil
	}
	s.language, s.code = "", ""
	var names []string
	if err := t.into("languages", &names, "a list of strings"); err != nil {
		return err
	}
	if err := t.into("language", &s.language, "a string"); err != nil {
		return err
	}
	param := t.path + "language"
	switch {
	case s.language != "" && len(names) > 0:
		return badField(t.path+"languages", "conflicting_values",
			"language and languages exclude each other: send one of them")
	case len(names) == 1:
		s.language, param = names[0], t.path+"languages"
	case len(names) > 1:
		p.warn("%slanguages is ignored: of several languages, the one spoken is detected", t.path)
	}
	code, ok := engine.ParseLanguage(s.language)
	if !ok {
		return unknownLanguage(param, s.language)
	}
	s.code = code
	return nil
}

func (p *liveParser) prompt(t object, s *transcriptionSettings) error {
	if err := replace(t, "prompt", &s.prompt, "a string"); err != nil {
		return err
	}
	if len(s.prompt) > maxPromptBytes {
		return badField(t.path+"prompt", "too_long", "the prompt has %d bytes, at most %d are taken",
			len(s.prompt), maxPromptBytes)
	}
	return nil
}

func (p *liveParser) keywords(t object, s *transcriptionSettings) error {
	if err := replace(t, "keywords", &s.keywords, "a list of strings"); err != nil {
		return err
	}
	for _, word := range s.keywords {
		if strings.ContainsAny(word, "<>\r\n") {
			return badField(t.path+"keywords", "invalid_value",
				"the keyword %s holds <, > or a line break: send each keyword by itself, without them", quoted(word))
		}
	}
	return nil
}

func (p *liveParser) delay(t object, s *transcriptionSettings) error {
	if err := replace(t, "delay", &s.delay, "a string"); err != nil {
		return err
	}
	if _, ok := delays[s.delay]; !ok {
		return badField(t.path+"delay", "invalid_value",
			"%sdelay is %s, want minimal, low, medium, high or xhigh", t.path, quoted(s.delay))
	}
	return nil
}

func (p *liveParser) turnDetection(o object) error {
	t, null, ok, err := o.object("turn_detection")
	if err != nil || !ok {
		return err
	}
	if null {
		p.settings.turns = nil
		return nil
	}
	kind, eagerness := "server_vad", "auto"
	if err := t.into("type", &kind, "a string"); err != nil {
		return err
	}
	if err := t.into("eagerness", &eagerness, "a string"); err != nil {
		return err
	}
	turns := p.settings.turns
	if turns == nil {
		turns = &live.Turns{Threshold: defaultThreshold, Padding: defaultPadding, Silence: defaultSilence}
	}
	switch kind {
	case "server_vad":
	case "semantic_vad":
		silence, ok := eagerSilence[eagerness]
		if !ok {
			return badField(t.path+"eagerness", "invalid_value", "%seagerness is %s, want low, medium, high or auto",
				t.path, quoted(eagerness))
		}
		turns.Silence = silence
		p.warn("%stype is server_vad: this server has no semantic_vad, and ends a turn after %v of silence", t.path, silence)
	default:
		return badField(t.path+"type", "invalid_value",
			"%stype is %s, want server_vad, or null instead of the object", t.path, quoted(kind))
	}
	if err := t.number("threshold", &turns.Threshold, 0, 1); err != nil {
		return err
	}
	if err := t.millis("prefix_padding_ms", &turns.Padding, 0, 10_000); err != nil {
		return err
	}
	if err := t.millis("silence_duration_ms", &turns.Silence, 50, 30_000); err != nil {
		return err
	}
	for _, name := range []string{"create_response", "interrupt_response", "idle_timeout_ms"} {
		delete(t.members, name) // of conversations
	}
	p.settings.turns = turns
	p.rest(t)
	return nil
}
