package audioprep

import "math"

// Edge is where speech begins or ends in sound that goes on.
type Edge struct {
	// Speech is true where it begins.
	Speech bool
	// At is the place, in samples from the start of the sound.
	At int
}

// Detector finds where speech begins and ends in sound while it comes. It looks at the same features as Windows, but
// only at what was heard so far: the noise floor is that of the seconds before, and a frame is judged by the second
// that ends with it. It isn't safe for concurrent use.
type Detector struct {
	track   *track
	tail    []float32 // samples from the next frame's start on
	over    float32   // dB over the noise floor from which on a frame stands out
	least   float32   // dB of full scale below which none does
	silence int       // frames without speech that end it
	limit   float32   // above which frames stand out now
	near    int       // frames judged as speech among the last speechSpan
	talking bool
	last    int // the frame behind the last one of speech
	rested  int // frames before are of no turn any more
}

const (
	// startSpan is over how many frames speech must hold, and startFrames for how many of them, to begin.
	startSpan, startFrames = 15, 10
	// maxGap is the longest gap of frames that don't stand out in the part of speech that came before it was noticed.
	maxGap = 8
)

// NewDetector returns a Detector as Tune sets it.
func NewDetector(threshold float64, silence int) *Detector {
	d := &Detector{track: newTrack()}
	d.Tune(threshold, silence)
	return d
}

// Tune sets how far speech must stand out, and how many samples of silence end it. The threshold goes from 0, where
// whatever is over the noise floor may be speech, over 0.5, which is 6 dB over it, as Windows has it, and at least -70
// dB of full scale, to 1, which is 12 dB over it, and -60.
func (d *Detector) Tune(threshold float64, silence int) {
	d.over = float32(2 * overFloorDB * threshold)
	d.least = float32(-80 + 20*threshold)
	d.silence = max(1, silence/specHop)
}

// Write takes the next samples and returns the edges that they show, in order. A beginning shows a tenth of a second
// behind it, an end when the silence has lasted.
func (d *Detector) Write(samples []float32) (edges []Edge) {
	d.tail = append(d.tail, samples...)
	at := 0
	for ; len(d.tail)-at >= specSize; at += specHop {
		d.track.measure(d.tail[at:])
		d.decide()
		if e, ok := d.edge(); ok {
			edges = append(edges, e)
		}
	}
	d.tail = d.tail[:copy(d.tail, d.tail[at:])]
	return edges
}

// decide says of the frame that was measured last whether it is speech.
func (d *Detector) decide() {
	t := d.track
	i := t.measured.end() - 1
	if i%judgeStep == 0 {
		d.limit = max(d.least, t.overFloor(max(t.measured.base, i+1-2*floorFrames), i+1, d.over))
	}
	active := t.measured.at(i) > d.limit
	t.active.add(active)
	t.limits.add(d.limit)
	judged := active && t.speechlike(max(0, i+1-judgeFrames), i+1)
	t.judged.add(judged)
	if judged {
		d.near++
	}
	if j := i - speechSpan; j >= 0 && t.judged.at(j) {
		d.near--
	}
	t.speech.add(judged && d.near >= minSpeech)
}

// edge reports whether speech begins or ends with the frame that was decided last.
func (d *Detector) edge() (Edge, bool) {
	t := d.track
	n := t.speech.end()
	speech := t.speech.at(n - 1)
	if speech {
		d.last = n
	}
	switch {
	case d.talking && n-d.last >= d.silence:
		d.talking = false
		return Edge{At: d.last * specHop}, true
	case !d.talking && speech && count(t.judged.span(max(d.rested, n-startSpan, 0), n)) >= startFrames:
		d.talking = true
		return Edge{Speech: true, At: d.onset(n-1) * specHop}, true
	}
	return Edge{}, false
}

// onset goes back from a frame of speech to where what stands out began.
func (d *Detector) onset(i int) int {
	t := d.track
	first := i
	for j := i; j >= max(d.rested, i-judgeFrames/2) && first-j <= maxGap; j-- {
		if t.active.at(j) {
			first = j
		}
	}
	return first
}

// Spoken is the sample behind the last speech so far, 0 if there was none.
func (d *Detector) Spoken() int { return d.last * specHop }

// Rest ends the speech that goes on, without an edge. What follows begins anew, and not before this place.
func (d *Detector) Rest() {
	d.talking = false
	d.rested = d.track.speech.end()
}

// Cut picks where to end a piece of the speech that began at sample start and was heard up to end, at most maxSamples
// long: the cheapest place by what Windows goes by. Where there is none it's the first one behind; ok is false where
// every cut would fall into speech, or nobody spoke.
func (d *Detector) Cut(start, end, maxSamples int) (at int, ok bool) {
	p, lowest := newPlan(maxSamples), math.Inf(1)
	from := cut{end: start, start: start}
	look := func(r rest) {
		c := cut{end: r.at * specHop, start: r.at * specHop, flaw: r.flaw()}
		if c.end <= start || ok && c.end-start > maxSamples {
			return
		}
		if cost := p.windowCost(&from, &c); cost < lowest {
			at, ok, lowest = c.end, true, cost
		}
	}
	speech, i, n := &d.track.speech, (start+specHop-1)/specHop, min(end/specHop, d.track.speech.end())
	for most := i + keepFrames; i < min(most, n) && !speech.at(i); {
		i++ // the rest of the pause that was cut last is no place to cut again
	}
	f := newRestFinder(d.track, maxSamples)
	f.begin(i)
	for ; i < n; i++ {
		if speech.at(i) {
			f.hear(i, look)
		} else if i-f.spoken >= keepFrames { // what is taken for silence is heard too, and may be too long
			f.pass(i, look)
		}
	}
	f.hear(n, look) // what goes on may be a pause too
	return at, ok
}

// Forget says that nobody asks about samples before keep any more.
func (d *Detector) Forget(keep int) {
	t := d.track
	n := t.measured.end()
	back := n - 2*floorFrames
	keep = min(keep/specHop-dipFrames, back)
	for _, s := range []*series[float32]{&t.measured, &t.similar, &t.limits} {
		s.drop(keep)
	}
	for _, s := range []*series[bool]{&t.active, &t.judged, &t.speech} {
		s.drop(keep)
	}
}
