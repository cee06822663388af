package whisper

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"hark/models"
)

// Config is the shape of a model and what its files say about decoding.
type Config struct {
	// Mels is the number of mel bins: 80, or 128 from large-v3 on.
	Mels int
	// Width is the model's width D; every head is Width/heads wide.
	Width                       int
	EncoderLayers, EncoderHeads int
	DecoderLayers, DecoderHeads int
	// AudioContext is the number of encoder positions (1500, half the frames of a window).
	AudioContext int
	// TextContext is the number of decoder positions (448).
	TextContext int
	// Vocabulary is the number of token ids.
	Vocabulary int
	// AlignmentHeads are the cross-attention heads that follow the sound, as (layer, head).
	AlignmentHeads [][2]int
	// Suppress are ids never written; SuppressFirst ids not written first. Nil where the files say nothing.
	Suppress, SuppressFirst []int32
}

// The bounds that a config's figures must keep, far above any Whisper (large: width 1280, 32 layers).
const (
	maxWidth, maxLayers, maxHeads = 1 << 14, 1 << 8, 1 << 8
	maxContext, maxVocabulary     = 1 << 14, 1 << 20
)

// readConfig reads a model folder's configuration: Hugging Face's config.json and
// generation_config.json, or what CTranslate2's config.json and the weights' shapes say.
func readConfig(dir string, w *models.Weights) (Config, error) {
	var c Config
	var err error
	if w.Format() == "ctranslate2" {
		c, err = readCTranslate2Config(dir, w)
	} else {
		c, err = readHuggingFaceConfig(dir)
	}
	if err == nil {
		err = c.check()
	}
	if err != nil {
		return Config{}, fmt.Errorf("config of %s: %w", filepath.Base(dir), err)
	}
	if len(c.AlignmentHeads) == 0 {
		c.AlignmentHeads = defaultAlignmentHeads(c)
	}
	return c, nil
}

func readHuggingFaceConfig(dir string) (Config, error) {
	var f struct {
		ModelType      string `json:"model_type"`
		Mels           int    `json:"num_mel_bins"`
		Width          int    `json:"d_model"`
		EncoderLayers  int    `json:"encoder_layers"`
		EncoderHeads   int    `json:"encoder_attention_heads"`
		DecoderLayers  int    `json:"decoder_layers"`
		DecoderHeads   int    `json:"decoder_attention_heads"`
		AudioContext   int    `json:"max_source_positions"`
		TextContext    int    `json:"max_target_positions"`
		Vocabulary     int    `json:"vocab_size"`
		Activation     string `json:"activation_function"`
		ScaleEmbedding bool   `json:"scale_embedding"`
	}
	if err := readJSON(filepath.Join(dir, "config.json"), &f); err != nil {
		return Config{}, err
	}
	switch {
	case f.ModelType != "whisper":
		return Config{}, fmt.Errorf("config.json: model_type is %q, not whisper", f.ModelType)
	case f.Activation != "" && f.Activation != "gelu":
		return Config{}, fmt.Errorf("config.json: activation_function %q is not supported, only gelu", f.Activation)
	case f.ScaleEmbedding:
		return Config{}, errors.New("config.json: scale_embedding is not supported")
	}
	var g struct {
		AlignmentHeads [][2]int `json:"alignment_heads"`
		Suppress       []int32  `json:"suppress_tokens"`
		SuppressFirst  []int32  `json:"begin_suppress_tokens"`
	}
	if err := readJSON(filepath.Join(dir, "generation_config.json"), &g); err != nil &&
		!errors.Is(err, fs.ErrNotExist) {
		return Config{}, err
	}
	return Config{
		Mels: f.Mels, Width: f.Width,
		EncoderLayers: f.EncoderLayers, EncoderHeads: f.EncoderHeads,
		DecoderLayers: f.DecoderLayers, DecoderHeads: f.DecoderHeads,
		AudioContext: f.AudioContext, TextContext: f.TextContext, Vocabulary: f.Vocabulary,
		AlignmentHeads: g.AlignmentHeads, Suppress: g.Suppress, SuppressFirst: g.SuppressFirst,
	}, nil
}

