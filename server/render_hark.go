package server

import (
	"time"

	"hark/engine"
)

// harkTranscript is the answer of /v1/transcribe: verbose_json with the language as a code, and how it came about.
type harkTranscript struct {
	*verboseTranscript
	Hark harkReport `json:"hark"`
}

// harkReport is the object "hark".
type harkReport struct {
	Model       string   `json:"model"`
	Device      string   `json:"device"`
	Lane        string   `json:"lane"` // "clips" or "recordings"
	QueueMillis float64  `json:"queue_ms"`
	Compute     float64  `json:"compute_ms"`
	TurnsWaited int      `json:"turns_waited"`
	Coverage    coverage `json:"coverage"`
	// Audio says what the upload was found to be.
	Audio audioReport `json:"audio"`
}

// coverage tells which part of the audio the model was given; the rest was taken for silence. Where channels are heard
// separately, it counts each one's.
type coverage struct {
	Audio   float64 `json:"audio_s"`
	Heard   float64 `json:"heard_s"`
	Skipped float64 `json:"skipped_s"`
}

type audioReport struct {
	Container  string   `json:"container"`
	Codec      string   `json:"codec"`
	Decoder    string   `json:"decoder,omitempty"` // "ffmpeg 5.1.9" where hark did not decode it itself
	SampleRate int      `json:"sample_rate"`
	Channels   int      `json:"channels"`
	Faults     []string `json:"faults"`
}

// coded is verbose_json with the language as a code, and how sure the model was of each word.
func coded(t *Transcript, detail Detail) *verboseTranscript {
	v := verbose(t.Result, t.Duration, t.Task, detail)
	if t.Task == engine.Translate {
		v.Language = "en"
	}
	addSureness(v.Words, t.Result)
	return v
}

// verboseAs is verbose_json as a dialect has it, without what hark's own adds about the request.
func verboseAs(t *Transcript, detail Detail, d dialect) *verboseTranscript {
	if d.openAI {
		return named(verbose(t.Result, t.Duration, t.Task, detail), t.Task)
	}
	return coded(t, detail)
}

func renderHark(t *Transcript, detail Detail) ([]byte, error) {
	v := coded(t, detail)
	faults := t.Audio.Faults
	if faults == nil {
		faults = []string{}
	}
	audio := v.Duration * float64(max(1, t.Channels))
	heard := min(floorMillis(t.Heard), audio)
	return marshal(harkTranscript{v, harkReport{
		Model:       t.Model.Name,
		Device:      t.Model.Device,
		Lane:        t.Lane.String(),
		QueueMillis: inMillis(t.Queue),
		Compute:     inMillis(t.Compute),
		TurnsWaited: t.TurnsWaited,
		Coverage:    coverage{audio, heard, floorMillis(audio - heard)},
		Audio: audioReport{t.Audio.Container, t.Audio.Codec, t.Audio.Decoder, t.Audio.SampleRate,
			t.Audio.Channels, faults},
	}})
}

// inMillis is a duration in ms, to the microsecond.
func inMillis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// lineTranscript is one file's object where many are written, one a line.
type lineTranscript struct {
	File     string         `json:"file"`
	Text     string         `json:"text"`
	Language string         `json:"language"`
	Duration float64        `json:"duration"`
	Segments *[]jsonSegment `json:"segments,omitempty"`
	Words    *[]jsonWord    `json:"words,omitempty"`
}

// RenderLine writes a file's transcript as one JSON object on a line of its own, the language as a code.
func RenderLine(file string, t *Transcript, words bool) ([]byte, error) {
	v := verbose(t.Result, t.Duration, t.Task, Detail{Segments: true, Words: words})
	if t.Task == engine.Translate {
		v.Language = "en"
	}
	return marshal(lineTranscript{file, v.Text, v.Language, v.Duration, v.Segments, v.Words})
}

// addSureness says of each word how sure the model was. words, in the order of the
// result's, is nil if they were not asked for.
func addSureness(words *[]jsonWord, res *engine.Result) {
	if words == nil {
		return
	}
	i := 0
	for _, s := range res.Segments {
		for _, w := range s.Words {
			own := &(*words)[i]
			i++
			probability := finite(w.Probability)
			own.Probability = &probability
			if w.Confidence > 0 {
				confidence := finite(w.Confidence)
				own.Confidence = &confidence
			}
		}
	}
}
