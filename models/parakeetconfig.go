package models

import (
	"fmt"
	"math/bits"
)

// ParakeetConfig is what the configuration of a FastConformer-TDT model says
// about its shape, by NeMo's meaning of each key, whichever form it was read
// from. Choices that the reader accepts only one value of have no field: the
// features are log-mel by a Hann window, normalised per bin; the subsampling is
// dw_striding, not causal, with kernel 3 and stride 2; attention is rel_pos over
// the whole window, with position biases of each layer's own; the convolution
// module has a batch norm and sees as far back as ahead; the joint network's
// activation is ReLU; the embedding has a row of zeros for the blank.
type ParakeetConfig struct {
	// SampleRate is the input's, in Hz: 16000.
	SampleRate int
	// Features is the number of mel bins: 80 or 128.
	Features int
	// NFFT is the length of the Fourier transform, in samples: 512.
	NFFT int
	// WindowSamples and HopSamples are the analysis window and the distance of
	// two frames: 400 and 160.
	WindowSamples, HopSamples int
	// Preemphasis is the coefficient of the filter before the transform: 0.97.
	// 0 is none.
	Preemphasis float64

	// SubsamplingFactor is how many feature frames make an encoder frame, a
	// power of two: 8. Log2 of it is the number of strided convolutions.
	SubsamplingFactor int
	// SubsamplingChannels is the width of those convolutions: 256.
	SubsamplingChannels int
	// Layers, Width and Heads are the encoder's blocks, their width (d_model) and
	// their attention heads, which divide the width.
	Layers, Width, Heads int
	// FeedForward is the inner width of the feed-forward modules: 4*Width.
	FeedForward int
	// ConvKernel is the odd width of the depthwise convolution: 9.
	ConvKernel int
	// Bias says whether the linear layers of the feed-forwards and of attention
	// (not linear_pos), and the convolutions of the blocks, have biases.
	Bias bool
	// ScaleInput says whether the subsampled frames are multiplied by the square
	// root of Width (xscaling).
	ScaleInput bool

	// PredictorWidth and PredictorLayers are those of the prediction network's
	// embedding and LSTM: 640 and 2, or 1.
	PredictorWidth, PredictorLayers int
	// JointWidth is the inner width of the joint network: 640.
	JointWidth int
	// Durations are the frames that a step of the decoder may advance, in the
	// order of the joint network's last outputs: 0, 1, 2, 3, 4.
	Durations []int
	// MaxSymbols is how many tokens one frame may give, at least 1. NeMo knows a
	// model without that bound, which could decode for ever; such a one gets
	// NeMo's default of 10.
	MaxSymbols int
	// Vocabulary is the number of pieces. The joint network has Vocabulary + 1 +
	// len(Durations) outputs: pieces, blank, durations.
	Vocabulary int
}

// Blank returns the id of the blank, which follows the pieces.
func (c ParakeetConfig) Blank() int { return c.Vocabulary }

// FrameSeconds returns the time from one encoder frame to the next: 0.08.
func (c ParakeetConfig) FrameSeconds() float64 {
	return float64(c.HopSamples) / float64(c.SampleRate) * float64(c.SubsamplingFactor)
}

// defaultMaxSymbols is NeMo's (GreedyBatchedRNNTInferConfig in
// nemo/collections/asr/parts/submodules/rnnt_greedy_decoding.py).
const defaultMaxSymbols = 10

// limits of a configuration that are far beyond every published model, so that
// sizes made of them cannot overflow, and no buffer is made by a damaged file's
// word.
const (
	maxParakeetWidth = 1 << 16
	maxParakeetDepth = 1 << 10
)

// validate returns what is impossible about the configuration.
func (c *ParakeetConfig) validate() error {
	for _, n := range []struct {
		what       string
		value, max int
	}{
		{"sample rate", c.SampleRate, 1 << 20},
		{"features", c.Features, 1 << 10},
		{"n_fft", c.NFFT, 1 << 16},
		{"window", c.WindowSamples, 1 << 16},
		{"hop", c.HopSamples, 1 << 16},
		{"subsampling factor", c.SubsamplingFactor, 1 << 6},
		{"subsampling channels", c.SubsamplingChannels, maxParakeetWidth},
		{"layers", c.Layers, maxParakeetDepth},
		{"width", c.Width, maxParakeetWidth},
		{"heads", c.Heads, maxParakeetDepth},
		{"feed-forward width", c.FeedForward, 4 * maxParakeetWidth},
		{"convolution kernel", c.ConvKernel, 1 << 10},
		{"prediction width", c.PredictorWidth, maxParakeetWidth},
		{"prediction layers", c.PredictorLayers, 1 << 6},
		{"joint width", c.JointWidth, maxParakeetWidth},
		{"number of durations", len(c.Durations), 1 << 10},
		{"symbols a frame", c.MaxSymbols, 1 << 20},
		{"vocabulary", c.Vocabulary, 1 << 20},
	} {
		if n.value < 1 || n.value > n.max {
			return fmt.Errorf("%s: %d is not between 1 and %d", n.what, n.value, n.max)
		}
	}
	switch {
	case c.WindowSamples > c.NFFT:
		return fmt.Errorf("window: %d samples do not fit the transform of %d", c.WindowSamples, c.NFFT)
	case bits.OnesCount(uint(c.NFFT)) != 1:
		return fmt.Errorf("n_fft: %d is not a power of two", c.NFFT)
	case c.SubsamplingFactor < 2 || bits.OnesCount(uint(c.SubsamplingFactor)) != 1:
		return fmt.Errorf("subsampling factor: %d is not 2, 4, 8 or a further power of two", c.SubsamplingFactor)
	case c.Width%c.Heads != 0:
		return fmt.Errorf("heads: %d do not divide the width %d", c.Heads, c.Width)
	case c.Width%2 != 0:
		return fmt.Errorf("width: %d is odd: positions are pairs of sine and cosine", c.Width)
	case c.ConvKernel%2 == 0:
		return fmt.Errorf("convolution kernel: %d is even: it has no middle", c.ConvKernel)
	case c.Preemphasis < 0 || c.Preemphasis >= 1:
		return fmt.Errorf("pre-emphasis: %v is not between 0 and 1", c.Preemphasis)
	}
	longest := 0
	for _, d := range c.Durations {
		if d < 0 || d > 1<<10 {
			return fmt.Errorf("durations: %d frames are no possible step", d)
		}
		longest = max(longest, d)
	}
	if longest == 0 {
		return fmt.Errorf("durations: %v never advance", c.Durations)
	}
	return nil
}
