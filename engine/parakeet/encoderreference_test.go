package parakeet

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hark/models"
)

// The encoder by its definition: everything in float64, one term after another, straight from the model's own tensors.

// invented is a [source] that makes up whatever tensor is asked for, from its name, and remembers which were.
type invented map[string][]float64

func (w invented) Tensor(string) (models.Tensor, bool) { return models.Tensor{}, false }

func (w invented) Read(dst []float32, name string, shape ...int) error {
	for i, v := range w.get(name, product(shape)) {
		dst[i] = float32(v)
	}
	return nil
}

// get is a tensor of n elements around 0, of the size that keeps sums small, or, where
// it is a factor or a variance, around 1.
func (w invented) get(name string, n int) []float64 {
	if _, ok := w[name]; !ok {
		seed := uint64(len(name))
		for _, c := range name {
			seed = seed*31 + uint64(c)
		}
		r := rand.New(rand.NewPCG(seed, 1))
		x := make([]float64, n)
		for i := range x {
			x[i] = float64(float32(r.NormFloat64() * 0.3))
			switch {
			case strings.HasSuffix(name, "running_var"):
				x[i] = float64(float32(0.01 + r.Float64()))
			case scales.MatchString(name):
				x[i] = float64(float32(0.5 + r.Float64()))
			}
		}
		w[name] = x
	}
	return w[name]
}

// scales are the names of tensors that are factors.
var scales = regexp.MustCompile(`norm.*\.weight$`)

type rows [][]float64

// each is a new matrix whose rows are f of the old ones.
func (x rows) each(f func(row []float64) []float64) rows {
	y := make(rows, len(x))
	for i, row := range x {
		y[i] = f(row)
	}
	return y
}

// plus is x + scale*y.
func (x rows) plus(scale float64, y rows) rows {
	z := make(rows, len(x))
	for i := range x {
		z[i] = make([]float64, len(x[i]))
		for j := range x[i] {
			z[i][j] = x[i][j] + scale*y[i][j]
		}
	}
	return z
}

func sigmoid(v float64) float64 { return 1 / (1 + math.Exp(-v)) }

func silu(row []float64) []float64 {
	for i, v := range row {
		row[i] = v * sigmoid(v)
	}
	return row
}

// slowEncoder runs a config over invented weights.
type slowEncoder struct {
	invented
	c models.ParakeetConfig
}

func (e slowEncoder) linear(x rows, module string, n int, biased bool) rows {
	return x.each(func(row []float64) []float64 {
		w, y := e.get(module+".weight", n*len(row)), make([]float64, n)
		if biased {
			copy(y, e.get(module+".bias", n))
		}
		for i := range y {
			for j, v := range row {
				y[i] += w[i*len(row)+j] * v
			}
		}
		return y
	})
}

func (e slowEncoder) norm(x rows, module string) rows {
	return x.each(func(row []float64) []float64 {
		d := len(row)
		var mean, variance float64
		for _, v := range row {
			mean += v / float64(d)
		}
		for _, v := range row {
			variance += (v - mean) * (v - mean) / float64(d)
		}
		gamma, beta, y := e.get(module+".weight", d), e.get(module+".bias", d), make([]float64, d)
		for i, v := range row {
			y[i] = (v-mean)/math.Sqrt(variance+1e-5)*gamma[i] + beta[i]
		}
		return y
	})
}

// conv2d is a convolution of 3 x 3, stride 2, over [channel][time][frequency].
func (e slowEncoder) conv2d(x []rows, module string, out int, grouped bool) []rows {
	in := len(x)
	if grouped {
		in = 1
	}
	w, bias := e.get(module+".weight", out*in*9), e.get(module+".bias", out)
	y := make([]rows, out)
	for o := range y {
		for t := 0; t < len(x[0]); t += 2 {
			var row []float64
			for f := 0; f < len(x[0][0]); f += 2 {
				sum := bias[o]
				for i := range in {
					plane := x[i]
					if grouped {
						plane = x[o]
					}
					for k := range 9 {
						if p, q := t+k/3-1, f+k%3-1; p >= 0 && p < len(plane) && q >= 0 && q < len(plane[0]) {
							sum += w[(o*in+i)*9+k] * plane[p][q]
						}
					}
				}
				row = append(row, sum)
			}
			y[o] = append(y[o], row)
		}
	}
	return y
}

// pointwise mixes channels and applies a ReLU.
func (e slowEncoder) pointwise(x []rows, module string) []rows {
	w, bias, y := e.get(module+".weight", len(x)*len(x)), e.get(module+".bias", len(x)), make([]rows, len(x))
	for o := range y {
		for t := range x[0] {
			row := make([]float64, len(x[0][t]))
			for f := range row {
				row[f] = bias[o]
				for i := range x {
					row[f] += w[o*len(x)+i] * x[i][t][f]
				}
				row[f] = max(0, row[f])
			}
			y[o] = append(y[o], row)
		}
	}
	return y
}

func (e slowEncoder) subsample(features rows) rows {
	const at = "encoder.pre_encode."
	x := e.conv2d([]rows{features}, at+"conv.0", e.c.SubsamplingChannels, false)
	for _, plane := range x {
		for _, row := range plane {
			for i, v := range row {
				row[i] = max(0, v)
			}
		}
	}
	for i, factor := 2, 2; factor < e.c.SubsamplingFactor; i, factor = i+3, 2*factor {
		x = e.conv2d(x, fmt.Sprint(at, "conv.", i), len(x), true)
		x = e.pointwise(x, fmt.Sprint(at, "conv.", i+1))
	}
	flat := make(rows, len(x[0]))
	for t := range flat {
		for _, plane := range x {
			flat[t] = append(flat[t], plane[t]...)
		}
	}
	return e.linear(flat, at+"out", e.c.Width, true)
}

