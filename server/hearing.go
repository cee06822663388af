package server

import (
	"math"
	"slices"
	"sync"

	"hark/engine"
)

// Piece is what a model heard in one window of a request. It is plain data, which JSON holds without loss.
type Piece struct {
	// Model is the name of the model that heard it, one of two where they work together.
	Model string `json:"model"`
	// Channel is which of the channels that are heard one by one it was heard in, from 0.
	Channel int `json:"channel"`
	engine.Kept
}

// hearing is a request while it is heard: windows that are done with, and the segments of its
// channels, merged by time as they become final.
type hearing struct {
	in Input

	mu       sync.Mutex
	ended    bool // whatever still runs is nobody's concern
	tracks   []*track
	segments []engine.Segment // merged so far
	teller   *teller          // nil where nobody listens
}

// track is segments in order of time. None that is still to come starts before from, in seconds.
type track struct {
	waiting []engine.Segment
	from    float64
}

// newHearing begins a request; it's to be ended.
func newHearing(in Input) *hearing {
	h := &hearing{in: in}
	if in.Kept != nil || in.Heard != nil {
		h.teller = newTeller()
	}
	return h
}

// end returns when everything that was found out has been told.
func (h *hearing) end() {
	h.mu.Lock()
	h.ended = true
	h.mu.Unlock()
	if h.teller != nil {
		h.teller.end()
	}
}

// track adds a track. Where segments of two start at the same time, those of the earlier track go first.
func (h *hearing) track() *track {
	t := &track{}
	h.tracks = append(h.tracks, t)
	return t
}

// restored are the pieces of an earlier run that a model heard in a channel, between two samples.
func (h *hearing) restored(model string, channel, start, end int) (kept []engine.Kept) {
	for _, p := range h.in.Resume {
		if p.Model == model && p.Channel == channel && p.Start >= start && p.End <= end {
			kept = append(kept, p.Kept)
		}
	}
	return kept
}

// keep tells of a window that has ended. The lock is held.
func (h *hearing) keep(model string, p *strand, w engine.Window) {
	if h.in.Kept == nil {
		return
	}
	kept, err := p.Keep(w)
	if err != nil {
		return // numbers that JSON has not; the window would have to run again
	}
	piece := Piece{model, p.channel, kept}
	h.teller.tell(func() { h.in.Kept(piece) })
}

// merge passes on the segments that no other can come before. The lock is held.
func (h *hearing) merge() {
	before := len(h.segments)
	for {
		next := h.next()
		if next == nil {
			break
		}
		h.segments = append(h.segments, next.waiting[0])
		next.waiting = next.waiting[1:]
	}
	if fresh := slices.Clip(h.segments[before:]); len(fresh) > 0 && h.in.Heard != nil {
		h.teller.tell(func() { h.in.Heard(fresh) })
	}
}

// next is the track whose first segment is the next one of all, or nil as long as that isn't known.
func (h *hearing) next() *track {
	var first *track
	at, start := 0, math.Inf(1)
	for i, t := range h.tracks {
		if len(t.waiting) > 0 && (first == nil || t.waiting[0].Start < start) {
			first, at, start = t, i, t.waiting[0].Start
		}
	}
	for i, t := range h.tracks {
		if len(t.waiting) == 0 && (t.from < start || t.from == start && i < at) {
			return nil
		}
	}
	return first
}

// result is what was heard, once all tracks have come to their end.
func (h *hearing) result(language string) *engine.Result {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.merge()
	return &engine.Result{Language: language, Segments: h.segments}
}
