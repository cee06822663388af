package engine

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"hark/kernels"
)

// What OpenAI's Whisper feeds its encoder (openai-whisper, whisper/audio.py, log_mel_spectrogram).
const (
	// MelHop is the distance of frames in samples: 10 ms.
	MelHop = 160
	// melFFT is the length of the analysis window in samples (n_fft): 25 ms. Frame t is centred
	// on sample t*MelHop.
	melFFT = 400
	// melPowers is the number of frequencies told apart: 0 to 8 kHz in steps of 40 Hz.
	melPowers = melFFT/2 + 1
	// melReach is how far a frame reaches to both sides of its centre.
	melReach = melFFT / 2
	// melLeast is the least power told apart from none, and melFloor its log10.
	melLeast = 1e-10
	melFloor = -10
	// melRange is how far below its maximum a spectrogram is cut off, in powers of ten.
	melRange = 8
	// wholePadding is the silence that [Mel.Whole] adds, 30 s (N_SAMPLES).
	wholePadding = 30 * SampleRate
)

// Mel turns samples into log-mel spectrograms as Whisper wants them: the power of 25 ms of sound every
// 10 ms, gathered in bands that are narrow for low tones and wide for high
// ones, as the ear hears them, and its logarithm. Values end up within about [-1, 1.5].
//
// A spectrogram is cut off at a distance below its own maximum, so it matters which stretch it is
// computed over: [Mel.Window] is for a window alone, [Mel.Whole] for a whole recording. The result is
// time-major, [frames][bins], one frame after another. A Mel may be used by
// several goroutines at once.
type Mel struct {
	bins    int
	filters *kernels.PackedF32 // [bins][melPowers], the even powers before the odd ones
	works   sync.Pool          // of *melWork
}

// NewMel makes a front end of a number of mel bins: 80, or 128 for large-v3 and its kin. It
// panics at a number that makes no filter bank.
func NewMel(bins int) *Mel {
	if bins < 1 || bins > melFFT/2 {
		panic(fmt.Sprintf("engine: %d mel bins", bins))
	}
	return &Mel{bins: bins, filters: kernels.PackF32(evenFirst(MelFilters(bins, melFFT)), bins, melPowers),
		works: sync.Pool{New: func() any { return new(melWork) }}}
}

// Bins is the number of values in a frame.
func (m *Mel) Bins() int { return m.bins }

// Spec is the front end for a device that computes it.
func (m *Mel) Spec() LogMelSpec {
	window := make([]float32, melFFT)
	for i := range window {
		window[i] = hann[min(i, melFFT-i)]
	}
	return LogMelSpec{
		Bins: m.bins, FFT: melFFT, Hop: MelHop, Window: window, Filters: MelFilters(m.bins, melFFT),
		Mirrored: true, Least: melLeast, Range: melRange,
	}
}

// Window writes the spectrogram of a window to dst, [frames][bins]: that of the samples with zeros
// after them up to frames*160, as openai-whisper's decode() gets it for a clip padded by
// pad_or_trim(). Samples beyond that are left out. The zeros cost next to nothing. It computes on
// the calling goroutine only, about 10 ms for 30 s; windows can run side by side.
func (m *Mel) Window(dst, samples []float32, frames int) {
	if frames < 0 || len(dst) != frames*m.bins {
		panic(fmt.Sprintf("engine: %d elements for %d frames of %d mel bins", len(dst), frames, m.bins))
	}
	s := melSignal{samples[:min(len(samples), frames*MelHop)], frames * MelHop}
	best := float32(melFloor)
	for t := 0; t < frames; t += melBlock {
		best = max(best, m.frames(dst, s, t, min(melBlock, frames-t)))
	}
	finish(dst, best)
}

// Whole returns the spectrogram of a whole recording, [frames][bins], as openai-whisper's transcribe() computes
// it: once over all samples and 30 s of zeros after them. There are (len(samples)+480000)/160
// frames, of which len(samples)/160 have sound. It uses all cores.
func (m *Mel) Whole(samples []float32) []float32 {
	s := melSignal{samples, len(samples) + wholePadding}
	frames := s.length / MelHop
	dst := make([]float32, frames*m.bins)
	blocks := (frames + melBlock - 1) / melBlock

	var next atomic.Int64
	best := make([]float32, min(runtime.GOMAXPROCS(0), blocks))
	var workers sync.WaitGroup
	for w := range best {
		workers.Go(func() {
			b := float32(melFloor)
			for t := int(next.Add(1)-1) * melBlock; t < frames; t = int(next.Add(1)-1) * melBlock {
				b = max(b, m.frames(dst, s, t, min(melBlock, frames-t)))
			}
			best[w] = b
		})
	}
	workers.Wait()
	most := best[0]
	for _, b := range best {
		most = max(most, b)
	}
	finish(dst, most)
	return dst
}

// finish cuts a spectrogram off below its maximum and brings it into the model's range.
func finish(dst []float32, best float32) {
	kernels.Raise(dst, best-melRange, 0.25, 1)
}

// melSignal is samples with zeros after them up to a length, mirrored at both ends.
type melSignal struct {
	samples []float32
	length  int
}

// read writes the signal from a position on to dst and reports whether it is anything but zeros.
// Positions outside [0, length) are mirrored there, without repeating the end itself
// (numpy's and PyTorch's "reflect").
func (s melSignal) read(dst []float32, from int) (sound bool) {
	n := 0
	for ; n < len(dst) && from+n < 0; n++ {
		dst[n] = s.at(from + n)
	}
	if from+n < len(s.samples) {
		n += copy(dst[n:], s.samples[from+n:])
	}
	if zeros := min(len(dst), s.length-from); zeros > n {
		clear(dst[n:zeros])
		n = zeros
	}
	for ; n < len(dst); n++ {
		dst[n] = s.at(from + n)
	}
	for _, v := range dst {
		if v != 0 {
			return true
		}
	}
	return false
}

// at is the signal at any position.
func (s melSignal) at(p int) float32 {
	if s.length > 1 {
		period := 2 * (s.length - 1)
		p = ((p % period) + period) % period
		p = min(p, period-p)
	} else {
		p = 0
	}
	if p < len(s.samples) {
		return s.samples[p]
	}
	return 0
}
