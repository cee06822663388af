package conform

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
)

// noWords is T14: where nobody speaks, nothing is written.
func noWords(samples func() []int16) check {
	return func(ctx context.Context, s *session) (string, error) {
		t, err := s.verbose(ctx, plain(samples()))
		if err != nil {
			return "", err
		}
		if strings.TrimSpace(t.Text) != "" || len(t.Segments) > 0 {
			return "", fmt.Errorf("%q in %d segments", brief(t.Text), len(t.Segments))
		}
		return "no text, no segments", nil
	}
}

// calm is T14: for sounds that are no speech, in which models hear things. Nothing may be said over and over.
func calm(samples func() []int16) check {
	return func(ctx context.Context, s *session) (string, error) {
		t, err := s.verbose(ctx, plain(samples()))
		if err != nil {
			return "", err
		}
		if err := errors.Join(t.ordered(), unlooped(t.Text)); err != nil {
			return "", err
		}
		return fmt.Sprintf("%q", brief(t.Text)), nil
	}
}

// unlooped returns an error for what models are known to write when nobody speaks.
func unlooped(text string) error {
	if three := repeated(text); three != "" {
		return fmt.Errorf("%q over and over: %q", three, brief(text))
	}
	if strings.Contains(" "+strings.Join(normal(text), " ")+" ", " thank you ") {
		return fmt.Errorf("%q", brief(text))
	}
	return nil
}

// besideSilence is T14: speech with silence before or after it is there once, and nothing else.
func besideSilence(before, after float64) check {
	return func(ctx context.Context, s *session) (string, error) {
		t, err := s.verbose(ctx, plain(joined(silence(before), s.speech.cut(0, clipSeconds), silence(after))))
		if err != nil {
			return "", err
		}
		return brief(t.Text), errors.Join(s.speech.matches(t.Text, 0, clipSeconds), t.ordered(), unlooped(t.Text))
	}
}

func silent(seconds float64) func() []int16 {
	return func() []int16 { return silence(seconds) }
}

// noise is 10 s of white noise at −60 dB of full scale, always the same.
func noise() []int16 {
	random := rand.New(rand.NewPCG(1, 2))
	return synth(10, func(float64) float64 { return 0.001 * random.NormFloat64() })
}

// tone is 10 s of 440 Hz.
func tone() []int16 {
	return synth(10, func(t float64) float64 { return 0.3 * math.Sin(2*math.Pi*440*t) })
}

// music is 20 s of four chords, each tone with its overtones, struck twice a second.
func music() []int16 {
	chords := [][]float64{{220, 277.2, 329.6}, {146.8, 185, 220}, {164.8, 207.7, 246.9}, {220, 277.2, 329.6}}
	return synth(20, func(t float64) float64 {
		v, sinceStruck := 0.0, math.Mod(t, 0.5)
		for _, f := range chords[int(t/2)%len(chords)] {
			for overtone := 1.0; overtone <= 4; overtone++ {
				v += math.Sin(2*math.Pi*f*overtone*t) / overtone
			}
		}
		return 0.08 * v * math.Exp(-4*sinceStruck)
	})
}

// synth makes samples of a function of the time, in seconds, to −1..1.
func synth(seconds float64, at func(t float64) float64) []int16 {
	out := silence(seconds)
	for i := range out {
		out[i] = int16(32767 * max(-1, min(1, at(float64(i)/sampleRate))))
	}
	return out
}
