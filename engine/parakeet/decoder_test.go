package parakeet

import (
	"slices"
	"testing"

	"hark/models"
)

// loadTestDecoder puts a decoder on a device of its own.
func loadTestDecoder(t testing.TB, c models.ParakeetConfig, weights source) *decoder {
	t.Helper()
	l := &loader{dev: newTestDevice(t), weights: weights}
	d := loadDecoder(l, c, 40, 8)
	t.Cleanup(d.close)
	if l.err != nil {
		t.Fatal(l.err)
	}
	return d
}

// TestDecoderGolden holds the prediction network and the joint network to the goldens,
// given the golden texts and frames.
func TestDecoderGolden(t *testing.T) {
	for _, c := range []struct {
		name string
		load func(t *testing.T) (models.ParakeetConfig, source)
	}{
		{"tiny", func(t *testing.T) (models.ParakeetConfig, source) { m := openTiny(t, "hf"); return m.Config, m }},
		{"shape", func(t *testing.T) (models.ParakeetConfig, source) { f := newFormula(t, 0); return f.config(), f }},
	} {
		t.Run(c.name, func(t *testing.T) {
			config, weights := c.load(t)
			d := loadTestDecoder(t, config, weights)
			var golden struct {
				Utterances []struct {
					Name    string
					History []int32
					JointAt [][2]int `json:"joint_at"`
				}
			}
			goldenJSON(t, &golden, c.name+".json")
			last := len(d.lstm) - 1
			for _, u := range golden.Utterances {
				want, rows := goldenTensor(t, c.name, u.Name, "prediction")
				wantProjected, _ := goldenTensor(t, c.name, u.Name, "prediction_projected")
				p, j := len(want)/rows, len(wantProjected)/rows
				// Slot i holds the state after i pieces: each goes on from the one before.
				d.begin(0)
				for i, id := range u.History {
					d.predict([]prediction{{id, int32(i), int32(i + 1)}})
				}
				for i := range rows {
					if diff := maxDiff(t, download(t, d.dev, d.h[last].Slice(i, i+1)), want[i*p:][:p]); !(diff <= 1e-4) {
						t.Errorf("%s: prediction after %d pieces differs by %g", u.Name, i, diff)
					}
					if diff := maxDiff(t, download(t, d.dev, d.predicted.Slice(i, i+1)), wantProjected[i*j:][:j]); !(diff <= 1e-4) {
						t.Errorf("%s: projected prediction after %d pieces differs by %g", u.Name, i, diff)
					}
				}
				projected, frames := goldenTensor(t, c.name, u.Name, "encoder_projected")
				x := alloc(t, d.dev, frames, j)
				d.dev.Upload(x, projected)
				logits, _ := goldenTensor(t, c.name, u.Name, "joint_logits")
				outputs := d.logits.Cols
				for i, at := range u.JointAt {
					a, err := d.ask(x, []look{{frame: at[0], slot: int32(at[1])}}, 0, 0)
					if err != nil {
						t.Fatal(err)
					}
					got := download(t, d.dev, d.logits.Slice(0, 1))
					if diff := maxDiff(t, got, logits[i*outputs:][:outputs]); !(diff <= 2e-2) {
						t.Errorf("%s: logits at %v differ by %g", u.Name, at, diff)
					}
					pieces := int(d.steps.blank) + 1
					if best := argMax(got[:pieces]); a[0].piece.ID != best {
						t.Errorf("%s: piece at %v is %d, want %d", u.Name, at, a[0].piece.ID, best)
					}
					if best := argMax(got[pieces:]); a[0].duration.ID != best {
						t.Errorf("%s: duration at %v is %d, want %d", u.Name, at, a[0].duration.ID, best)
					}
				}
			}
		})
	}
}

func argMax(x []float32) int32 { return int32(slices.Index(x, slices.Max(x))) }

// TestPredictTogether: steps made at once are those made one by one, whichever states they go on from.
func TestPredictTogether(t *testing.T) {
	m, err := models.OpenParakeet(repository + "parakeet-tiny.nemo")
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	d := loadTestDecoder(t, m.Config, m)
	state := func(slot int32) []float32 {
		var all []float32
		for i := range d.lstm {
			all = append(all, download(t, d.dev, d.h[i].Slice(int(slot), int(slot)+1))...)
			all = append(all, download(t, d.dev, d.c[i].Slice(int(slot), int(slot)+1))...)
		}
		return append(all, download(t, d.dev, d.predicted.Slice(int(slot), int(slot)+1))...)
	}
	d.begin(0)
	d.predict([]prediction{{5, 0, 1}})
	steps := []prediction{{7, 0, 2}, {8, 0, 3}, {9, 1, 1}, {10, 1, 4}, {11, 0, 0}}
	var want [][]float32
	for i, s := range steps {
		slot := int32(10 + i)
		d.predict([]prediction{{s.token, s.from, slot}})
		want = append(want, state(slot))
	}
	d.predict(steps)
	for i, s := range steps {
		if !slices.Equal(state(s.to), want[i]) {
			t.Errorf("step %d: the state is not that of the step alone", i)
		}
	}
}

// TestOneLayerPredictor runs a decoder whose prediction network has one layer, as the smaller released models have.
func TestOneLayerPredictor(t *testing.T) {
	m, err := models.OpenParakeet(repository + "parakeet-tiny.nemo")
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	m.Config.PredictorLayers = 1
	d := loadTestDecoder(t, m.Config, m)
	d.begin(0)
	d.predict([]prediction{{5, 0, 1}})
	one := download(t, d.dev, d.h[0].Slice(1, 2))
	two := loadTestDecoder(t, func() models.ParakeetConfig { c := m.Config; c.PredictorLayers = 2; return c }(), m)
	two.begin(0)
	two.predict([]prediction{{5, 0, 1}})
	if want := download(t, two.dev, two.h[0].Slice(1, 2)); !slices.Equal(one, want) {
		t.Error("the first layer's state is not the same with and without a second one")
	}
}

// TestLoadDecoderFails: a missing tensor and a device that is full are told.
func TestLoadDecoderFails(t *testing.T) {
	m, err := models.OpenParakeet(repository + "parakeet-tiny.nemo")
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	c := m.Config
	c.PredictorLayers = 3
	l := &loader{dev: newTestDevice(t), weights: m}
	if loadDecoder(l, c, 4, 4).close(); l.err == nil {
		t.Error("a layer that is not there was loaded")
	}
	l = &loader{dev: &countingDevice{Device: newTestDevice(t)}, weights: m}
	if loadDecoder(l, m.Config, 4, 4).close(); l.err == nil {
		t.Error("a decoder was loaded on a full device")
	}
}
