package models

import (
	"math"
	"slices"
	"strings"
)

// parseNemoConfig reads model_config.yaml. What the file leaves out has the
// default of NeMo's modules (nemo/collections/asr/modules/audio_preprocessing.py,
// conformer_encoder.py, rnnt.py). tokenizer is the name of the archive's member
// with the SentencePiece model.
func parseNemoConfig(data []byte) (c ParakeetConfig, tokenizer string, err error) {
	y, err := parseYAML(data)
	if err != nil {
		return c, "", err
	}
	c.readFrontEnd(y)
	c.readEncoder(y)
	c.readDecoder(y)
	tokenizer = nemoTokenizer(y)
	if y.err != nil {
		return c, "", y.err
	}
	return c, tokenizer, c.validate()
}

func (c *ParakeetConfig) readFrontEnd(y *yamlConfig) {
	y.want("preprocessor._target_", "", "AudioToMelSpectrogramPreprocessor")
	y.want("preprocessor.normalize", "per_feature", "per_feature")
	y.want("preprocessor.window", "hann", "hann")
	y.wantBool("preprocessor.log", true)
	y.want("preprocessor.log_zero_guard_type", "add", "add")
	y.want("preprocessor.frame_splicing", "1", "1")
	y.want("preprocessor.mag_power", "2.0", "2.0", "2")
	c.SampleRate = y.int("preprocessor.sample_rate", 16000)
	c.Features = y.int("preprocessor.features", 64)
	c.Preemphasis = y.float("preprocessor.preemph", 0.97)
	samples := func(key string, seconds float64) int {
		if n := y.int("preprocessor.n_"+key, 0); n > 0 {
			return n
		}
		return int(y.float("preprocessor."+key, seconds) * float64(c.SampleRate))
	}
	c.WindowSamples, c.HopSamples = samples("window_size", 0.02), samples("window_stride", 0.01)
	if c.NFFT = y.int("preprocessor.n_fft", 0); c.NFFT == 0 {
		c.NFFT = 1 << int(math.Ceil(math.Log2(float64(max(c.WindowSamples, 1)))))
	}
}

func (c *ParakeetConfig) readEncoder(y *yamlConfig) {
	y.want("encoder._target_", "", "ConformerEncoder")
	y.want("encoder.subsampling", "striding", "dw_striding")
	y.wantBool("encoder.causal_downsampling", false)
	y.want("encoder.reduction", "", "")
	y.want("encoder.self_attention_model", "rel_pos", "rel_pos")
	y.want("encoder.att_context_style", "regular", "regular")
	y.wantBool("encoder.untie_biases", true)
	y.want("encoder.conv_norm_type", "batch_norm", "batch_norm")
	c.SubsamplingFactor = y.int("encoder.subsampling_factor", 4)
	c.Layers = y.int("encoder.n_layers", 0)
	c.Width = y.int("encoder.d_model", 0)
	c.Heads = y.int("encoder.n_heads", 4)
	c.FeedForward = c.Width * y.int("encoder.ff_expansion_factor", 4)
	c.ConvKernel = y.int("encoder.conv_kernel_size", 31)
	c.Bias = y.bool("encoder.use_bias", true)
	c.ScaleInput = y.bool("encoder.xscaling", true)
	if c.SubsamplingChannels = y.int("encoder.subsampling_conv_channels", -1); c.SubsamplingChannels == -1 {
		c.SubsamplingChannels = c.Width
	}
	if in := y.int("encoder.feat_in", c.Features); in != c.Features {
		y.fail("encoder.feat_in", "%d is not the preprocessor's %d features", in, c.Features)
	}
	if context := y.ints("encoder.att_context_size"); context != nil && !slices.Equal(context, []int{-1, -1}) {
		y.fail("encoder.att_context_size", "%v: only attention over the whole window, [-1, -1], is run", context)
	}
	if half := (c.ConvKernel - 1) / 2; y.node("encoder.conv_context_size") != nil {
		if context := y.ints("encoder.conv_context_size"); !slices.Equal(context, []int{half, half}) {
			y.fail("encoder.conv_context_size", "only a convolution that sees as far back as ahead is run")
		}
	}
}

// readDecoder reads prediction and joint network. Of a hybrid model, which has a
// CTC decoder beside them, these are the transducer's.
func (c *ParakeetConfig) readDecoder(y *yamlConfig) {
	y.want("decoder._target_", "", "RNNTDecoder")
	y.want("decoder.normalization_mode", "", "")
	y.wantBool("decoder.blank_as_pad", true)
	y.want("joint._target_", "", "RNNTJoint")
	y.want("joint.jointnet.activation", "relu", "relu")
	c.PredictorWidth = y.int("decoder.prednet.pred_hidden", 0)
	c.PredictorLayers = y.int("decoder.prednet.pred_rnn_layers", 1)
	c.JointWidth = y.int("joint.jointnet.joint_hidden", 0)
	if hidden := y.int("decoder.prednet.rnn_hidden_size", -1); hidden > 0 && hidden != c.PredictorWidth {
		y.fail("decoder.prednet.rnn_hidden_size", "%d is not pred_hidden, %d: the projection between them is not run",
			hidden, c.PredictorWidth)
	}
	for _, key := range []string{"loss.tdt_kwargs.durations", "decoding.durations", "model_defaults.tdt_durations"} {
		if c.Durations = y.ints(key); len(c.Durations) > 0 {
			break
		}
	}
	if len(c.Durations) == 0 {
		y.fail("decoding.durations", "there are none: of the transducers only TDT is run")
	}
	if n := y.int("joint.num_extra_outputs", len(c.Durations)); n != len(c.Durations) {
		y.fail("joint.num_extra_outputs", "%d are not the %d durations", n, len(c.Durations))
	}
	for _, key := range []string{"joint.num_classes", "decoder.vocab_size"} {
		if c.Vocabulary = y.int(key, 0); c.Vocabulary > 0 {
			break
		}
	}
	if c.Vocabulary <= 0 {
		c.Vocabulary = y.len("joint.vocabulary")
	}
	c.MaxSymbols = y.int("decoding.greedy.max_symbols",
		y.int("decoding.greedy.max_symbols_per_step", defaultMaxSymbols))
}

// nemoTokenizer returns the name of the member with the tokenizer.
func nemoTokenizer(y *yamlConfig) string {
	y.want("tokenizer.type", "", "bpe")
	path, _ := y.text("tokenizer.model_path")
	name := strings.TrimPrefix(path, "nemo:")
	if name == "" {
		y.fail("tokenizer.model_path", "names no file")
	}
	return name
}
