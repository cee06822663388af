package models

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// publishedConfig is the part of a published model's configuration that has its
// shape, as NeMo writes it.
func publishedConfig(encoder, decoder string, features, vocabulary int) []byte {
	return fmt.Appendf(nil, `tokenizer:
  dir: /tokenizers/x
  type: bpe
  model_path: nemo:0123_tokenizer.model
preprocessor:
  _target_: nemo.collections.asr.modules.AudioToMelSpectrogramPreprocessor
  sample_rate: 16000
  normalize: per_feature
  window_size: 0.025
  window_stride: 0.01
  window: hann
  features: %d
  n_fft: 512
  frame_splicing: 1
  dither: 1.0e-05
  pad_to: 0
encoder:
  _target_: nemo.collections.asr.modules.ConformerEncoder
  feat_in: %[1]d
  feat_out: -1
%s
  subsampling: dw_striding
  subsampling_factor: 8
  subsampling_conv_channels: 256
  causal_downsampling: false
  reduction: null
  ff_expansion_factor: 4
  self_attention_model: rel_pos
  n_heads: 8
  att_context_size:
  - -1
  - -1
  att_context_style: regular
  xscaling: false
  untie_biases: true
  conv_kernel_size: 9
  conv_norm_type: batch_norm
  conv_context_size: null
decoder:
  _target_: nemo.collections.asr.modules.RNNTDecoder
  normalization_mode: null
  blank_as_pad: true
  prednet:
    pred_hidden: 640
%s
  vocab_size: %d
joint:
  _target_: nemo.collections.asr.modules.RNNTJoint
  jointnet:
    joint_hidden: 640
    activation: relu
  num_extra_outputs: 5
  num_classes: %[4]d
decoding:
  strategy: greedy_batch
  model_type: tdt
  durations: &d [0, 1, 2, 3, 4]
  greedy:
    max_symbols: 10
loss:
  loss_name: tdt
  tdt_kwargs:
    durations: *d
aux_ctc:
  decoder:
    _target_: nemo.collections.asr.modules.ConvASRDecoder
    num_classes: %[4]d
`, features, encoder, decoder, vocabulary)
}

// published are the four published models.
func published() map[string]struct {
	yaml []byte
	want ParakeetConfig
} {
	base := ParakeetConfig{
		SampleRate: 16000, NFFT: 512, WindowSamples: 400, HopSamples: 160, Preemphasis: 0.97,
		SubsamplingFactor: 8, SubsamplingChannels: 256, Heads: 8, ConvKernel: 9,
		PredictorWidth: 640, JointWidth: 640, Durations: []int{0, 1, 2, 3, 4}, MaxSymbols: 10,
	}
	of := func(features, layers, width int, bias bool, predictorLayers, vocabulary int) ParakeetConfig {
		c := base
		c.Features, c.Layers, c.Width, c.FeedForward, c.Bias, c.PredictorLayers, c.Vocabulary = features, layers, width, 4*width, bias, predictorLayers, vocabulary
		return c
	}
	const two, one = "    pred_rnn_layers: 2", "    pred_rnn_layers: 1"
	return map[string]struct {
		yaml []byte
		want ParakeetConfig
	}{
		"parakeet-tdt-0.6b-v2":  {publishedConfig("  n_layers: 24\n  d_model: 1024\n  use_bias: false", two, 128, 1024), of(128, 24, 1024, false, 2, 1024)},
		"parakeet-tdt-0.6b-v3":  {publishedConfig("  n_layers: 24\n  d_model: 1024\n  use_bias: false", two, 128, 8192), of(128, 24, 1024, false, 2, 8192)},
		"parakeet-tdt_ctc-110m": {publishedConfig("  n_layers: 17\n  d_model: 512", one, 80, 1024), of(80, 17, 512, true, 1, 1024)},
		"parakeet-tdt-1.1b":     {publishedConfig("  n_layers: 42\n  d_model: 1024", two, 80, 1024), of(80, 42, 1024, true, 2, 1024)},
	}
}

func TestNemoConfig(t *testing.T) {
	for name, c := range published() {
		got, tokenizer, err := parseNemoConfig(c.yaml)
		if err != nil || !reflect.DeepEqual(got, c.want) || tokenizer != "0123_tokenizer.model" {
			t.Errorf("%s: %+v, %q, %v, want %+v", name, got, tokenizer, err, c.want)
		}
		if _, ok := Find(name); !ok {
			t.Errorf("%s is not in the catalogue", name)
		}
	}
}

