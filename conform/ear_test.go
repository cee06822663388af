package conform

import (
	"bytes"
	"context"
	"crypto/sha256"
	"math"
	"sync"
	"time"

	"hark/audioprep"
)

// ear recognises the speech, and nothing else, in whatever holds it. It compares
// loudness over time with that of the recording.
type ear struct {
	speech  *speech
	profile []float64 // loudness of the recording, in steps

	mu    sync.Mutex
	known map[[sha256.Size]byte]heard
}

// heard is what is said in a file.
type heard struct {
	words    []spoken
	seconds  float64
	language string // "" is English
	err      error
}

const (
	step       = 0.01  // seconds
	quiet      = 0.004 // of full scale
	longestGap = 0.6   // seconds within a stretch of speech
)

func newEar(s *speech) *ear {
	samples := make([]float32, len(s.samples))
	for i, v := range s.samples {
		samples[i] = float32(v) / 32768
	}
	return &ear{speech: s, profile: loudness(samples), known: map[[sha256.Size]byte]heard{}}
}

// hear recognises a file. What was heard once is known.
func (e *ear) hear(data []byte) heard {
	sum := sha256.Sum256(data)
	e.mu.Lock()
	defer e.mu.Unlock()
	h, ok := e.known[sum]
	if ok {
		return h
	}
	pcm, err := audioprep.Decode(context.Background(), bytes.NewReader(data), audioprep.Options{})
	if err != nil {
		h.err = err
	} else {
		h = heard{words: e.recognise(pcm.Samples), seconds: float64(len(pcm.Samples)) / sampleRate}
		pcm.Close()
	}
	e.known[sum] = h
	return h
}

// teach makes a file known as speech in another language.
func (e *ear) teach(data []byte, language, text string) {
	e.known[sha256.Sum256(data)] = heard{words: []spoken{{text, 0.1, 1}}, seconds: 1.5, language: language}
}

// recognise returns the words of all stretches of sound, with their times.
func (e *ear) recognise(samples []float32) []spoken {
	loud := loudness(samples)
	var words []spoken
	for begin := 0; begin < len(loud); begin++ {
		if loud[begin] < quiet {
			continue
		}
		end := begin + 1
		for i := end; i < len(loud) && float64(i-end)*step < longestGap; i++ {
			if loud[i] >= quiet {
				end = i + 1
			}
		}
		words = append(words, e.place(loud[begin:end], float64(begin)*step)...)
		begin = end
	}
	return words
}

// place finds where in the recording a stretch comes from and returns its words, at being the stretch's own time.
func (e *ear) place(stretch []float64, at float64) []spoken {
	best, phase := 0.8, -1
	for p := range e.profile {
		if c := e.likeness(stretch[:min(len(stretch), len(e.profile))], p); c > best {
			best, phase = c, p
		}
	}
	if phase < 0 {
		return nil
	}
	from := float64(phase) * step
	words := e.speech.said(from-0.05, from+float64(len(stretch))*step+0.05)
	for i := range words {
		words[i].start += at - from
		words[i].end += at - from
	}
	return words
}

// likeness is the correlation of a stretch with the recording from some step on.
func (e *ear) likeness(stretch []float64, phase int) float64 {
	var sa, sb, saa, sbb, sab float64
	n := float64(len(stretch))
	for i, a := range stretch {
		b := e.profile[(phase+i)%len(e.profile)]
		sa, sb, saa, sbb, sab = sa+a, sb+b, saa+a*a, sbb+b*b, sab+a*b
	}
	va, vb := saa-sa*sa/n, sbb-sb*sb/n
	if va <= 1e-9 || vb <= 1e-9 {
		return 0
	}
	return (sab - sa*sb/n) / math.Sqrt(va*vb)
}

// loudness is the root mean square of each step.
func loudness(samples []float32) []float64 {
	const n = sampleRate / 100
	out := make([]float64, 0, len(samples)/n+1)
	for len(samples) > 0 {
		block := samples[:min(n, len(samples))]
		var sum float64
		for _, v := range block {
			sum += float64(v) * float64(v)
		}
		out = append(out, math.Sqrt(sum/n))
		samples = samples[len(block):]
	}
	return out
}

func inSeconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
