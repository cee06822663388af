package models

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// The files of a Parakeet's folder as transformers writes it, beside the weights.
const (
	configFile       = "config.json"
	tokenizerFile    = "tokenizer.json"
	processorFile    = "processor_config.json"
	preprocessorFile = "preprocessor_config.json" // instead of it, before transformers 5
)

// maxConfigFile bounds a configuration. NeMo's lists the vocabulary twice.
const maxConfigFile = 16 << 20

// hfParakeet is config.json of a ParakeetForTDT, with the fields of
// transformers' ParakeetTDTConfig and ParakeetEncoderConfig that matter
// (src/transformers/models/parakeet/configuration_parakeet.py).
type hfParakeet struct {
	ModelType     string `json:"model_type"`
	BlankID       int    `json:"blank_token_id"`
	VocabSize     int    `json:"vocab_size"` // counts the blank
	DecoderWidth  int    `json:"decoder_hidden_size"`
	DecoderLayers int    `json:"num_decoder_layers"`
	HiddenAct     string `json:"hidden_act"`
	Durations     []int  `json:"durations"`
	MaxSymbols    int    `json:"max_symbols_per_step"`

	Encoder struct {
		AttentionBias       bool   `json:"attention_bias"`
		ConvolutionBias     bool   `json:"convolution_bias"`
		ConvKernel          int    `json:"conv_kernel_size"`
		HiddenAct           string `json:"hidden_act"`
		Width               int    `json:"hidden_size"`
		FeedForward         int    `json:"intermediate_size"`
		Heads               int    `json:"num_attention_heads"`
		KeyValueHeads       int    `json:"num_key_value_heads"`
		Layers              int    `json:"num_hidden_layers"`
		Features            int    `json:"num_mel_bins"`
		ScaleInput          bool   `json:"scale_input"`
		SubsamplingChannels int    `json:"subsampling_conv_channels"`
		SubsamplingKernel   int    `json:"subsampling_conv_kernel_size"`
		SubsamplingStride   int    `json:"subsampling_conv_stride"`
		SubsamplingFactor   int    `json:"subsampling_factor"`
	} `json:"encoder_config"`
}

// hfFeatures is the feature extractor's configuration.
type hfFeatures struct {
	Features    int     `json:"feature_size"`
	Hop         int     `json:"hop_length"`
	NFFT        int     `json:"n_fft"`
	Window      int     `json:"win_length"`
	Preemphasis float64 `json:"preemphasis"`
	SampleRate  int     `json:"sampling_rate"`
}

// loadHFConfig reads the configuration of a folder of transformers' form.
func loadHFConfig(dir string) (ParakeetConfig, error) {
	path := filepath.Join(dir, configFile)
	data, err := readBounded(path, maxConfigFile)
	if err != nil {
		return ParakeetConfig{}, err
	}
	featuresPath, features, err := readHFFeatures(dir)
	if err != nil {
		return ParakeetConfig{}, err
	}
	c, err := parseHFConfig(data)
	if err != nil {
		return ParakeetConfig{}, &FormatError{File: path, Reason: err.Error()}
	}
	if err := c.addHFFeatures(features); err != nil {
		return ParakeetConfig{}, &FormatError{File: featuresPath, Reason: err.Error()}
	}
	if err := c.validate(); err != nil {
		return ParakeetConfig{}, &FormatError{File: path, Reason: err.Error()}
	}
	return c, nil
}

