package parakeet

import (
	"fmt"
	"math"
	"math/bits"

	"hark/engine"
	"hark/models"
)

// subsampler shortens features to encoder frames: strided convolutions over time and frequency, and a linear
// layer over what they leave of a frame.
type subsampler struct {
	convs engine.Subsampling
	out   engine.Linear // [D][convs.Width()]
}

func loadSubsampler(l *loader, c models.ParakeetConfig) subsampler {
	const module, taps = "encoder.pre_encode.", 3
	channels := c.SubsamplingChannels
	conv := func(i, in, side int) (w, bias []float32) {
		at := fmt.Sprintf("%sconv.%d.", module, i)
		return l.tensor(at+"weight", channels, in, side, side), l.tensor(at+"bias", channels)
	}
	w := engine.SubsamplingWeights{Mels: c.Features, Channels: channels}
	w.First, w.FirstBias = conv(0, 1, taps)
	for i := range bits.Len(uint(c.SubsamplingFactor)) - 2 { // layers between are activations
		var s engine.SubsamplingStage
		s.Depthwise, s.DepthwiseBias = conv(3*i+2, 1, taps)
		s.Pointwise, s.PointwiseBias = conv(3*i+3, channels, 1)
		w.Stages = append(w.Stages, s)
	}
	if l.err != nil {
		return subsampler{}
	}
	convs, err := l.dev.NewSubsampling(w)
	if err != nil {
		l.err = err
		return subsampler{}
	}
	return subsampler{convs, loadSubsamplingOut(l, module+"out", c, convs.Width())}
}

// loadSubsamplingOut reads the linear layer. Its inputs are channel by channel in the model, and frequency by
// frequency here. The factor of a model that scales its encoder's input is in its weights.
func loadSubsamplingOut(l *loader, module string, c models.ParakeetConfig, width int) engine.Linear {
	channels, freqs := c.SubsamplingChannels, width/c.SubsamplingChannels
	w, bias := l.tensor(module+".weight", c.Width, width), l.tensor(module+".bias", c.Width)
	turned := l.reuse(len(w))
	for row := 0; row < len(w); row += width {
		for ch := range channels {
			for f := range freqs {
				turned[row+f*channels+ch] = w[row+ch*freqs+f]
			}
		}
	}
	if c.ScaleInput {
		scale := float32(math.Sqrt(float64(c.Width)))
		multiply(turned, scale)
		multiply(bias, scale)
	}
	return l.newLinear(turned, bias, c.Width, width)
}
