package audioprep

import (
	"context"
	"math"
)

// Window is a stretch of samples for the model: [Start, End).
type Window struct {
	Start, End int // in samples
	// Overlap is the number of leading samples that are also the last of the
	// window before: 0 where the cut fell into silence, or where nothing comes
	// before. The texts of overlapping windows are to be merged by time.
	Overlap int
}

const (
	framesPerSecond = SampleRate / specHop
	// Silence longer than this is left out between windows of a recording…
	dropFrames = 2 * framesPerSecond
	// …but for this much before speech, where a longer lead would have the model date its
	// first word too early, and after it, where words fade.
	leadFrames, tailFrames = 26, 30
	// overlapSamples is what two windows share where no pause was found.
	overlapSamples = 2 * SampleRate
	// A window is cut in its last part, so that it is nearly full: from
	// earliestCut of maxSamples on.
	earliestCut = 0.6
	// pauseFrames is the shortest stretch without speech that counts as a
	// pause, longPause that from which on longer is not better. dipFrames is
	// over what a dip in the level is looked for.
	pauseFrames = 10
	longPause   = 40
	dipFrames   = 8
	// pauseDB and dipDB are how far a pause and a dip must lie below the mean
	// level around. Stops within words reach 20 dB for 60 ms; only the deepest
	// dip is taken.
	pauseDB = 6
	dipDB   = 12
	// quietBefore is how loud the silence before a clip's speech may be, against the rest: -30 dB. Whoever begins to speak softly is louder.
	quietBefore = 0.0316
)

// Windows finds the speech in samples (mono, 16 kHz) and returns the windows
// that cover it, in order, each at most maxSamples long and none empty. samples
// is not changed and not kept.
//
// A clip (len(samples) <= maxSamples) with any speech is one window over all of
// it: the model hears it as it was recorded. Only 2 s and more that are 30 dB
// below the rest are left out before its speech, since a model dates its first
// words to the window's start. Without speech there is no window.
//
// A recording is cut into windows at silence. Silence longer than 2 s is left
// out but for some 0.3 s at its ends; otherwise one window's End is the next one's
// Start. A window ends in the longest pause of its last part; without pauses in
// the deepest dip between words; without dips it is cut hard and the next
// window repeats the last 2 s (Overlap). It panics if maxSamples is less than
// three seconds, which no model has. When ctx ends it stops with ctx's error: an
// hour of sound takes some seconds.
//
// The memory that it needs is that for a window and some seconds.
func Windows(ctx context.Context, samples []float32, maxSamples int) ([]Window, error) {
	l, err := listen(ctx, samples, maxSamples, func(int) {})
	if err != nil {
		return nil, err
	}
	return l.windows, nil
}

// Windows is the function of that name for one of the channels. Samples that lie in a
// file leave the memory behind it.
func (p *PCM) Windows(ctx context.Context, channel, maxSamples int) ([]Window, error) {
	l, err := listen(ctx, p.Channels[channel], maxSamples, p.kept[channel].passed)
	if err != nil {
		return nil, err
	}
	return l.windows, nil
}

// listener cuts windows while the speech is found.
type listener struct {
	track      *track
	samples    int // in all
	maxSamples int // of a window
	windows    []Window
	heard      int // frames with speech
	next       int // the frame to look at next
	open       bool
	to         int // where the speech that is open ends, padding included, in frames
	start      int // of the next window in it, in samples
	overlap    int
}

// listen finds speech and windows in samples. passed is told now and then, after each
// pageSamples of them, how many were looked at.
func listen(ctx context.Context, samples []float32, maxSamples int, passed func(samples int)) (*listener, error) {
	if maxSamples < 3*SampleRate {
		panic("audioprep: windows of less than three seconds")
	}
	l := &listener{track: newTrack(), samples: len(samples), maxSamples: maxSamples}
	t := l.track
	for at := 0; at < len(samples); at += specHop {
		t.measure(samples[at:])
		if n := t.measured.end(); n%floorStep == 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			t.advance()
			l.advance()
		}
		if at/pageSamples > (at-specHop)/pageSamples && at >= specHop {
			passed(at / pageSamples * pageSamples)
		}
	}
	t.ended = true
	t.advance()
	l.advance()
	l.end(samples)
	return l, nil
}

// advance looks at the frames that are decided. Speech goes on until a silence that is
// long enough to leave out; meanwhile windows are cut from it.
func (l *listener) advance() {
	for n := l.track.speech.end(); l.next < n; l.next++ {
		i := l.next
		if !l.track.speech.at(i) {
			continue
		}
		l.heard++
		if l.open && i-(l.to-tailFrames) > dropFrames {
			l.close()
		}
		if !l.open {
			l.open, l.start, l.overlap = true, max(0, i-leadFrames)*specHop, 0
		}
		l.to = i + 1 + tailFrames
		l.cut(min(l.to, n) * specHop) // beyond n nothing is decided yet
	}
	keep := l.next - leadFrames
	if l.open {
		keep = min(keep, l.start/specHop)
	}
	l.track.forget(keep)
}

