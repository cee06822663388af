package whisper

import (
	"math"
	"sync/atomic"

	"hark/engine"
)

const (
	hopSamples = 160
	// maxConditionedTemperature: a text drawn at a higher one is not shown to the next pass
	// (openai/whisper, transcribe.py).
	maxConditionedTemperature = 0.5
	// minPass is the shortest rest of a window, in frames, that gets a pass of its own after one whose timestamps end
	// before it. Where a window ends in a pause 30 frames of it are silence. Of 95 passes that tiny.en made of 20
	// minutes 14 were for such rests, tries in the whole context among them; without them its word errors are the same.
	minPass = 50
	// minLeft is the shortest end of a window, in frames, that is heard in a pass of its own though the model says that
	// nothing is said there, since windows end with speech. Of 11012 words in pieces of recordings that begin within a
	// word (see paceTokens) base errs in 243 fewer, tiny.en in 99; with 100 and 300 frames in as many.
	minLeft = 150
)

// chain is a stretch of sound that is decoded pass by pass, each from where the last one's
// timestamps ended: a window of a windowed job, or the whole of a sequential one.
type chain struct {
	job     *job
	samples []float32
	start   int  // first sample in the job's audio
	words   bool // word times are needed

	content int       // frames of sound
	mel     []float32 // [frames][mels]; made when the first pass starts, unless the device makes what it hears
	peak    float32   // of the spectrogram that the device makes; 0: not measured

	seek       int     // frame where the next pass starts
	written    []int32 // prompt text, and all text so far
	reset      int     // written from here on is shown to the next pass
	language   string  // "" until it's known
	lastSpeech float64 // when the last word so far ended
	segments   []segment
	passes     int       // that have ended
	rung       int       // of the ladder, and
	frames     int       // that the encoder is shown, of a pass that was left between two tries; else 0
	doubted    bool      // the next pass hears what the last one said nothing is in
	merged     []segment // those of segments that are said here rather than in a window that overlaps
	taken      int       // of merged, that are among the job's settled ones
	ended      bool
	done       atomic.Int64 // samples dealt with
}

// prepare computes the spectrogram before the first pass, unless the device does. Its clamp looks at the whole chain
// and at nothing else.
func (c *chain) prepare() {
	c.content = len(c.samples) / hopSamples
	c.ended = c.seek >= c.content
	if m := c.job.model; m.onDevice == nil && c.mel == nil && !c.ended {
		c.mel = m.mel.Whole(c.samples)
	}
}

// size is the length of the next pass in frames.
func (c *chain) size() int { return min(framesPerWindow, c.content-c.seek) }

// window writes the next pass's log-mel to dst, [frames][mels], at least size frames. Beyond the sound a short view has
// silence; the whole window has 0 there, as in the reference, which is not the value of silence.
func (c *chain) window(dst []float32) {
	mels := c.job.model.config.Mels
	frames := len(dst) / mels
	if viewOf(frames) == wholeView {
		frames = c.size()
	}
	n := copy(dst, c.mel[c.seek*mels:(c.seek+frames)*mels])
	clear(dst[n:])
}

// prompt is what the next pass's transcript starts with.
func (c *chain) prompt() []int32 {
	v := c.job.model.vocabulary
	start := v.prompt(c.language, c.job.options.Task == engine.Translate)
	before := c.written[c.reset:]
	if most := c.job.model.config.promptTokens(); len(before) > most {
		before = before[len(before)-most:]
	}
	if len(before) == 0 {
		return start
	}
	return append(append([]int32{v.startOfPrev}, before...), start...)
}

