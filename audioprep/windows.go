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
)

// Windows finds the speech in samples (mono, 16 kHz) and returns the windows
// that cover it, in order, each at most maxSamples long and none empty. samples
// is not changed and not kept.
//
// A clip (len(samples) <= maxSamples) with any speech is one window over all of
// it, untouched: the model hears it as it was recorded. Without speech there is
// no window.
//
// A recording is cut into windows at silence. Silence longer than 2 s is left
// out but for some 0.3 s at its ends; otherwise one window's End is the next one's
// Start. A window ends in the longest pause of its last part; without pauses in
// the deepest dip between words; without dips it is cut hard and the next
// window repeats the last 2 s (Overlap). It panics if maxSamples is less than
// three seconds, which no model has. When ctx ends it stops with ctx's error: an
// hour of sound takes some seconds.
func Windows(ctx context.Context, samples []float32, maxSamples int) ([]Window, error) {
	if maxSamples < 3*SampleRate {
		panic("audioprep: windows of less than three seconds")
	}
	if len(samples) == 0 {
		return nil, nil
	}
	t, err := findSpeech(ctx, samples)
	if err != nil {
		return nil, err
	}
	return t.windows(len(samples), maxSamples), nil
}

// windows cuts the samples that the track was found in.
func (t *track) windows(samples, maxSamples int) []Window {
	if samples <= maxSamples {
		if !t.any() {
			return nil
		}
		return []Window{{Start: 0, End: samples}}
	}
	var ws []Window
	for _, s := range t.stretches() {
		start, end := s[0]*specHop, min(s[1]*specHop, samples)
		ws = t.cut(ws, start, end, maxSamples)
	}
	return ws
}

// stretches returns the frames to keep, [from, to) each: speech with its
// padding, and the silences between that are too short to leave out.
func (t *track) stretches() [][2]int {
	var out [][2]int
	n := len(t.speech)
	for i := 0; i < n; i++ {
		if !t.speech[i] {
			continue
		}
		from, to := max(0, i-leadFrames), min(n, i+1+tailFrames)
		if k := len(out) - 1; k >= 0 && i-(out[k][1]-tailFrames) <= dropFrames {
			out[k][1] = to
		} else {
			out = append(out, [2]int{from, to})
		}
	}
	return out
}

// cut appends the windows of one stretch of samples.
func (t *track) cut(ws []Window, start, end, maxSamples int) []Window {
	overlap := 0
	for end-start > maxSamples {
		// The cut lies well after what the window before already holds.
		lo := start + max(overlap+SampleRate/4, int(earliestCut*float64(maxSamples)))
		at, hard := t.cutPoint(lo, start+maxSamples)
		ws = append(ws, Window{Start: start, End: at, Overlap: overlap})
		start, overlap = at, 0
		if hard {
			start, overlap = at-overlapSamples, overlapSamples
		}
	}
	return append(ws, Window{Start: start, End: end, Overlap: overlap})
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
	for _, l := range t.level[from:to] {
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
		if t.speech[i] {
			i++
			continue
		}
		j := i
		for j < to && !t.speech[j] {
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
	for _, l := range t.level[max(0, i-dipFrames/2):min(len(t.level), i+dipFrames/2)] {
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
