package batcher

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"
)

// TestRule16PredictsRecordingsWhileAllClipsRun: clips that run will be followed by others, as those that wait are.
func TestRule16PredictsRecordingsWhileAllClipsRun(t *testing.T) {
	d := newBench(Config{NoBackfill: true})
	d.fixed, d.each = 0.2, [numLanes]float64{0.1, 0.1}
	d.lanesOf(40, 1, 40)
	d.hangUp(slices.Collect(maps.Keys(d.items))...)
	req := Request[string]{Lane: Recordings, CostMillis: 30 * windowCharge}
	alone := d.f.Predict(&req, d.now)
	for n := range 8 {
		d.clip(5000, fmt.Sprint("last", n))
	}
	waiting := d.f.Predict(&req, d.now)
	d.f.Next(d.now)
	running := d.f.Predict(&req, d.now) // and for what runs
	if d.f.clips.n > 0 || waiting < alone*3/2 || running < waiting {
		t.Errorf("predicted %v alone, %v while clips wait, %v while all of them run", alone, waiting, running)
	}
}

// TestRule16PredictsRecordingsAmongClips: how long a recording takes beside clips depends on how many turns of clips
// come between its windows, at any share, whether its turns are one window or whole batches.
func TestRule16PredictsRecordingsAmongClips(t *testing.T) {
	for _, share := range []float64{MinShare, 0.1, 0.5, 0.8, MaxShare} {
		d := newBench(Config{RecordingsShare: share, NoBackfill: true})
		d.fixed, d.each = 0.2, [numLanes]float64{0.1, 0.1}
		clips := 0
		compete := func() {
			for d.f.clips.n < 8 {
				d.clip(5000, fmt.Sprint("c", clips))
				clips++
			}
		}
		for r := range 6 {
			compete()
			const windows = 30
			name := fmt.Sprint("r", r)
			req := Request[string]{Lane: Recordings, CostMillis: windows * windowCharge, Caller: "a"}
			predicted, began := d.f.Predict(&req, d.now), d.now
			d.by("a", Recordings, req.CostMillis, windows, name)
			for d.f.recordings.n > 0 {
				d.next()
				compete()
			}
			took := d.now.Sub(began)
			if r < 2 { // what windows cost is being learned
				continue
			}
			if off := (predicted - took).Abs(); off > took/4+2*time.Second {
				t.Errorf("share %v: recording %d took %v, predicted %v", share, r, took, predicted)
			}
		}
	}
}
