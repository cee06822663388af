package audioprep

import "math"

const (
	// pauseFrames is the shortest stretch without speech that counts as a pause. dipFrames is over what a dip in the
	// level is looked for, meanFrames what lies to each side of where a level is taken for low.
	pauseFrames = 10
	dipFrames   = 8
	meanFrames  = 400
	// pauseDB and dipDB are how far a pause and a dip must lie below the mean
	// level around. Stops within words reach 20 dB for 60 ms; only the deepest
	// dip is taken.
	pauseDB = 6
	dipDB   = 12
)

// rest is where speech may be cut: a pause of the frames [from, to), quietest at one of them, or a dip at that one.
type rest struct{ from, to, at int }

// flaw is what is wrong with a cut there: nothing in a long pause.
func (r rest) flaw() float64 {
	if r.from == r.to {
		return dipFlaw
	}
	return 1 - min(1, float64(r.to-r.from)/longPause)
}

// restFinder finds where speech may be cut while it is heard.
type restFinder struct {
	track  *track
	every  int // frames without a pause after which a dip is looked for
	first  int // the frame that speech began with
	spoken int // the frame behind the last one of speech
	looked int // places were looked for up to this frame
}

// newRestFinder returns one for speech in windows of at most maxSamples.
func newRestFinder(t *track, maxSamples int) restFinder {
	return restFinder{track: t, every: maxSamples / specHop / dipsPerWindow}
}

// begin says that speech begins with a frame.
func (f *restFinder) begin(i int) { f.first, f.spoken, f.looked = i, i, i }

// hear takes the next frame of speech, and tells of the places before it.
func (f *restFinder) hear(i int, tell func(rest)) {
	t, from := f.track, f.spoken
	f.spoken = i + 1
	if i-from >= pauseFrames {
		at := t.quietest(from, i)
		// Behind speech what is too long to stay in a recording's window needs no sound around its middle to be quiet.
		if i-from > keepFrames && from > f.first || t.dipLevel(at) <= t.meanAround(at)-pauseDB {
			tell(rest{from, i, at})
			f.looked = i
		}
	}
	f.pass(i, tell)
}

// pass takes the next frame, speech or not, and tells of a dip if there was no better place for long.
func (f *restFinder) pass(i int, tell func(rest)) {
	t := f.track
	if i-f.looked < f.every {
		return
	}
	if at := t.bestDip(f.looked, i, t.meanAround((f.looked+i)/2)-dipDB); at > 0 {
		tell(rest{at, at, at})
	}
	f.looked = i
}

// meanAround is the mean level of the seconds around frame i, as far as they are known.
func (t *track) meanAround(i int) float32 {
	return t.meanLevel(max(t.measured.base, i-meanFrames), min(t.measured.end(), i+meanFrames))
}

// meanLevel is the level of the mean power of the frames [from, to).
func (t *track) meanLevel(from, to int) float32 {
	sum := 0.0
	for _, l := range t.measured.span(from, to) {
		sum += math.Pow(10, float64(l)/10)
	}
	return float32(10 * math.Log10(sum/float64(max(1, to-from))+1e-12))
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