func readCTranslate2Config(dir string, w *models.Weights) (Config, error) {
	var f struct {
		AlignmentHeads [][2]int `json:"alignment_heads"`
		Suppress       []int32  `json:"suppress_ids"`
		SuppressFirst  []int32  `json:"suppress_ids_begin"`
	}
	if err := readJSON(filepath.Join(dir, "config.json"), &f); err != nil {
		return Config{}, err
	}
	c := Config{AlignmentHeads: f.AlignmentHeads, Suppress: f.Suppress, SuppressFirst: f.SuppressFirst}
	// Only heads and layers are not shapes: the former are scalars, the latter are counted.
	dims := []struct {
		name string
		axis int
		dst  *int
	}{
		{"encoder/conv1/weight", 0, &c.Width},
		{"encoder/conv1/weight", 1, &c.Mels},
		{"encoder/position_encodings/encodings", 0, &c.AudioContext},
		{"decoder/position_encodings/encodings", 0, &c.TextContext},
		{"decoder/embeddings/weight", 0, &c.Vocabulary},
	}
	for _, d := range dims {
		t, ok := w.Tensor(d.name)
		if !ok || len(t.Shape) <= d.axis {
			return Config{}, fmt.Errorf("model.bin holds no Whisper: tensor %s is missing or has too few dimensions", d.name)
		}
		*d.dst = t.Shape[d.axis]
	}
	for name, dst := range map[string]*int{"encoder/num_heads": &c.EncoderHeads, "decoder/num_heads": &c.DecoderHeads} {
		t, ok := w.Tensor(name)
		if !ok {
			return Config{}, fmt.Errorf("model.bin holds no Whisper: scalar %s is missing", name)
		}
		n, err := t.Int()
		if err != nil {
			return Config{}, err
		}
		*dst = int(n)
	}
	for c.EncoderLayers < maxLayers && has(w, fmt.Sprintf("encoder/layer_%d/ffn/layer_norm/gamma", c.EncoderLayers)) {
		c.EncoderLayers++
	}
	for c.DecoderLayers < maxLayers && has(w, fmt.Sprintf("decoder/layer_%d/ffn/layer_norm/gamma", c.DecoderLayers)) {
		c.DecoderLayers++
	}
	return c, nil
}

func has(w *models.Weights, name string) bool {
	_, ok := w.Tensor(name)
	return ok
}

// check refuses figures that no Whisper has, before anything is allocated by them.
func (c *Config) check() error {
	for _, f := range []struct {
		name     string
		got, max int
	}{
		{"width", c.Width, maxWidth},
		{"encoder layers", c.EncoderLayers, maxLayers},
		{"encoder heads", c.EncoderHeads, maxHeads},
		{"decoder layers", c.DecoderLayers, maxLayers},
		{"decoder heads", c.DecoderHeads, maxHeads},
		{"audio context", c.AudioContext, maxContext},
		{"text context", c.TextContext, maxContext},
		{"vocabulary", c.Vocabulary, maxVocabulary},
	} {
		if f.got < 1 || f.got > f.max {
			return fmt.Errorf("%s is %d, want 1 to %d", f.name, f.got, f.max)
		}
	}
	switch {
	case c.Mels != 80 && c.Mels != 128:
		return fmt.Errorf("%d mel bins, want 80 or 128", c.Mels)
	case c.Width%c.EncoderHeads != 0 || c.Width%c.DecoderHeads != 0:
		return fmt.Errorf("width %d does not divide into %d and %d heads", c.Width, c.EncoderHeads, c.DecoderHeads)
	case c.AudioContext != framesPerWindow/2:
		return fmt.Errorf("audio context is %d, want %d", c.AudioContext, framesPerWindow/2)
	case c.TextContext < 16:
		return fmt.Errorf("text context is %d, want at least 16", c.TextContext)
	}
	for _, h := range c.AlignmentHeads {
		if h[0] < 0 || h[0] >= c.DecoderLayers || h[1] < 0 || h[1] >= c.DecoderHeads {
			return fmt.Errorf("alignment head %v is outside %d layers of %d heads", h, c.DecoderLayers, c.DecoderHeads)
		}
	}
	return nil
}

// defaultAlignmentHeads are the heads of the upper half of the decoder, which the reference
// implementation takes where nobody has chosen better ones (openai/whisper, model.py, Whisper.__init__).
func defaultAlignmentHeads(c Config) [][2]int {
	var heads [][2]int
	for layer := c.DecoderLayers / 2; layer < c.DecoderLayers; layer++ {
		for head := range c.DecoderHeads {
			heads = append(heads, [2]int{layer, head})
		}
	}
	return heads
}

func readJSON(path string, v any) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	return nil
}
