package audioprep

import "context"

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
	// keepFrames is the longest silence that may stay inside a window. Of 49 utterances with 1.5 to 5 s of
	// silence between them, tiny.en then errs in 82 words instead of 91, base in 74 instead of 80, in 6 to 15 %
	// less time. Silence, hum and tunes of 6 to 10 s are no better kept: where these lie between 12 stretches
	// tiny.en made 2 errors fewer and base 3 more.
	keepFrames = 5 * framesPerSecond
	// At a cut silence is left out but for this much before speech, where a longer lead would have the model date its
	// first word too early, and after it, where words fade.
	leadFrames, tailFrames = 26, 30
	// overlapSamples is what two windows share where no pause was found.
	overlapSamples = 2 * SampleRate
	// Silence of so many frames before a clip's speech is left out…
	lateFrames = 2 * framesPerSecond
	// …if it is so quiet against the rest: -30 dB. Whoever begins to speak softly is louder.
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
// A recording is cut into windows in its pauses: long and quiet ones above all, so that the windows are about even and
// mostly full, and none of a few seconds stands alone where a neighbour has room. Silence in a pause that is cut is
// left out but for some 0.3 s at its ends, and so is all silence of more than 5 s; otherwise one window's End is the
// next one's Start. Where there is no pause for long a dip between words has to do; without dips windows are cut hard
// and the next one repeats the last 2 s (Overlap). It panics if maxSamples is less than three seconds, which no model
// has. When ctx ends it stops with ctx's error: an hour of sound takes some seconds.
//
// The memory that it needs is that for a window and some seconds, and some 50 bytes for each pause.
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

// listener finds where a recording may be cut while the speech is found.
type listener struct {
	track   *track
	samples int // in all
	plan    *plan
	windows []Window
	heard   int // frames with speech
	first   int // of these
	next    int // the frame to look at next
	open    bool
	rests   restFinder
}

// listen finds speech and windows in samples. passed is told now and then, after each
// pageSamples of them, how many were looked at.
func listen(ctx context.Context, samples []float32, maxSamples int, passed func(samples int)) (*listener, error) {
	if maxSamples < 3*SampleRate {
		panic("audioprep: windows of less than three seconds")
	}
	t := newTrack()
	l := &listener{track: t, samples: len(samples), plan: newPlan(maxSamples), rests: newRestFinder(t, maxSamples)}
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

// advance looks at the frames that are decided.
func (l *listener) advance() {
	for n := l.track.speech.end(); l.next < n; l.next++ {
		if l.track.speech.at(l.next) {
			l.hear(l.next)
		}
	}
	l.track.forget(min(l.next-meanFrames, l.rests.looked))
}

// hear takes frame i, which is speech. Speech goes on until a silence that is too long to stay in a window;
// what it may be cut at is planned on the way.
func (l *listener) hear(i int) {
	if l.heard == 0 {
		l.first = i
	}
	l.heard++
	if l.open && i-l.rests.spoken > keepFrames {
		l.close()
	}
	if !l.open {
		l.open = true
		l.rests.begin(i)
		l.plan.begin(l.leadSample(i))
	}
	l.rests.hear(i, l.mayCut)
}

// mayCut adds a place where the speech may be cut to the plan.
func (l *listener) mayCut(r rest) {
	c := cut{end: r.at * specHop, start: r.at * specHop, flaw: r.flaw()}
	if r.to-r.from > tailFrames+leadFrames {
		c.end, c.start = (r.from+tailFrames)*specHop, l.leadSample(r.to)
	}
	l.plan.add(c)
}

// leadSample is where a window begins whose speech begins with frame i.
func (l *listener) leadSample(i int) int { return max(0, i-leadFrames) * specHop }

// close ends the speech that is open.
func (l *listener) close() {
	l.windows = append(l.windows, l.plan.finish(min((l.rests.spoken+tailFrames)*specHop, l.samples))...)
	l.open = false
}

// end makes a clip one window, and ends the speech that is open.
func (l *listener) end(samples []float32) {
	switch {
	case l.heard > 0 && l.samples <= l.plan.maxSamples:
		l.windows = []Window{{Start: l.clipStart(samples), End: l.samples}}
	case l.open:
		l.close()
	}
}

// clipStart is where a clip's window begins: at its start, or behind a long silence, if it is one without a doubt.
func (l *listener) clipStart(samples []float32) int {
	first := l.leadSample(l.first)
	if first <= lateFrames*specHop || peak(samples[:first]) > quietBefore*peak(samples[first:]) {
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
