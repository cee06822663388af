package batcher

import (
	"fmt"
	"testing"
	"time"
)

// TestRule16PredictsRecordingsAmongClips: how long a recording takes beside clips depends on how many turns of clips come between its
// windows, at any share, whether its turns are one window or whole batches.
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
