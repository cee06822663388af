package server

import (
	"time"

	"hark/audioprep"
	"hark/engine"
	"hark/live"
)

// liveSettings are a session's, as its client named them.
type liveSettings struct {
	format        soundFormat
	turns         *live.Turns            // nil: the client commits
	transcription *transcriptionSettings // nil: off
	logprobs      bool
}

// transcriptionSettings are those of the object "transcription".
type transcriptionSettings struct {
	model    string // as the client names it
	language string // as the client names it
	code     string // the language's, "" to have it detected
	prompt   string
	keywords []string
	delay    string
}

// soundFormat is how sound is written.
type soundFormat struct {
	codec audioprep.RawCodec
	rate  int
}

// The formats, by their names now and in beta. 16-bit PCM may also have another rate: OpenAI takes 24 kHz only.
var (
	soundFormats = map[string]soundFormat{
		"audio/pcm": {audioprep.RawPCM16, 24000}, "audio/pcmu": {audioprep.RawMuLaw, 8000},
		"audio/pcma": {audioprep.RawALaw, 8000},
	}
	betaFormats = map[string]soundFormat{
		"pcm16": soundFormats["audio/pcm"], "g711_ulaw": soundFormats["audio/pcmu"],
		"g711_alaw": soundFormats["audio/pcma"],
	}
	pcmRates = []int{8000, 16000, 24000, 44100, 48000}
)

// nameIn is the name of a format.
func (f soundFormat) nameIn(formats map[string]soundFormat) string {
	for name, known := range formats {
		if known.codec == f.codec {
			return name
		}
	}
	return ""
}

// Turns as OpenAI has them by default.
const (
	defaultThreshold = 0.5
	defaultPadding   = 300 * time.Millisecond
	defaultSilence   = 500 * time.Millisecond
)

// eagerSilence is the pause that ends a turn for each "eagerness" of semantic_vad, which this server has not.
var eagerSilence = map[string]time.Duration{"low": time.Second, "medium": defaultSilence, "auto": defaultSilence,
	"high": 250 * time.Millisecond}

// delays are how much is spoken between two looks at a turn for each "delay": the
// longer, the less work, and the later the text.
var delays = map[string]time.Duration{
	"": 250 * time.Millisecond, "minimal": 250 * time.Millisecond, "low": 500 * time.Millisecond,
	"medium": time.Second, "high": 2 * time.Second, "xhigh": 4 * time.Second,
}

func newLiveSettings() *liveSettings {
	return &liveSettings{
		format:        soundFormats["audio/pcm"],
		turns:         &live.Turns{Threshold: defaultThreshold, Padding: defaultPadding, Silence: defaultSilence},
		transcription: &transcriptionSettings{},
	}
}

// clone returns settings that can be changed by themselves.
func (v *liveSettings) clone() *liveSettings {
	c := *v
	if v.turns != nil {
		turns := *v.turns
		c.turns = &turns
	}
	if v.transcription != nil {
		t := *v.transcription
		c.transcription = &t
	}
	return &c
}

// session is what they mean for a session. resolve finds the model behind a name.
func (v *liveSettings) session(resolve func(string) (string, error)) (live.Settings, error) {
	out := live.Settings{Codec: v.format.codec, Rate: v.format.rate, Turns: v.turns}
	t := v.transcription
	if t == nil {
		return out, nil
	}
	model, err := resolve(t.model)
	if err != nil {
		return out, err
	}
	out.Text = &live.Text{Model: model, Every: delays[t.delay], Options: engine.Options{
		Language: t.code, Prompt: t.prompt, Keywords: t.keywords, LogProbs: v.logprobs,
	}}
	return out, nil
}

// wireSession is the object "session" of events. What it has not is null, not left out, so that it is seen to be off.
type wireSession struct {
	Type      string     `json:"type"`
	ID        string     `json:"id"`
	Object    string     `json:"object"`
	ExpiresAt int64      `json:"expires_at"` // in Unix seconds
	Include   []string   `json:"include"`
	Audio     *wireAudio `json:"audio,omitempty"`
	*betaInput
}

type wireAudio struct {
	Input wireInput `json:"input"`
}

type wireInput struct {
	Format         wireFormat         `json:"format"`
	NoiseReduction *struct{}          `json:"noise_reduction"`
	Transcription  *wireTranscription `json:"transcription"`
	TurnDetection  *wireTurns         `json:"turn_detection"`
}

type wireFormat struct {
	Type string `json:"type"`
	Rate int    `json:"rate"`
}

type wireTranscription struct {
	Model    string   `json:"model"`
	Language *string  `json:"language"`
	Prompt   string   `json:"prompt"`
	Keywords []string `json:"keywords,omitempty"`
	Delay    string   `json:"delay,omitempty"`
}

type wireTurns struct {
	Type      string  `json:"type"`
	Threshold float64 `json:"threshold"`
	Padding   int64   `json:"prefix_padding_ms"`
	Silence   int64   `json:"silence_duration_ms"`
}

// betaInput is what stood in the session itself in beta.
type betaInput struct {
	Format         string             `json:"input_audio_format"`
	NoiseReduction *struct{}          `json:"input_audio_noise_reduction"`
	Transcription  *wireTranscription `json:"input_audio_transcription"`
	TurnDetection  *wireTurns         `json:"turn_detection"`
}

// wire is how settings look in events.
func (v *liveSettings) wire(id string, expires time.Time, beta bool) *wireSession {
	s := &wireSession{Type: "transcription", ID: id, Object: "realtime.transcription_session",
		ExpiresAt: expires.Unix()}
	if v.logprobs {
		s.Include = []string{logprobsInclude}
	}
	var transcription *wireTranscription
	if t := v.transcription; t != nil {
		transcription = &wireTranscription{t.model, nullable(t.language), t.prompt, t.keywords, t.delay}
	}
	var turns *wireTurns
	if t := v.turns; t != nil {
		turns = &wireTurns{"server_vad", t.Threshold, t.Padding.Milliseconds(), t.Silence.Milliseconds()}
	}
	if beta {
		s.betaInput = &betaInput{Format: v.format.nameIn(betaFormats),
			Transcription: transcription, TurnDetection: turns}
	} else {
		format := wireFormat{v.format.nameIn(soundFormats), v.format.rate}
		s.Audio = &wireAudio{wireInput{Format: format, Transcription: transcription, TurnDetection: turns}}
	}
	return s
}
