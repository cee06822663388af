package server

import (
	"context"

	"hark/audioprep"
	"hark/batcher"
	"hark/engine"
)

// prepared is decoded audio, cut into windows.
type prepared struct {
	pcm      *audioprep.PCM
	channels [][]engine.Span
	running  bool // a batch may still look at the samples
}

// close gives the samples back, or leaves them to a batch that may still run.
func (p *prepared) close() {
	if p.running {
		p.pcm.Abandon()
		return
	}
	p.pcm.Close()
	returnMemory(p.bytes())
}

// prepare cuts audio in windows of at most so many samples.
func (t *Transcriber) prepare(ctx context.Context, pcm *audioprep.PCM, maxSamples int) (*prepared, error) {
	places := t.gate.recordings
	if laneOf(len(pcm.Samples)) == batcher.Clips {
		places = t.gate.clips
	}
	p := &prepared{pcm: pcm}
	err := inPlace(ctx, places, nil, nil, func() error {
		for c := range pcm.Channels {
			windows, err := pcm.Windows(ctx, c, maxSamples)
			if err != nil {
				return err
			}
			spans := make([]engine.Span, len(windows))
			for i, w := range windows {
				spans[i] = engine.Span{Start: w.Start, End: w.End, Overlap: w.Overlap}
			}
			p.channels = append(p.channels, spans)
		}
		return nil
	})
	return p, err
}

// length is how many samples a channel has.
func (p *prepared) length() int { return len(p.pcm.Samples) }

// bytes is what all samples take.
func (p *prepared) bytes() int64 { return int64(p.length()) * 4 * int64(len(p.channels)) }

// heard is how many seconds the model is given, those of all channels together.
func (p *prepared) heard(sequential bool) (s float64) {
	for _, spans := range p.channels {
		if sequential && len(spans) > 0 {
			s += seconds(p.length())
			continue
		}
		for _, w := range spans {
			s += seconds(w.End - w.Start - w.Overlap)
		}
	}
	return s
}

// plan makes the jobs, of channels that are kept apart one for each, and says what they cost
// in ms. A channel without speech has none.
func (p *prepared) plan(h *hearing, model engine.Model, in Input) (s *series, cost int64, err error) {
	s = &series{hearing: h, model: model.Info(), audio: p.pcm, sequential: in.Options.Sequential}
	for c, spans := range p.channels {
		samples := p.length()
		if !in.Options.Sequential {
			samples = total(spans)
		}
		strand, ms, err := s.add(model, c, spans, in.Options, samples)
		if err != nil {
			return nil, 0, err
		}
		if strand != nil {
			strand.settle = strand.settleTo(h.track(), in.Choice.Separate, "")
			cost += ms
		}
	}
	return s, cost, nil
}

// total is how many samples spans have together.
func total(spans []engine.Span) (samples int) {
	for _, s := range spans {
		samples += s.End - s.Start
	}
	return samples
}