// parseHFConfig takes from config.json all but the front end.
func parseHFConfig(data []byte) (ParakeetConfig, error) {
	// What a file leaves out has the library's default.
	f := hfParakeet{HiddenAct: "relu", MaxSymbols: defaultMaxSymbols}
	e := &f.Encoder
	e.AttentionBias, e.ConvolutionBias, e.ScaleInput, e.HiddenAct = true, true, true, "silu"
	e.SubsamplingKernel, e.SubsamplingStride = 3, 2
	if err := json.Unmarshal(data, &f); err != nil {
		return ParakeetConfig{}, err
	}
	switch {
	case f.ModelType != "parakeet_tdt":
		return ParakeetConfig{}, fmt.Errorf("model_type %q: of the Parakeets only parakeet_tdt is run", f.ModelType)
	case f.BlankID != f.VocabSize-1:
		return ParakeetConfig{}, fmt.Errorf("blank_token_id %d is not the last of the vocabulary of %d", f.BlankID, f.VocabSize)
	case f.HiddenAct != "relu":
		return ParakeetConfig{}, fmt.Errorf("hidden_act %q of the joint network: only relu is run", f.HiddenAct)
	case e.HiddenAct != "silu" && e.HiddenAct != "swish":
		return ParakeetConfig{}, fmt.Errorf("encoder_config.hidden_act %q: only silu is run", e.HiddenAct)
	case e.KeyValueHeads != 0 && e.KeyValueHeads != e.Heads:
		return ParakeetConfig{}, fmt.Errorf("encoder_config: %d heads share %d keys and values: they must have each their own", e.Heads, e.KeyValueHeads)
	case e.AttentionBias != e.ConvolutionBias:
		return ParakeetConfig{}, errors.New("encoder_config: attention_bias and convolution_bias differ")
	case e.SubsamplingKernel != 3 || e.SubsamplingStride != 2:
		return ParakeetConfig{}, fmt.Errorf("encoder_config: subsampling of kernel %d and stride %d: only 3 and 2 are run", e.SubsamplingKernel, e.SubsamplingStride)
	}
	c := ParakeetConfig{
		Features:          e.Features,
		SubsamplingFactor: e.SubsamplingFactor, SubsamplingChannels: e.SubsamplingChannels,
		Layers: e.Layers, Width: e.Width, Heads: e.Heads, FeedForward: e.FeedForward, ConvKernel: e.ConvKernel,
		Bias: e.AttentionBias, ScaleInput: e.ScaleInput,
		PredictorWidth: f.DecoderWidth, PredictorLayers: f.DecoderLayers, JointWidth: f.DecoderWidth,
		Durations: f.Durations, MaxSymbols: f.MaxSymbols, Vocabulary: f.VocabSize - 1,
	}
	if c.MaxSymbols == 0 {
		c.MaxSymbols = defaultMaxSymbols
	}
	return c, nil
}

// addHFFeatures adds the front end.
func (c *ParakeetConfig) addHFFeatures(data []byte) error {
	var f hfFeatures
	if err := json.Unmarshal(data, &f); err != nil {
		return err
	}
	if f.Features != c.Features {
		return fmt.Errorf("feature_size %d is not the encoder's %d", f.Features, c.Features)
	}
	c.SampleRate, c.NFFT, c.WindowSamples, c.HopSamples, c.Preemphasis = f.SampleRate, f.NFFT,
		f.Window, f.Hop, f.Preemphasis
	return nil
}

// readHFFeatures returns the feature extractor's configuration, which newer
// folders keep within that of the processor.
func readHFFeatures(dir string) (path string, features []byte, err error) {
	path = filepath.Join(dir, processorFile)
	data, err := readBounded(path, maxConfigFile)
	if errors.Is(err, fs.ErrNotExist) {
		path = filepath.Join(dir, preprocessorFile)
		features, err = readBounded(path, maxConfigFile)
		return path, features, err
	}
	if err != nil {
		return path, nil, err
	}
	var processor struct {
		Features json.RawMessage `json:"feature_extractor"`
	}
	if err := json.Unmarshal(data, &processor); err != nil {
		return path, nil, &FormatError{File: path, Reason: err.Error()}
	}
	if processor.Features == nil {
		return path, nil, &FormatError{File: path, Reason: "has no feature_extractor"}
	}
	return path, processor.Features, nil
}

// readBounded reads a file that must not be larger than limit.
func readBounded(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > limit {
		return nil, &FormatError{File: path, Reason: fmt.Sprintf("%d bytes are more than such a file takes", info.Size())}
	}
	return os.ReadFile(path)
}