// accept takes a pass's outcome, which reads as text: its segments join the chain, and seek moves on. align measures when
// the tokens of a text were said; it's called only where words are wanted.
func (c *chain) accept(out *outcome, text string, align func(text []int32) (alignment, error)) error {
	v, size := c.job.model.vocabulary, c.size()
	if out.isSilence() || !c.job.options.Sequential && c.isInvented(out, text) {
		c.advance(c.seek + size)
		return nil
	}
	segments, advance, closed := v.cut(out, c.seek, size)
	next, lastEnd := c.seek+advance, segments[len(segments)-1].end
	ratio := engine.CompressionRatio(text)
	for i := range segments {
		segments[i].ratio = ratio
	}
	if c.words {
		if err := c.time(segments, align); err != nil {
			return err
		}
		if end, ok := lastWordEnd(segments); ok {
			// The reference goes on where the last word ended. A window does so only by its timestamps, so that it
			// says the same with word times and without.
			if c.job.options.Sequential && !closed && end > float64(c.seek)/framesPerSecond {
				next = int(math.RoundToEven(end * framesPerSecond))
			}
			c.lastSpeech = end
		}
	}
	for _, s := range segments {
		// Where a window begins in a pause the model may set a full stop first, as a segment of its own. The reference
		// keeps it.
		if s.isEmpty() || !c.job.options.Sequential && engine.PlainWord(s.text) == "" {
			continue
		}
		c.segments = append(c.segments, s)
		c.written = append(c.written, s.tokens...)
	}
	if c.job.options.Unconditioned || out.temp > maxConditionedTemperature {
		c.reset = len(c.written)
	}
	if next <= c.seek { // a word that ends where the pass began must not hold the chain for ever
		next = c.seek + size
	}
	if !c.job.options.Sequential {
		next = c.passOn(next, int(math.Round(lastEnd*framesPerSecond)), closed)
	}
	c.advance(next)
	return nil
}

// passOn is where a window's next pass begins: where the last one's timestamps say, or where its text ended, at end, if
// the model took too much behind it for silence.
func (c *chain) passOn(next, end int, closed bool) int {
	if c.doubted = closed && end > c.seek && c.content-end >= minLeft; c.doubted {
		next = end
	}
	if c.content-next < minPass {
		return max(next, c.content)
	}
	return next
}

// isInvented reports whether a pass's outcome is nothing that was heard in it. Where the model has said that there is
// nothing a text must be sound to be believed: tiny.en hears a phrase thirty times over in 1.6 s.
func (c *chain) isInvented(out *outcome, text string) bool {
	return c.doubted && !out.isSound(text) || out.isInvented(text, c.tokens(out), c.seconds())
}

// needsContext reports whether a pass's outcome in a short context is to be tried again in the whole one.
func (c *chain) needsContext(out *outcome, text string) bool {
	return out.needsContext(text, c.tokens(out), c.seconds())
}

// tokens is how many tokens of an outcome are text.
func (c *chain) tokens(out *outcome) int { return len(c.job.model.vocabulary.text(out.tokens)) }

// seconds is the length of the next pass.
func (c *chain) seconds() float64 { return float64(c.size()) / framesPerSecond }

// time gives the segments of one pass their words.
func (c *chain) time(segments []segment, align func(text []int32) (alignment, error)) error {
	v := c.job.model.vocabulary
	var text []int32
	var logProbs []float32
	for _, s := range segments {
		for i, id := range s.tokens {
			if v.isText(id) {
				text, logProbs = append(text, id), append(logProbs, s.logProbs[i])
			}
		}
	}
	if len(text) == 0 {
		return nil
	}
	a, err := align(text)
	if err != nil {
		return err
	}
	words := v.timeWords(text, logProbs, a, c.language)
	c.lastSpeech = v.placeWords(segments, words, float64(c.seek)/framesPerSecond, c.lastSpeech)
	return nil
}

func lastWordEnd(segments []segment) (end float64, ok bool) {
	for i := len(segments) - 1; i >= 0; i-- {
		if n := len(segments[i].words); n > 0 {
			return segments[i].words[n-1].end, true
		}
	}
	return 0, false
}

// encoded notes that the pass is half done: encoding takes about as long as decoding.
func (c *chain) encoded() {
	c.done.Store(int64(min((c.seek+c.size()/2)*hopSamples, len(c.samples))))
}

// advance moves to a frame; at the end of the sound the chain gives its spectrogram back.
func (c *chain) advance(seek int) {
	c.passes++
	c.seek = seek
	c.done.Store(int64(min(seek*hopSamples, len(c.samples))))
	if c.seek >= c.content {
		c.finish()
	}
}

func (c *chain) finish() {
	c.ended = true
	c.mel = nil
	c.done.Store(int64(len(c.samples)))
}
