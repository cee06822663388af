package conform

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// sampleRate is that of the speech, in Hz.
const sampleRate = 16000

// clipSeconds is where the first half-sentence of the speech ends: "... a flask of tea".
const clipSeconds = 5.45

// speech is the recording that S(n) repeats, and what is said in it.
type speech struct {
	samples []int16 // at sampleRate
	words   []spoken
}

// spoken is a word with its time, in seconds.
type spoken struct {
	word       string
	start, end float64
}

// words.tsv holds the words of the sample recording and when each begins and ends, as the
// synthesiser that spoke it tells (flite -psdur).
//
//go:embed audio/words.tsv
var wordTable string

// newSpeech reads the sample recording.
func newSpeech(recording []byte) (*speech, error) {
	const header = 44
	if len(recording) < header || !bytes.Equal(recording[:4], []byte("RIFF")) ||
		binary.LittleEndian.Uint32(recording[24:]) != sampleRate {
		return nil, fmt.Errorf("the speech %w: want the sample recording, WAV of 16 kHz", ErrConfig)
	}
	s := &speech{samples: make([]int16, (len(recording)-header)/2)}
	for i := range s.samples {
		s.samples[i] = int16(binary.LittleEndian.Uint16(recording[header+2*i:]))
	}
	for line := range strings.Lines(wordTable) {
		f := strings.Fields(line)
		start, _ := strconv.ParseFloat(f[1], 64)
		end, _ := strconv.ParseFloat(f[2], 64)
		s.words = append(s.words, spoken{f[0], start, end})
	}
	if last := s.words[len(s.words)-1]; s.seconds() < last.end {
		return nil, fmt.Errorf("the speech %w: it has %.1f s, and its words %.1f", ErrConfig, s.seconds(), last.end)
	}
	return s, nil
}

func (s *speech) seconds() float64 { return float64(len(s.samples)) / sampleRate }

// cut is S from one time to another, in seconds.
func (s *speech) cut(from, to float64) []int16 {
	var out []int16
	for at, n := int(from*sampleRate), int(to*sampleRate); at < n; {
		run := s.samples[at%len(s.samples):]
		run = run[:min(len(run), n-at)]
		out = append(out, run...)
		at += len(run)
	}
	return out
}

// said are the words that are whole in S between two times, with their times in S.
func (s *speech) said(from, to float64) []spoken {
	var out []spoken
	for k := math.Floor(from / s.seconds()); k*s.seconds() < to; k++ {
		for _, w := range s.words {
			w.start += k * s.seconds()
			w.end += k * s.seconds()
			if w.start >= from && w.end <= to {
				out = append(out, w)
			}
		}
	}
	return out
}

// text is what is said in S between two times.
func (s *speech) text(from, to float64) string {
	var words []string
	for _, w := range s.said(from, to) {
		words = append(words, w.word)
	}
	return strings.Join(words, " ")
}

// matches returns an error for a text that is not what S says between two times. One word in seven may be misheard, but
// no three in a row may be missing or added.
func (s *speech) matches(text string, from, to float64) error {
	return matches(text, s.text(from, to))
}

// lastSound is when the last word before the given time ends, in seconds.
func (s *speech) lastSound(before float64) float64 {
	last := 0.0
	for k := max(0, math.Floor(before/s.seconds())-1); k*s.seconds() < before; k++ {
		for _, w := range s.words {
			if start := k*s.seconds() + w.start; start < before {
				last = min(before, k*s.seconds()+w.end)
			}
		}
	}
	return last
}

// loop is S(n), made while it is sent.
func (s *session) loop(seconds float64) upload {
	samples := int64(seconds * sampleRate)
	head := wavForm{bits: 16, rate: sampleRate, channels: 1}.header(uint32(2 * samples))
	sound := pcm16(s.speech.samples)
	return upload{"speech.wav", "audio/x-wav", int64(len(head)) + 2*samples, func() io.Reader {
		return io.MultiReader(bytes.NewReader(head), &loopReader{sound: sound, left: 2 * samples})
	}}
}

// clip is the first half-sentence as a plain WAV.
func (s *session) clip() upload { return plain(s.speech.cut(0, clipSeconds)) }

// plain is a WAV of samples at 16 kHz, mono, 16 bits.
func plain(samples []int16) upload {
	return wav(wavForm{bits: 16, rate: sampleRate, channels: 1}.encode(samples))
}

// silence are so many seconds of nothing at all.
func silence(seconds float64) []int16 { return make([]int16, int(seconds*sampleRate)) }

// joined are samples one after another.
func joined(parts ...[]int16) []int16 { return slices.Concat(parts...) }

// loopReader repeats sound until so many bytes are read.
type loopReader struct {
	sound []byte
	at    int
	left  int64
}

func (r *loopReader) Read(p []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(int64(len(p)), r.left)], r.sound[r.at:])
	r.at = (r.at + n) % len(r.sound)
	r.left -= int64(n)
	return n, nil
}
