package parakeet

import (
	"fmt"
	"slices"
	"testing"

	"hark/engine"
	"hark/engine/cpu"
	"hark/models"
)

func newTestDevice(t testing.TB) *cpu.Device {
	t.Helper()
	d, err := cpu.New(cpu.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

func newTestEncoder(t testing.TB, c models.ParakeetConfig, weights source) *encoder {
	t.Helper()
	l := &loader{dev: newTestDevice(t), weights: weights}
	e := loadEncoder(l, c)
	t.Cleanup(e.close)
	if l.err != nil {
		t.Fatal(l.err)
	}
	return e
}

// stages runs a batch and returns what each stage gave for each item.
func (e *encoder) stages(t testing.TB, items [][]float32) []map[string][]float32 {
	t.Helper()
	rows := 0
	for _, x := range items {
		rows += e.frames(len(x) / e.config.Features)
	}
	whole, widths := map[string][]float32{}, map[string]int{"encoder_projected": e.config.JointWidth, "encoder": e.config.Width}
	e.tap = func(stage string, x engine.Tensor) {
		whole[stage] = append(whole[stage], download(t, e.dev, x)...)
		widths[stage] = x.Cols
	}
	dst := alloc(t, e.dev, rows, e.config.JointWidth)
	if err := e.encode(dst, items); err != nil {
		t.Fatal(err)
	}
	e.tap = nil
	whole["encoder_projected"] = download(t, e.dev, dst)
	whole["encoder"] = whole[fmt.Sprintf("block%d", e.config.Layers-1)]
	out := make([]map[string][]float32, len(items))
	for i, x := range items {
		out[i] = map[string][]float32{}
		for stage, v := range whole {
			n := widths[stage] * e.frames(len(x)/e.config.Features)
			out[i][stage], whole[stage] = v[:n], v[n:]
		}
	}
	return out
}

// goldenItem is a recording as a model's encoder gets it.
type goldenItem struct {
	name     string
	features []float32
}

// checkStages holds what the stages gave for a recording to the goldens.
func checkStages(t *testing.T, model string, item goldenItem, got map[string][]float32, tolerance map[string]float64) {
	t.Helper()
	for _, stage := range []string{"subsampled", "block0", "encoder", "encoder_projected"} {
		want, rows := goldenTensor(t, model, item.name, stage)
		if n := len(got[stage]); n/(len(want)/rows) < rows-1 {
			t.Fatalf("%s: %s has %d values, want %d, but for a row of padding", item.name, stage, n, len(want))
		}
		d := maxDiff(t, got[stage], want[:len(got[stage])])
		t.Logf("%s %s: %.2g", item.name, stage, d)
		if !(d <= tolerance[stage]) {
			t.Errorf("%s: %s differs by %g", item.name, stage, d)
		}
	}
}

var (
	// fromSound are the goldens' tolerances; fromFeatures those of an encoder that is given the golden features.
	fromSound    = map[string]float64{"subsampled": 2e-3, "block0": 5e-3, "encoder": 5e-3, "encoder_projected": 5e-3}
	fromFeatures = map[string]float64{"subsampled": 1e-3, "block0": 1e-3, "encoder": 1e-3, "encoder_projected": 1e-3}
)

// goldenItems are a model's recordings with the golden features, or with the front end's own if there is one.
func goldenItems(t *testing.T, model string, f *frontEnd) []goldenItem {
	var items []goldenItem
	for _, name := range recordings(t, model) {
		if f != nil {
			items = append(items, goldenItem{name, f.features(recordingSamples(t, name))})
			continue
		}
		x, rows := goldenTensor(t, "tiny", name, "features")
		items = append(items, goldenItem{name, x[:len(x)/rows*(rows-1)]})
	}
	return items
}

func TestEncoderGolden(t *testing.T) {
	tiny := openTiny(t, "parakeet-tiny.nemo")
	shape := newFormula(t, 2)
	for _, c := range []struct {
		model   string
		config  models.ParakeetConfig
		weights source
	}{{"tiny", tiny.Config, tiny}, {"shape", shape.config(), shape}} {
		t.Run(c.model, func(t *testing.T) {
			e := newTestEncoder(t, c.config, c.weights)
			f, err := newFrontEnd(c.config, c.weights)
			if err != nil {
				t.Fatal(err)
			}
			for _, item := range goldenItems(t, c.model, f) {
				checkStages(t, c.model, item, e.stages(t, [][]float32{item.features})[0], fromSound)
			}
			for _, item := range goldenItems(t, c.model, nil) {
				checkStages(t, c.model, item, e.stages(t, [][]float32{item.features})[0], fromFeatures)
			}
		})
	}
}

// TestEncoderBatches holds every recording in batches of several orders and group sizes to the recording alone, to the bit.
func TestEncoderBatches(t *testing.T) {
	tiny := openTiny(t, "hf")
	e := newTestEncoder(t, tiny.Config, tiny)
	items := goldenItems(t, "tiny", nil)
	items = append(items, goldenItem{"a frame", noise(128, 1)}, goldenItem{"nothing", nil}, goldenItem{"nine frames", noise(9*128, 2)})
	alone := map[string]map[string][]float32{}
	for _, item := range items {
		alone[item.name] = e.stages(t, [][]float32{item.features})[0]
	}
	for _, group := range []int{1, 100, groupFrames, 1 << 20} {
		e.group = group
		for order := range 3 {
			batch := slices.Clone(items)
			if order == 1 {
				slices.Reverse(batch)
			} else if order == 2 {
				slices.SortFunc(batch, func(a, b goldenItem) int { return len(b.features) - len(a.features) })
			}
			var features [][]float32
			for _, item := range batch {
				features = append(features, item.features)
			}
			for i, got := range e.stages(t, features) {
				for stage, want := range alone[batch[i].name] {
					if !slices.Equal(got[stage], want) {
						t.Fatalf("groups of %d, order %d: %s: %s is not what it is alone", group, order, batch[i].name, stage)
					}
				}
			}
		}
	}
}