// cut takes windows off speech that goes on to end at least.
func (l *listener) cut(end int) {
	end = min(end, l.samples)
	for end-l.start > l.maxSamples {
		// The cut lies well after what the window before already holds.
		lo := l.start + max(l.overlap+SampleRate/4, int(earliestCut*float64(l.maxSamples)))
		at, hard := l.track.cutPoint(lo, l.start+l.maxSamples)
		l.windows = append(l.windows, Window{Start: l.start, End: at, Overlap: l.overlap})
		l.start, l.overlap = at, 0
		if hard {
			l.start, l.overlap = at-overlapSamples, overlapSamples
		}
	}
}

// close ends the speech that is open.
func (l *listener) close() {
	end := min(l.to*specHop, l.samples)
	l.cut(end)
	l.windows = append(l.windows, Window{Start: l.start, End: end, Overlap: l.overlap})
	l.open = false
}

// end makes a clip one window, and ends the speech that is open.
func (l *listener) end(samples []float32) {
	switch {
	case l.heard > 0 && l.samples <= l.maxSamples:
		l.windows = []Window{{Start: l.clipStart(samples), End: l.samples}}
	case l.open:
		l.close()
	}
}

// clipStart is where a clip's window begins: at its start, or behind a long silence, if it is one without a doubt.
func (l *listener) clipStart(samples []float32) int {
	first := l.start
	if len(l.windows) > 0 {
		first = l.windows[0].Start
	}
	if first <= dropFrames*specHop || peak(samples[:first]) > quietBefore*peak(samples[first:]) {
		return 0
	}
	return first
}

// peak is the greatest magnitude.
func peak(x []float32) (most float32) {
	for _, v := range x {
		most = max(most, v, -v)
	}
	return most
}

// cutPoint picks the sample in (lo, hi] to cut at; hard says that speech is cut.
func (t *track) cutPoint(lo, hi int) (at int, hard bool) {
	from, to := (lo+specHop-1)/specHop, hi/specHop
	mean := t.meanLevel(from, to)
	if at := t.bestPause(from, to, mean-pauseDB); at > 0 {
		return at * specHop, false
	}
	if at := t.bestDip(from, to, mean-dipDB); at > 0 {
		return at * specHop, false
	}
	return hi, true
}

// meanLevel is the level of the mean power of the frames [from, to).
func (t *track) meanLevel(from, to int) float32 {
	sum := 0.0
	for _, l := range t.measured.span(from, to) {
		sum += math.Pow(10, float64(l)/10)
	}
	return float32(10 * math.Log10(sum/float64(max(1, to-from))+1e-12))
}

// bestPause returns the quietest place of the best pause within the frames
// [from, to] that is not louder than limit, or 0. Pauses count by their length,
// up to 0.4 s, and by how late they are, since a short window costs the model as
// much as a full one: a pause at the end is worth one of three times its length
// at the start.
func (t *track) bestPause(from, to int, limit float32) int {
	best, bestScore := 0, 0.0
	for i := from; i < to; {
		if t.speech.at(i) {
			i++
			continue
		}
		j := i
		for j < to && !t.speech.at(j) {
			j++
		}
		if n := j - i; n >= pauseFrames {
			at := t.quietest(i, j)
			late := float64(at-from) / float64(to-from)
			score := math.Min(float64(n), longPause) * (1 + 2*late)
			if score >= bestScore && t.dipLevel(at) <= limit {
				best, bestScore = at, score
			}
		}
		i = j
	}
	return best
}

// quietest returns the frame of [from, to) in whose surroundings, inside, it is
// quietest; the middle one of equals.
func (t *track) quietest(from, to int) int {
	mid := (from + to) / 2
	best, bestLevel := mid, t.dipLevel(mid)
	for d := 1; d < (to-from)/4; d++ {
		for _, i := range [2]int{mid - d, mid + d} {
			if l := t.dipLevel(i); l < bestLevel-3 {
				best, bestLevel = i, l
			}
		}
	}
	return best
}

// dipLevel is the loudest level of the dipFrames around frame i.
func (t *track) dipLevel(i int) float32 {
	level := float32(math.Inf(-1))
	for _, l := range t.measured.span(max(0, i-dipFrames/2), min(t.measured.end(), i+dipFrames/2)) {
		level = max(level, l)
	}
	return level
}

// bestDip returns the frame with the deepest dip in [from, to], or 0 if none
// reaches down to limit.
func (t *track) bestDip(from, to int, limit float32) int {
	best, bestLevel := 0, limit
	for i := from + dipFrames/2; i+dipFrames/2 <= to; i++ {
		if l := t.dipLevel(i); l <= bestLevel {
			best, bestLevel = i, l
		}
	}
	return best
}
