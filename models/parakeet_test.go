package models

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

func openParakeet(t testing.TB, path string) *ParakeetModel {
	t.Helper()
	m, err := OpenParakeet(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

func TestParakeet(t *testing.T) {
	m := openParakeet(t, tinyParakeet)
	want := ParakeetConfig{
		SampleRate: 16000, Features: 128, NFFT: 512, WindowSamples: 400, HopSamples: 160, Preemphasis: 0.97,
		SubsamplingFactor: 8, SubsamplingChannels: 32, Layers: 2, Width: 128, Heads: 4, FeedForward: 512, ConvKernel: 9,
		PredictorWidth: 128, PredictorLayers: 2, JointWidth: 128, Durations: []int{0, 1, 2, 3, 4}, MaxSymbols: 10, Vocabulary: 128,
	}
	if !reflect.DeepEqual(m.Config, want) {
		t.Errorf("configuration %+v, want %+v", m.Config, want)
	}
	if m.Config.Blank() != 128 || m.Config.FrameSeconds() != 0.08 {
		t.Errorf("blank %d, %v s a frame", m.Config.Blank(), m.Config.FrameSeconds())
	}
	bias := make([]float32, 134)
	if err := m.Read(bias, "joint.joint_net.2.bias", 134); err != nil || slices.Max(bias) == 0 {
		t.Errorf("joint's bias: %v, %v", bias, err)
	}
	for name, c := range map[string]struct {
		n     int
		shape []int
		want  string
	}{
		"none":                     {1, []int{1}, "tensor none is missing"},
		"joint.joint_net.2.bias":   {133, []int{133}, "has shape [134], want [133]"},
		"joint.joint_net.2.weight": {134 * 128, []int{134 * 128}, "has shape [134 128], want [17152]"},
		"joint.enc.bias":           {127, []int{128}, "the destination 127"},
		"encoder.layers.0.conv.batch_norm.num_batches_tracked": {1, nil, "type I64"},
	} {
		if err := m.Read(make([]float32, c.n), name, c.shape...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}

// An engine closes a model once its weights are on the device, and goes on with
// its tokenizer.
func TestParakeetTokenizerOutlivesIt(t *testing.T) {
	m, err := OpenParakeet(tinyParakeet)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if got := m.Tokenizer.Decode(m.Tokenizer.Encode("Ｓｅｔ the light ①")); got != "Set the light  \u2047 " {
		t.Errorf("%q", got)
	}
}

// Both forms of the small model were written by the libraries whose forms they
// are.
func TestParakeetForms(t *testing.T) {
	nemo, hf := openParakeet(t, tinyParakeet), openParakeet(t, hfParakeetDir(t))
	if nemo.Format() != FormatNemo || hf.Format() != FormatSafetensors {
		t.Errorf("formats %s and %s", nemo.Format(), hf.Format())
	}
	if !reflect.DeepEqual(nemo.Config, hf.Config) {
		t.Errorf("configurations differ:\n%+v\n%+v", nemo.Config, hf.Config)
	}
	for _, name := range []string{"preprocessor.featurizer.fb", "preprocessor.featurizer.window"} { // only NeMo keeps them
		if _, ok := nemo.Tensor(name); !ok {
			t.Errorf("%s is missing", name)
		}
		delete(nemo.tensors, name)
	}
	nemo.sortNames()
	mustEqualWeights(t, nemo, hf)
	if !slices.Equal(nemo.Tokenizer.texts, hf.Tokenizer.texts) {
		t.Error("vocabularies differ")
	}
	for _, text := range []string{"", "turn on the radio", "Set the light to seven.", " a  b ", "é", "ｆｕｌｌ"} {
		if a, b := nemo.Tokenizer.Encode(text), hf.Tokenizer.Encode(text); !slices.Equal(a, b) {
			t.Errorf("%q is %v and %v", text, a, b)
		}
	}
}