// A change to a configuration changes what it should, or is refused by the key's
// name.
func TestNemoConfigChanges(t *testing.T) {
	change := func(f func(c *ParakeetConfig)) ParakeetConfig {
		c := published()["parakeet-tdt-0.6b-v2"].want
		f(&c)
		return c
	}
	for name, c := range map[string]struct {
		edit []string // by turns, what is replaced and by what
		want any      // a string: in the error
	}{
		"pre-emphasis":      {[]string{"  dither:", "  preemph: 0.9\n  dither:"}, change(func(c *ParakeetConfig) { c.Preemphasis = 0.9 })},
		"no pre-emphasis":   {[]string{"  dither:", "  preemph: 0\n  dither:"}, change(func(c *ParakeetConfig) { c.Preemphasis = 0 })},
		"samples":           {[]string{"  window_size: 0.025", "  n_window_size: 320"}, change(func(c *ParakeetConfig) { c.WindowSamples = 320 })},
		"no n_fft":          {[]string{"  n_fft: 512\n", ""}, change(func(*ParakeetConfig) {})},
		"true":              {[]string{"  dither:", "  log: True\n  dither:"}, change(func(*ParakeetConfig) {})},
		"scaled input":      {[]string{"xscaling: false", "xscaling: true"}, change(func(c *ParakeetConfig) { c.ScaleInput = true })},
		"default scaling":   {[]string{"  xscaling: false\n", ""}, change(func(c *ParakeetConfig) { c.ScaleInput = true })},
		"default bias":      {[]string{"  use_bias: false\n", ""}, change(func(c *ParakeetConfig) { c.Bias = true })},
		"channels":          {[]string{"conv_channels: 256", "conv_channels: -1"}, change(func(c *ParakeetConfig) { c.SubsamplingChannels = 1024 })},
		"half subsampling":  {[]string{"subsampling_factor: 8", "subsampling_factor: 4"}, change(func(c *ParakeetConfig) { c.SubsamplingFactor = 4 })},
		"symmetric context": {[]string{"conv_context_size: null", "conv_context_size: [4, 4]"}, change(func(*ParakeetConfig) {})},
		"two symbols":       {[]string{"max_symbols: 10", "max_symbols: 2"}, change(func(c *ParakeetConfig) { c.MaxSymbols = 2 })},
		"any symbols":       {[]string{"max_symbols: 10", "max_symbols: null"}, change(func(*ParakeetConfig) {})},
		"symbols a step":    {[]string{"max_symbols: 10", "max_symbols_per_step: 3"}, change(func(c *ParakeetConfig) { c.MaxSymbols = 3 })},
		"durations":         {[]string{"[0, 1, 2, 3, 4]", "[0, 1, 2, 4, 8]"}, change(func(c *ParakeetConfig) { c.Durations = []int{0, 1, 2, 4, 8} })},
		"counted labels":    {[]string{"vocab_size: 1024", "vocab_size: -1", "num_classes: 1024", "num_classes: -1\n  vocabulary: [a, b]"}, change(func(c *ParakeetConfig) { c.Vocabulary = 2 })},
		"interpolation":     {[]string{"pred_hidden: 640", "pred_hidden: ${model_defaults.pred}", "tokenizer:\n", "model_defaults:\n  pred: ${model.pred}\npred: 320\ntokenizer:\n"}, change(func(c *ParakeetConfig) { c.PredictorWidth = 320 })},
		"a list of them":    {[]string{"durations: *d", "durations: [0, \"${one}\"]\none: 1"}, "joint.num_extra_outputs: 5 are not the 2 durations"},

		"a circle":            {[]string{"pred_hidden: 640", "pred_hidden: ${a}", "tokenizer:\n", "a: ${b}\nb: ${a}\ntokenizer:\n"}, "prediction width: 0"},
		"to itself":           {[]string{"pred_hidden: 640", "pred_hidden: ${decoder.prednet.pred_hidden}"}, "prediction width: 0"},
		"to nothing":          {[]string{"pred_hidden: 640", "pred_hidden: ${none.there}"}, "prediction width: 0"},
		"to a list":           {[]string{"pred_hidden: 640", "pred_hidden: ${decoding.durations}"}, "decoder.prednet.pred_hidden: is no int"},
		"not a number":        {[]string{"n_heads: 8", "n_heads: many"}, "encoder.n_heads: is no int"},
		"not a list":          {[]string{"durations: *d", "durations: 4"}, "loss.tdt_kwargs.durations: is no list"},
		"list of words":       {[]string{"durations: *d", "durations: [a]"}, "loss.tdt_kwargs.durations: is no list"},
		"CTC":                 {[]string{"modules.RNNTDecoder", "modules.ConvASRDecoder"}, `decoder._target_: "nemo.collections.asr.modules.ConvASRDecoder" is not run: only RNNTDecoder is`},
		"stateless":           {[]string{"modules.RNNTDecoder", "modules.StatelessTransducerDecoder"}, "decoder._target_"},
		"no decoder":          {[]string{"  _target_: nemo.collections.asr.modules.RNNTDecoder\n", ""}, "decoder._target_: is missing: only RNNTDecoder is run"},
		"RNN-T":               {[]string{"  durations: &d [0, 1, 2, 3, 4]", "  x: &d []"}, "decoding.durations: there are none: of the transducers only TDT is run"},
		"other encoder":       {[]string{"modules.ConformerEncoder", "modules.SqueezeformerEncoder"}, "encoder._target_"},
		"other features":      {[]string{"modules.AudioToMelSpectrogramPreprocessor", "modules.AudioToMFCCPreprocessor"}, "preprocessor._target_"},
		"no normalisation":    {[]string{"per_feature", "NA"}, `preprocessor.normalize: "NA" is not run: only per_feature is`},
		"linear features":     {[]string{"  dither:", "  log: false\n  dither:"}, "preprocessor.log: false is not run"},
		"hamming":             {[]string{"window: hann", "window: hamming"}, "preprocessor.window"},
		"frame splicing":      {[]string{"frame_splicing: 1", "frame_splicing: 2"}, "preprocessor.frame_splicing"},
		"magnitude":           {[]string{"  dither:", "  mag_power: 1.0\n  dither:"}, "preprocessor.mag_power"},
		"features differ":     {[]string{"feat_in: 128", "feat_in: 80"}, "encoder.feat_in: 80 is not the preprocessor's 128"},
		"local attention":     {[]string{"self_attention_model: rel_pos", "self_attention_model: rel_pos_local_attn"}, `encoder.self_attention_model: "rel_pos_local_attn" is not run`},
		"limited attention":   {[]string{"  - -1\n  - -1", "  - 70\n  - 13"}, "encoder.att_context_size: [70 13]"},
		"many contexts":       {[]string{"  - -1\n  - -1", "  - [70, 13]\n  - [70, 0]"}, "encoder.att_context_size: is no list"},
		"chunked":             {[]string{"style: regular", "style: chunked_limited"}, "encoder.att_context_style"},
		"causal downsampling": {[]string{"causal_downsampling: false", "causal_downsampling: true"}, "encoder.causal_downsampling: true is not run"},
		"causal convolution":  {[]string{"conv_context_size: null", "conv_context_size: causal"}, "encoder.conv_context_size"},
		"lopsided":            {[]string{"conv_context_size: null", "conv_context_size: [8, 0]"}, "encoder.conv_context_size"},
		"layer norm":          {[]string{"batch_norm", "layer_norm"}, "encoder.conv_norm_type"},
		"striding":            {[]string{"dw_striding", "striding"}, `encoder.subsampling: "striding" is not run: only dw_striding is`},
		"reduction":           {[]string{"reduction: null", "reduction: pooling"}, `encoder.reduction: "pooling" is not run: only a model without it is`},
		"tied":                {[]string{"untie_biases: true", "untie_biases: false"}, "encoder.untie_biases"},
		"no padding":          {[]string{"blank_as_pad: true", "blank_as_pad: false"}, "decoder.blank_as_pad"},
		"normalised LSTM":     {[]string{"normalization_mode: null", "normalization_mode: layer"}, "decoder.normalization_mode"},
		"projected LSTM":      {[]string{"pred_hidden: 640", "pred_hidden: 640\n    rnn_hidden_size: 2048"}, "decoder.prednet.rnn_hidden_size: 2048"},
		"tanh":                {[]string{"activation: relu", "activation: tanh"}, "joint.jointnet.activation"},
		"extra outputs":       {[]string{"num_extra_outputs: 5", "num_extra_outputs: 4"}, "joint.num_extra_outputs: 4 are not the 5 durations"},
		"word pieces":         {[]string{"type: bpe", "type: wpe"}, `tokenizer.type: "wpe" is not run: only bpe is`},
		"many tokenizers":     {[]string{"type: bpe", "type: agg"}, "tokenizer.type"},
		"no tokenizer":        {[]string{"  model_path: nemo:0123_tokenizer.model\n", ""}, "tokenizer.model_path: names no file"},
		"a mapping":           {[]string{"window: hann", "window: {a: b}"}, "preprocessor.window: is no single value"},
		"even kernel":         {[]string{"conv_kernel_size: 9", "conv_kernel_size: 8"}, "convolution kernel: 8 is even"},
		"odd heads":           {[]string{"n_heads: 8", "n_heads: 7"}, "heads: 7 do not divide"},
		"no layers":           {[]string{"n_layers: 24", "n_layers: 0"}, "layers: 0 is not between"},
		"many layers":         {[]string{"n_layers: 24", "n_layers: 1000000"}, "layers: 1000000"},
		"wide":                {[]string{"d_model: 1024", "d_model: 9223372036854775807"}, "width: 9223372036854775807"},
		"long window":         {[]string{"window_size: 0.025", "window_size: 0.1"}, "window: 1600 samples do not fit"},
		"window of a week":    {[]string{"window_size: 0.025", "window_size: 1e300"}, "window: "},
		"odd transform":       {[]string{"n_fft: 512", "n_fft: 500"}, "n_fft: 500 is not a power of two"},
		"factor":              {[]string{"subsampling_factor: 8", "subsampling_factor: 6"}, "subsampling factor: 6"},
		"factor of one":       {[]string{"subsampling_factor: 8", "subsampling_factor: 1"}, "subsampling factor: 1"},
		"still durations":     {[]string{"[0, 1, 2, 3, 4]", "[0, 0, 0, 0, 0]"}, "never advance"},
		"back":                {[]string{"[0, 1, 2, 3, 4]", "[0, 1, 2, 3, -4]"}, "-4 frames"},
		"hot":                 {[]string{"  dither:", "  preemph: 1.5\n  dither:"}, "pre-emphasis: 1.5"},
		"no symbols":          {[]string{"max_symbols: 10", "max_symbols: 0"}, "symbols a frame: 0"},
	} {
		yaml := string(published()["parakeet-tdt-0.6b-v2"].yaml)
		for i := 0; i < len(c.edit); i += 2 {
			if !strings.Contains(yaml, c.edit[i]) {
				t.Errorf("%s: %q is not in the configuration", name, c.edit[i])
			}
		}
		got, _, err := parseNemoConfig([]byte(strings.NewReplacer(c.edit...).Replace(yaml)))
		switch want := c.want.(type) {
		case string:
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want %q", name, err, want)
			}
		default:
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %+v, %v, want %+v", name, got, err, want)
			}
		}
	}
}

