package parakeet

import (
	"fmt"
	"math"

	"hark/engine"
	"hark/models"
)

// batchNormEps is torch.nn.BatchNorm1d's default, which NeMo keeps.
const batchNormEps = 1e-5

// block is one of the encoder's: half a feed-forward, attention, convolution, the other half, each added to
// what it was given, and a norm at the end.
type block struct {
	ff1        feedForward
	attNorm    engine.Norm
	qkv, out   engine.Linear
	pos        engine.Linear // linear_pos
	bias       engine.Tensor // [2][D]: pos_bias_u and pos_bias_v
	convNorm   engine.Norm
	gate, conv engine.Linear // the pointwise convolutions
	depthwise  engine.Depthwise
	ff2        feedForward
	norm       engine.Norm
}

// feedForward has its output halved by the weights of its second layer.
type feedForward struct {
	norm    engine.Norm
	in, out engine.Linear
}

func loadBlock(l *loader, c models.ParakeetConfig, i int) block {
	at, d := fmt.Sprintf("encoder.layers.%d.", i), c.Width
	att := at + "self_attn."
	return block{
		ff1:       loadFeedForward(l, c, at, "feed_forward1"),
		attNorm:   l.norm(at+"norm_self_att", d),
		qkv:       l.stacked([]string{att + "linear_q", att + "linear_k", att + "linear_v"}, d, d, c.Bias),
		out:       l.linear(att+"linear_out", d, d, c.Bias),
		pos:       l.linear(att+"linear_pos", d, d, false),
		bias:      loadPositionBias(l, c, att),
		convNorm:  l.norm(at+"norm_conv", d),
		gate:      l.linear(at+"conv.pointwise_conv1", 2*d, d, c.Bias, 1),
		depthwise: loadDepthwise(l, c, at+"conv."),
		conv:      l.linear(at+"conv.pointwise_conv2", d, d, c.Bias, 1),
		ff2:       loadFeedForward(l, c, at, "feed_forward2"),
		norm:      l.norm(at+"norm_out", d),
	}
}

func loadFeedForward(l *loader, c models.ParakeetConfig, at, name string) feedForward {
	return feedForward{
		norm: l.norm(at+"norm_"+name, c.Width),
		in:   l.linear(at+name+".linear1", c.FeedForward, c.Width, c.Bias),
		out:  l.scaled(at+name+".linear2", c.Width, c.FeedForward, c.Bias, 0.5),
	}
}

// loadPositionBias reads what is added to queries.
func loadPositionBias(l *loader, c models.ParakeetConfig, att string) engine.Tensor {
	u, v := l.tensor(att+"pos_bias_u", c.Heads, c.Width/c.Heads), l.tensor(att+"pos_bias_v", c.Heads, c.Width/c.Heads)
	if l.err != nil {
		return engine.Tensor{}
	}
	buf, err := l.dev.Alloc(2 * c.Width)
	if err != nil {
		l.err = err
		return engine.Tensor{}
	}
	bias := engine.NewTensor(buf, 2, c.Width)
	l.dev.Upload(bias, append(u, v...))
	return bias
}

// loadDepthwise reads the convolution over time with the batch norm behind it folded into its weights.
func loadDepthwise(l *loader, c models.ParakeetConfig, at string) engine.Depthwise {
	d, k := c.Width, c.ConvKernel
	w, bias := l.tensor(at+"depthwise_conv.weight", d, 1, k), make([]float32, d)
	if c.Bias {
		l.read(bias, at+"depthwise_conv.bias", d)
	}
	gain, shift := l.tensor(at+"batch_norm.weight", d), l.tensor(at+"batch_norm.bias", d)
	mean, variance := l.tensor(at+"batch_norm.running_mean", d), l.tensor(at+"batch_norm.running_var", d)
	if l.err != nil {
		return nil
	}
	for i := range d {
		s := float64(gain[i]) / math.Sqrt(float64(variance[i])+batchNormEps)
		for j := range k {
			w[i*k+j] = float32(float64(w[i*k+j]) * s)
		}
		bias[i] = float32(float64(shift[i]) + (float64(bias[i])-float64(mean[i]))*s)
	}
	conv, err := l.dev.NewDepthwise(w, bias, d, k)
	l.err = err
	return conv
}

// run passes a batch of items through the block, in place. pos is what its linear_pos makes of the positions.
func (b *block) run(dev engine.Device, s *scratch, lens []int, heads int, pos engine.Tensor) {
	b.ff1.run(dev, s)

	dev.NormLinear(s.qkv, s.h, s.x, b.attNorm, b.qkv, engine.NoActivation)
	dev.RelativeAttention(s.h, s.qkv, lens, heads, pos, b.bias)
	dev.Linear(s.x, s.h, b.out, engine.NoActivation, s.x)

	dev.NormLinear(s.gated, s.h, s.x, b.convNorm, b.gate, engine.NoActivation)
	dev.GatedConv(s.h, s.gated, lens, b.depthwise, engine.SiLU)
	dev.Linear(s.x, s.h, b.conv, engine.NoActivation, s.x)

	b.ff2.run(dev, s)
	dev.LayerNorm(s.x, s.x, b.norm)
}

func (f *feedForward) run(dev engine.Device, s *scratch) {
	dev.NormLinear(s.ff, s.h, s.x, f.norm, f.in, engine.SiLU)
	dev.Linear(s.x, s.ff, f.out, engine.NoActivation, s.x)
}
