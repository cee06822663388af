package parakeet

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"math"
	"regexp"
	"slices"
	"testing"

	"hark/models"
)

// formula is a model of the layer shapes of parakeet-tdt-0.6b-v2 with weights that follow from their names, as the
// goldens' README describes. It is a [source].
type formula struct {
	Weights map[string]struct {
		Shape         []int
		Scale, Offset float64
		SHA256        string
	}
	BlankBias    float64   `json:"blank_bias"`
	DurationBias []float64 `json:"duration_bias"`
	layers       int
}

func newFormula(t testing.TB, layers int) *formula {
	t.Helper()
	f := &formula{layers: layers}
	goldenJSON(t, f, "shape.json")
	return f
}

// config is that of the model.
func (f *formula) config() models.ParakeetConfig {
	return models.ParakeetConfig{
		SampleRate: 16000, Features: 128, NFFT: 512, WindowSamples: 400, HopSamples: 160, Preemphasis: 0.97,
		SubsamplingFactor: 8, SubsamplingChannels: 256, Layers: f.layers, Width: 1024, Heads: 8, FeedForward: 4096, ConvKernel: 9,
		PredictorWidth: 640, PredictorLayers: 2, JointWidth: 640, Durations: []int{0, 1, 2, 3, 4}, MaxSymbols: 10, Vocabulary: 1024,
	}
}

var layerName = regexp.MustCompile(`^encoder\.layers\.\d+\.`)

// key is the name whose shape and scale a tensor has: layers beyond those of the goldens are like the first.
func (f *formula) key(name string) string {
	var layer int
	if n, _ := fmt.Sscanf(name, "encoder.layers.%d.", &layer); n == 1 && layer >= 2 && layer < f.layers {
		return layerName.ReplaceAllString(name, "encoder.layers.0.")
	}
	return name
}

func (f *formula) Tensor(name string) (models.Tensor, bool) {
	w, ok := f.Weights[f.key(name)]
	return models.Tensor{Name: name, DType: models.F32, Shape: w.Shape}, ok
}

func (f *formula) Read(dst []float32, name string, shape ...int) error {
	w, ok := f.Weights[f.key(name)]
	if !ok || !slices.Equal(w.Shape, shape) {
		return fmt.Errorf("no tensor %s of shape %v, but %v", name, shape, w.Shape)
	}
	hash := fnv.New64a()
	hash.Write([]byte(name))
	h, scale, offset := hash.Sum64(), float32(w.Scale), float32(w.Offset)
	for i := range dst {
		z := h + uint64(i+1)*0x9E3779B97F4A7C15
		z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9
		z = (z ^ (z >> 27)) * 0x94D049BB133111EB
		z ^= z >> 31
		r := float32(z>>40)*(1.0/(1<<23)) - 1
		dst[i] = float32(r*scale) + offset
	}
	blank := f.config().Blank()
	switch name {
	case "decoder.prediction.embed.weight":
		clear(dst[blank*shape[1]:])
	case "joint.joint_net.2.bias":
		dst[blank] += float32(f.BlankBias)
		for i, b := range f.DurationBias {
			dst[blank+1+i] += float32(b)
		}
	}
	return nil
}

// TestFormula holds the weights to the sums that the goldens give.
func TestFormula(t *testing.T) {
	f := newFormula(t, 2)
	for name, w := range f.Weights {
		x := make([]float32, product(w.Shape))
		if err := f.Read(x, name, w.Shape...); err != nil {
			t.Fatal(err)
		}
		sum := sha256.New()
		raw := make([]byte, 0, 4*len(x))
		for _, v := range x {
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
		}
		sum.Write(raw)
		if got := hex.EncodeToString(sum.Sum(nil)); got != w.SHA256 {
			t.Errorf("%s has the sum %s, want %s", name, got, w.SHA256)
		}
	}
}
