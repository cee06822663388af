package cuda

import (
	"errors"
	"fmt"
	"math"

	"hark/engine"
	"hark/engine/cuda/driver"
)

// What kernels/cuda/mel.cu has.
const (
	melFrames  = 8  // of a block of mel_frames
	melPasses  = 8  // most of a transform
	levelBins  = 32 // of a block of mel_level
	levelLines = 16
	// melPart is how many frames are computed at once where only a peak is asked for: 30 s or so.
	melPart = 3000
)

// logMel is a front end: its tables.
type logMel struct {
	bins, fft, hop        int
	scale, cut, deviation float32

	spec, window, roots, bands, weights driver.DevicePtr
}

func (m *logMel) Bins() int { return m.bins }

// NewLogMel brings a front end to the GPU.
func (d *Device) NewLogMel(s engine.LogMelSpec) (engine.LogMel, error) {
	if s.Bins < 1 || s.Hop < 1 || s.FFT < 2 || len(s.Window) != s.FFT ||
		len(s.Filters) != s.Bins*(s.FFT/2+1) || s.Least+s.Guard <= 0 {
		return nil, fmt.Errorf("cuda: log-mel of %d bins: %d and %d weights for transforms of %d every %d samples, powers from %g on",
			s.Bins, len(s.Window), len(s.Filters), s.FFT, s.Hop, s.Least+s.Guard)
	}
	radices := radicesOf(s.FFT)
	if radices == nil || melShared(s.FFT) > freeSharedBytes {
		return nil, fmt.Errorf("cuda: log-mel: a Fourier transform of %d samples: %w", s.FFT, errors.ErrUnsupported)
	}
	m := &logMel{bins: s.Bins, fft: s.FFT, hop: s.Hop, scale: 1, cut: s.Range, deviation: s.Deviation}
	if m.cut > 0 {
		m.scale = math.Log10E
	}
	bands, weights := bandsOf(s)
	spec := []uint32{uint32(s.FFT), uint32(s.Hop), uint32(s.Bins), 0,
		math.Float32bits(s.Preemphasis), math.Float32bits(s.Least), math.Float32bits(s.Guard),
		math.Float32bits(m.scale)}
	if s.Mirrored {
		spec[3] = 1
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	placed, err := d.placeAll(s.Window, rootsOf(s.FFT), weights)
	if err != nil {
		return nil, err
	}
	m.window, m.roots, m.weights = placed[0], placed[1], placed[2]
	for _, table := range []struct {
		at    *driver.DevicePtr
		words []uint32
	}{{&m.spec, append(spec, radices...)}, {&m.bands, bands}} {
		b, err := d.placeWords(table.words)
		if err != nil {
			return nil, err // what was placed goes back with the device
		}
		*table.at = b.address()
	}
	return m, nil
}

// melShared is the shared memory of a block of mel_frames: roots, and two halves for each warp.
func melShared(fft int) int { return 2 * f32.bytes() * fft * (1 + melFrames) }

// radicesOf is the passes that a transform of real samples is made of, with zeros after them; nil if it can't be.
func radicesOf(fft int) []uint32 {
	if fft%2 != 0 {
		return nil
	}
	var radices []uint32
	rest := fft / 2
	for _, r := range []int{4, 5, 3, 2} {
		for ; rest%r == 0; rest /= r {
			radices = append(radices, uint32(r))
		}
	}
	if rest != 1 || len(radices) > melPasses {
		return nil
	}
	return append(radices, make([]uint32, melPasses-len(radices))...)
}

// rootsOf is e^(-2πi k/n), real and imaginary parts by turns.
func rootsOf(n int) []float32 {
	roots := make([]float32, 0, 2*n)
	for k := range n {
		sin, cos := math.Sincos(-2 * math.Pi * float64(k) / float64(n))
		roots = append(roots, float32(cos), float32(sin))
	}
	return roots
}

// bandsOf is, for each filter, the first power that it weighs, their number, and where the weights begin in weights.
func bandsOf(s engine.LogMelSpec) (bands []uint32, weights []float32) {
	powers := s.FFT/2 + 1
	weights = make([]float32, 0, 2*powers)
	for b := range s.Bins {
		filter := s.Filters[b*powers:][:powers]
		first, end := 0, powers
		for first < end && filter[first] == 0 {
			first++
		}
		for end > first && filter[end-1] == 0 {
			end--
		}
		bands = append(bands, uint32(first), uint32(end-first), uint32(len(weights)))
		weights = append(weights, filter[first:end]...)
	}
	return bands, weights
}

// melSpan is some consecutive frames of a sound, and the samples that they reach.
type melSpan struct {
	frame, frames int
	begin         int
	samples       []float32
}

// span is the frames [from, to) of a sound.
func (m *logMel) span(samples []float32, from, to int) melSpan {
	if from >= to {
		return melSpan{}
	}
	// One more at either end: the sample before it is part of a sample's emphasis, and
	// mirroring reaches as far as that.
	end := min(len(samples), to*m.hop+m.fft/2+1)
	begin := min(max(0, from*m.hop-m.fft/2-1), end)
	return melSpan{from, to - from, begin, samples[begin:end]}
}

// framesIn is how many frames hear anything of so many samples.
func (m *logMel) framesIn(samples int) int { return ceilDiv(samples+m.fft/2, m.hop) }

// melMemory is where a launch finds samples, and leaves logarithms and peaks.
type melMemory struct{ samples, logs, peaks driver.DevicePtr }

// melMemory divides the scratch memory for spans. The lock is held.
func (d *Device) melMemory(spans []melSpan, logs int) melMemory {
	samples := 0
	for _, s := range spans {
		samples += len(s.samples)
	}
	peaks := (len(spans) + 3) &^ 3 // so that logs begin on 16 bytes
	at := d.scratch(f32.bytes() * (peaks + logs + samples))
	after := func(n int) driver.DevicePtr { return at + driver.DevicePtr(f32.bytes()*n) }
	return melMemory{after(peaks + logs), after(peaks), at}
}

// LogMel writes what is wanted of some sounds to dst.
func (d *Device) LogMel(dst engine.Tensor, sounds []engine.Sound, front engine.LogMel) {
	m := front.(*logMel)
	frames, lens, spans, wanted := 0, make([]int, len(sounds)), make([]melSpan, len(sounds)), []int32(nil)
	for i, s := range sounds {
		if s.From < 0 || s.Frames < 0 || s.Rows < s.Frames {
			panic(fmt.Sprintf("cuda: LogMel: %d frames from frame %d on in %d rows", s.Frames, s.From, s.Rows))
		}
		spans[i] = m.spanOf(&s)
		wanted = append(wanted, int32(frames+s.From-spans[i].frame), int32(s.Frames), int32(math.Float32bits(s.Peak)))
		frames += spans[i].frames
		lens[i] = s.Rows
	}
	need("LogMel", "dst", dst, total(lens), m.bins)
	if dst.Rows == 0 {
		return
	}
	to := view(dst)
	d.mu.Lock()
	defer d.mu.Unlock()
	memory := d.melMemory(spans, frames*m.bins)
	d.sendSpans(memory, spans)
	d.enter()
	d.add(&zero{memory.peaks, f32.bytes() * len(sounds)})
	d.melFrames(m, memory, spans, at(memory.logs))
	args := []arg{at(memory.logs), i32(m.bins), d.stage(wanted), d.stage(starts(lens))}
	if m.cut > 0 {
		args = append(args, i32(len(sounds)), at(memory.peaks), flt(m.scale), flt(m.cut))
		d.launchPieces("mel_cut", dst.Rows, m.bins, append(args, to[:]...)...)
	} else {
		d.launch("mel_level"+d.working().suffix(), dim3{X: ceilDiv(m.bins, levelBins), Y: len(sounds), Z: 1},
			along(levelBins*levelLines), 0,
			append(append(args, flt(m.deviation)), to[:]...)...)
	}
	d.boundary() // sounds have a length each, and what comes after them is the same for many lengths
}

// spanOf is the frames that are to be computed for a sound: those that are wanted, or, where its peak isn't known, all.
func (m *logMel) spanOf(s *engine.Sound) melSpan {
	if m.cut > 0 && s.Peak == 0 && s.Frames > 0 {
		return m.span(s.Samples, 0, max(s.From+s.Frames, m.framesIn(len(s.Samples))))
	}
	return m.span(s.Samples, s.From, s.From+s.Frames)
}

// LogMelPeak returns the peak of a whole sound, a part of it at a time.
func (d *Device) LogMelPeak(samples []float32, front engine.LogMel) (float32, error) {
	m := front.(*logMel)
	var spans []melSpan
	for from, frames := 0, m.framesIn(len(samples)); from < frames; from += melPart {
		spans = append(spans, m.span(samples, from, min(from+melPart, frames)))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	memory := d.melMemory(spans[:min(2, len(spans))], 0) // room enough for any of them
	d.add(&zero{memory.peaks, f32.bytes()})
	for i := range spans {
		d.sendSpans(memory, spans[i:i+1])
		d.enter()
		d.melFrames(m, memory, spans[i:i+1], 0)
	}
	raw, err := d.fetch(memory.peaks, f32.bytes())
	if err != nil {
		return 0, err
	}
	return math.Float32frombits(word(raw, 0)), nil
}

// sendSpans copies the samples of spans to the GPU. The lock is held.
func (d *Device) sendSpans(memory melMemory, spans []melSpan) {
	to := memory.samples
	for _, s := range spans {
		d.send(to, s.samples, f32)
		to += driver.DevicePtr(f32.bytes() * len(s.samples))
	}
}

// melFrames queues the computing of spans whose samples have been sent. logs may be 0. The lock is held.
func (d *Device) melFrames(m *logMel, memory melMemory, spans []melSpan, logs arg) {
	var sounds []int32
	lens, sent := make([]int, len(spans)), 0
	for i, s := range spans {
		sounds = append(sounds, int32(sent), int32(s.begin), int32(s.begin+len(s.samples)), int32(s.frame))
		lens[i] = s.frames
		sent += len(s.samples)
	}
	d.launch("mel_frames", along(ceilDiv(total(lens), melFrames)), along(32*melFrames), melShared(m.fft),
		at(memory.samples), d.stage(sounds), d.stage(starts(lens)), i32(len(spans)), at(m.spec), at(m.window),
		at(m.roots), at(m.bands),
		at(m.weights), logs, at(memory.peaks))
}
