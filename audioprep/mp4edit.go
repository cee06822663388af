package audioprep

// An AAC encoder puts its first samples some thousand samples into the stream, and fills
// up the last packet. An edit list says what is to be played; where there is none,
// iTunes' note may.

// claimedFrames is how many sample frames the track has by its own account.
func (t *mp4Track) claimedFrames() int64 {
	if t.timescale <= 0 {
		return 0
	}
	return scaleTime(t.mediaEnd, t.timescale, t.rate)
}

// scaleTime turns a time in one scale into one in another, without overflow.
func scaleTime(v, from, to int64) int64 {
	if v <= 0 || from == to || from <= 0 {
		return v
	}
	if float64(v)/float64(from)*float64(to) > maxMediaTime {
		return maxMediaTime
	}
	return v/from*to + (v%from*to+from/2)/from
}

// kept returns which sample frames of the decoded track are played, nil for all, and how
// many of silence come before. fileScale is the time scale of edit durations.
func (t *mp4Track) kept(fileScale int64, g *gapless, fragmented bool) (lead int64, keep []span) {
	const endless = int64(maxMediaTime)
	if t.timescale <= 0 {
		return 0, nil
	}
	end := endless
	// A table of durations that leaves out more than the end is wrong, and one in coarse units
	// is rounded.
	if t.mediaEnd > 0 && !fragmented && t.timescale >= t.rate && t.claimedFrames() >= (t.table.count-2)*int64(t.frame) {
		end = t.mediaEnd
	}
	last := int64(0)
	for _, e := range t.edits {
		duration := endless
		if e.duration > 0 && e.duration < endless && fileScale > 0 {
			duration = scaleTime(e.duration, fileScale, t.timescale)
		}
		if e.media < 0 {
			if len(keep) == 0 && duration < endless {
				lead += scaleTime(duration, t.timescale, t.rate)
			}
			continue
		}
		if e.media < last || e.media >= endless {
			// It goes back: nothing that a transcript wants.
			continue
		}
		stop := min(e.media+duration, max(end, e.media))
		// Durations are often whole milliseconds; the table of durations knows better.
		if slack := t.timescale/max(fileScale, 1) + 1; stop > end-slack && stop < end+slack {
			stop = end
		}
		last = stop
		keep = append(keep, span{e.media, stop - e.media})
	}
	switch {
	case len(keep) == 0 && g != nil:
		keep = []span{{g.start, g.length}}
	case len(keep) == 0 && end < endless:
		keep = []span{{0, end}}
	case len(keep) == 1 && keep[0].pos == 0 && g != nil && g.start > 0 && g.length < keep[0].size:
		keep = []span{{g.start, g.length}} // an edit list that says "everything"
	}
	for i, d := range keep {
		from := scaleTime(d.pos, t.timescale, t.rate)
		keep[i] = span{from, scaleTime(d.pos+d.size, t.timescale, t.rate) - from}
	}
	return min(lead, maxLostSeconds*t.rate), keep
}
