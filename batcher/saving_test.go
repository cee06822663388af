package batcher

import (
	"fmt"
	"strings"
	"testing"
)

// lanesOf runs so many turns with eight clips waiting before each and recordings of so many
// windows, and tells whose turns they were.
func (d *bench) lanesOf(turns, recordings, windows int) string {
	var s strings.Builder
	for turn := range turns {
		for n := 0; d.f.clips.n < 8; n++ {
			d.clip(5000, fmt.Sprint("c", d.f.turns, ".", n))
		}
		for n := d.f.recordings.n; n < recordings; n++ {
			d.recording(windows, fmt.Sprint("r", turn, ".", n))
		}
		before := d.device
		d.next()
		if d.device[Clips] > before[Clips] {
			s.WriteByte('c')
		} else {
			s.WriteByte('R')
		}
	}
	return s.String()
}

func TestRule9QuantaAreSavedForACheaperBatch(t *testing.T) {
	for _, tt := range []struct {
		name                  string
		fixed, clip, each     float64
		recordings, windows   int
		shared                bool
		least, most           int // turns of recordings among 24 batches
		leastShare, mostShare float64
	}{
		// A window takes 0.46 s alone, 0.25 s among four, which two quanta afford, and 0.22 s among seven.
		{"a small model on a CPU", 0.28, 0.03, 0.175, 4, 40, false, 6, 8, 0.48, 0.52},
		{"beside another model, which waits too", 0.56, 0.06, 0.35, 4, 40, true, 10, 12, 0.48, 0.52},
		{"clips would wait for long", 2.8, 0.3, 1.75, 4, 40, false, 12, 12, 0.48, 0.52},
		{"windows cost what they cost", 0, 0.06, 0.25, 4, 40, false, 12, 12, 0.48, 0.52},
		{"a GPU, where a batch is filled at once", 0.28, 0.01, 0.01, 4, 40, false, 12, 12, 0.48, 0.55},
		{"too little is there for a larger batch", 0.28, 0.03, 0.175, 1, 2, false, 12, 12, 0.4, 0.6},
	} {
		d := newBench(Config{NoBackfill: true})
		d.fixed, d.each = tt.fixed, [numLanes]float64{tt.clip, tt.each}
		d.f.SetShared(tt.shared)
		for _, n := range []int{1, 12} {
			d.f.meters[Recordings].observe(n, tt.fixed+tt.each*float64(n))
		}
		d.lanesOf(40, tt.recordings, tt.windows)
		got := d.lanesOf(24, tt.recordings, tt.windows)
		if n := strings.Count(got, "cR"); n < tt.least || n > tt.most {
			t.Errorf("%s: turns go %s, want %d to %d of recordings", tt.name, got, tt.least, tt.most)
		}
		d.device = [numLanes]float64{}
		d.lanesOf(400, tt.recordings, tt.windows)
		if share := d.device[Recordings] / (d.device[Clips] + d.device[Recordings]); share < tt.leastShare || share > tt.mostShare {
			t.Errorf("%s: recordings have %.3f of the device, want half", tt.name, share)
		}
	}
}

// TestRule9RecordingsPassTwiceAtMost: prices alone never make them pass more often; what has been measured askew might.
func TestRule9RecordingsPassTwiceAtMost(t *testing.T) {
	d := newBench(Config{NoBackfill: true})
	for _, n := range []int{1, 12} {
		d.f.meters[Recordings].observe(n, 0.28+0.175*float64(n))
	}
	d.f.quantum.clipTurn = 0.5
	d.recording(40, "R")
	for passed := range savedTurns + 1 {
		d.f.quantum.passed = passed
		if got, want := d.f.saves(), passed < savedTurns; got != want {
			t.Errorf("after %d turns passed: saves %v, want %v", passed, got, want)
		}
	}
}

func TestRule9WhatNobodyWaitsForIsNotSaved(t *testing.T) {
	d := newBench(Config{NoBackfill: true})
	d.fixed, d.each = 0.28, [numLanes]float64{0.03, 0.175}
	for _, n := range []int{1, 12} {
		d.f.meters[Recordings].observe(n, d.fixed+d.each[Recordings]*float64(n))
	}
	d.recording(40, "R")
	for n := range 17 {
		d.clip(5000, fmt.Sprint("c", n))
	}
	d.next()
	d.next()
	if d.next(); d.f.quantum.saved == 0 {
		t.Fatal("nothing is saved, so nothing is tested")
	}
	d.hangUp("R")
	d.clip(5000, "last")
	if d.next(); d.f.quantum.saved != 0 || d.f.quantum.passed != 0 {
		t.Errorf("%.2f s are saved over %d turns although the recording left", d.f.quantum.saved, d.f.quantum.passed)
	}
}