func (e slowEncoder) feedForward(x rows, at, name string) rows {
	y := e.linear(e.norm(x, at+"norm_"+name), at+name+".linear1", e.c.FeedForward, e.c.Bias).each(silu)
	return x.plus(0.5, e.linear(y, at+name+".linear2", e.c.Width, e.c.Bias))
}

func (e slowEncoder) attention(x rows, at string) rows {
	n, d, dh := len(x), e.c.Width, e.c.Width/e.c.Heads
	q, k, v := e.linear(x, at+"linear_q", d, e.c.Bias), e.linear(x, at+"linear_k", d, e.c.Bias), e.linear(x, at+"linear_v", d, e.c.Bias)
	pe := make(rows, 2*n-1)
	for r := range pe {
		for i := 0; i < d; i += 2 {
			angle := float64(n-1-r) * math.Pow(10000, -float64(i)/float64(d))
			pe[r] = append(pe[r], math.Sin(angle), math.Cos(angle))
		}
	}
	p := e.linear(pe, at+"linear_pos", d, false)
	u, w := e.get(at+"pos_bias_u", d), e.get(at+"pos_bias_v", d)
	out := make(rows, n)
	for i := range out {
		out[i] = make([]float64, d)
		for h := 0; h < d; h += dh {
			weights, sum := make([]float64, n), 0.0
			for j := range weights {
				for c := h; c < h+dh; c++ {
					weights[j] += (q[i][c]+u[c])*k[j][c] + (q[i][c]+w[c])*p[n-1-i+j][c]
				}
				weights[j] = math.Exp(weights[j] / math.Sqrt(float64(dh)))
				sum += weights[j]
			}
			for j, weight := range weights {
				for c := h; c < h+dh; c++ {
					out[i][c] += weight / sum * v[j][c]
				}
			}
		}
	}
	return e.linear(out, at+"linear_out", d, e.c.Bias)
}

func (e slowEncoder) convolution(x rows, at string) rows {
	d, kernel := e.c.Width, e.c.ConvKernel
	gated := e.linear(x, at+"pointwise_conv1", 2*d, e.c.Bias).each(func(row []float64) []float64 {
		for i := range d {
			row[i] *= sigmoid(row[d+i])
		}
		return row[:d]
	})
	w, bias := e.get(at+"depthwise_conv.weight", d*kernel), make([]float64, d)
	if e.c.Bias {
		bias = e.get(at+"depthwise_conv.bias", d)
	}
	mean, variance := e.get(at+"batch_norm.running_mean", d), e.get(at+"batch_norm.running_var", d)
	gain, shift := e.get(at+"batch_norm.weight", d), e.get(at+"batch_norm.bias", d)
	y := make(rows, len(x))
	for t := range y {
		y[t] = slices.Clone(bias)
		for c := range d {
			for i := range kernel {
				if p := t + i - kernel/2; p >= 0 && p < len(x) {
					y[t][c] += w[c*kernel+i] * gated[p][c]
				}
			}
			y[t][c] = (y[t][c]-mean[c])/math.Sqrt(variance[c]+1e-5)*gain[c] + shift[c]
		}
	}
	return e.linear(y.each(silu), at+"pointwise_conv2", d, e.c.Bias)
}

func (e slowEncoder) encode(features rows) rows {
	x := e.subsample(features)
	if e.c.ScaleInput {
		x = x.plus(math.Sqrt(float64(e.c.Width))-1, x)
	}
	for i := range e.c.Layers {
		at := fmt.Sprintf("encoder.layers.%d.", i)
		x = e.feedForward(x, at, "feed_forward1")
		x = x.plus(1, e.attention(e.norm(x, at+"norm_self_att"), at+"self_attn."))
		x = x.plus(1, e.convolution(e.norm(x, at+"norm_conv"), at+"conv."))
		x = e.feedForward(x, at, "feed_forward2")
		x = e.norm(x, at+"norm_out")
	}
	return e.linear(x, "joint.enc", e.c.JointWidth, true)
}

// TestEncoderDefinition has what no golden has: biases, a scaled input, and other shapes.
func TestEncoderDefinition(t *testing.T) {
	base := models.ParakeetConfig{
		Features: 24, SubsamplingFactor: 8, SubsamplingChannels: 6, Layers: 2, Width: 16, Heads: 2, FeedForward: 40, ConvKernel: 5, JointWidth: 10,
	}
	biased, scaled, fourfold := base, base, base
	biased.Bias = true
	biased.ScaleInput = true
	scaled.ScaleInput = true
	fourfold.SubsamplingFactor, fourfold.Features, fourfold.Heads, fourfold.ConvKernel = 4, 21, 4, 9
	for name, c := range map[string]models.ParakeetConfig{"plain": base, "biased and scaled": biased, "scaled": scaled, "fourfold": fourfold} {
		t.Run(name, func(t *testing.T) {
			slow := slowEncoder{invented{}, c}
			e := newTestEncoder(t, c, slow)
			for _, frames := range []int{1, 8, 9, 150} {
				features := noise(frames*c.Features, uint64(frames))
				var x rows
				for row := range slices.Chunk(features, c.Features) {
					x = append(x, make([]float64, c.Features))
					for i, v := range row {
						x[len(x)-1][i] = float64(v)
					}
				}
				var want []float32
				for _, row := range slow.encode(x) {
					for _, v := range row {
						want = append(want, float32(v))
					}
				}
				got := e.stages(t, [][]float32{features})[0]["encoder_projected"]
				if d := maxDiff(t, got, want); !(d <= 2e-5) {
					t.Errorf("%d frames: differs by %g", frames, d)
				}
			}
		})
	}
}
