package whisper

import "hark/engine"

// features puts the log-mel of the next pass of each window, in the context that it is to be heard in, one after
// another in the encoder's input, and returns the frames of each context.
func (m *Model) features(group []*place) (frames []int, err error) {
	var sounds []engine.Sound
	rows := 0
	for _, p := range group {
		dst := m.enc.mel.Slice(rows, rows+p.frames)
		rows += p.frames
		frames = append(frames, p.frames)
		if m.onDevice == nil {
			mel := m.melScratch[:p.frames*m.config.Mels]
			p.chain.window(mel)
			m.dev.Upload(dst, mel)
			continue
		}
		sound, err := p.chain.sound(p.frames)
		if err != nil {
			return nil, err
		}
		sounds = append(sounds, sound)
	}
	if m.onDevice != nil {
		m.onDevice.LogMel(m.enc.mel.Slice(0, rows), sounds)
	}
	return frames, nil
}

// sound is the next pass, in so many frames, as a device that makes log-mel is to hear it: as [chain.window] has it.
// What is longer than a window is measured first, once: it's heard a window at a time, and cut off below the peak of
// the whole.
func (c *chain) sound(frames int) (engine.Sound, error) {
	if c.peak == 0 && c.content > framesPerWindow {
		var err error
		if c.peak, err = c.job.model.onDevice.Peak(c.samples); err != nil {
			return engine.Sound{}, err
		}
	}
	sound := engine.Sound{Samples: c.samples, From: c.seek, Frames: frames, Rows: frames, Peak: c.peak}
	if viewOf(frames) == wholeView {
		sound.Frames = c.size()
	}
	return sound, nil
}