func TestYAMLRefusals(t *testing.T) {
	bomb := "a0: &a0 [x, x, x, x, x, x, x, x]\n"
	for i := range 30 {
		bomb += fmt.Sprintf("a%d: &a%[1]d [%s]\n", i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), 8), ", "))
	}
	for name, c := range map[string]struct{ yaml, want string }{
		"empty":        {"", "no mapping"},
		"a list":       {"- a\n", "no mapping"},
		"a word":       {"hello", "no mapping"},
		"no YAML":      {"\x00", "yaml: "},
		"deep":         {strings.Repeat("[", 20000), "yaml: "},
		"lost alias":   {"a: *b\n", "yaml: "},
		"alias bomb":   {bomb, "is missing"},
		"own alias":    {"encoder: &e\n  n_layers: *e\n", "is missing"},
		"merge of all": {"<<: {encoder: {n_layers: 3}}\n", "is missing"},
	} {
		if _, _, err := parseNemoConfig([]byte(c.yaml)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
	// An alias is followed where it leads to the value asked for.
	y, err := parseYAML([]byte(bomb + "list: *a0\nnumber: &n 3\nsame: *n\n"))
	if err != nil {
		t.Fatal(err)
	}
	if n := y.len("list"); n != 8 {
		t.Errorf("a list by its alias has %d items, want 8", n)
	}
	if n := y.int("same", 0); n != 3 || y.err != nil {
		t.Errorf("a number by its alias is %d, %v", n, y.err)
	}
}

func FuzzNemoConfig(f *testing.F) {
	for _, c := range published() {
		f.Add(c.yaml)
	}
	f.Add([]byte("a: &a [*a]\nencoder: ${a.b}\nb: ${b}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, _, err := parseNemoConfig(data)
		if err != nil {
			return
		}
		checkConfig(t, c)
	})
}

// checkConfig holds a configuration to what the engine relies on.
func checkConfig(t *testing.T, c ParakeetConfig) {
	t.Helper()
	if c.Width%c.Heads != 0 || c.ConvKernel%2 != 1 || c.MaxSymbols < 1 || c.Vocabulary < 1 || c.WindowSamples > c.NFFT || c.HopSamples < 1 || c.FrameSeconds() <= 0 {
		t.Errorf("impossible: %+v", c)
	}
	if outputs := c.Vocabulary + 1 + len(c.Durations); outputs > 1<<21 || c.Layers > 1<<10 || c.Width > 1<<16 || c.FeedForward > 1<<18 {
		t.Errorf("too large: %+v", c)
	}
}
