package engine

import "errors"

// ErrDeviceLost says that a device has failed for good: nothing will run on it any more.
var ErrDeviceLost = errors.New("the device is lost")

// ErrOutOfMemory says that a device has no room for what it was to hold or to run. What needs less may still fit.
var ErrOutOfMemory = errors.New("the device is out of memory")

// ErrUnfinished says of a window that it left its batch before its end, so that others need not wait for it. It is to be
// run again, and goes on where it stands.
var ErrUnfinished = errors.New("the window goes on when it is run again")

// Device runs the operations that model graphs are made of, in their natural
// fused form, over buffers that live on it. It knows no model.
//
// Operations return no error: on a GPU they are queued, and the first failure sticks and
// comes back from the next call that waits ([Device.Sync], [Device.Download],
// [Device.Select], [Device.TokenProbs], [Device.Peaks]). Shapes are the graph's own affair: a wrong one panics.
// Host slices given to an operation are read before it returns.
//
// Lengths: where an operation takes lens, its tensors hold a batch of items of
// different lengths, one after another without gaps: item i has lens[i] rows. An
// item's result never depends on the items beside it, to the bit, so that a
// clip gets the same text alone and in any batch.
//
// Memory: what has no room fails with an error that wraps [ErrOutOfMemory], and the device goes on.
//
// A Device may be used by several goroutines at once, each with buffers and
// caches of its own. One that is lost, as a GPU is after a fault, answers with errors that wrap [ErrDeviceLost].
type Device interface {
	// Info says what the device is. It does not change.
	Info() DeviceInfo

	// Alloc makes a buffer of n elements, all zero, in the device's working precision. The
	// error says how much was asked for.
	Alloc(n int) (Buffer, error)
	// AllocSingle is Alloc in single precision, for what half precision would spoil: logits, sums that go on for long.
	// Where an operation takes tensors, they may be of either kind, but for those of one attention.
	AllocSingle(n int) (Buffer, error)
	// Free gives buf's memory back. It must not be used afterwards.
	Free(buf Buffer)
	// Upload copies src, dense [dst.Rows][dst.Cols], to dst.
	Upload(dst Tensor, src []float32)
	// Download waits for all work on src and copies it to dst, dense [src.Rows][src.Cols].
	Download(dst []float32, src Tensor) error
	// Sync waits for everything queued and returns the first failure.
	Sync() error

	// NewLinear prepares a weight w [n][k], row-major, with its bias [n] or nil,
	// for Linear and Embed. The slices are not kept.
	NewLinear(w, bias []float32, n, k int) (Linear, error)
	// NewConv prepares a convolution over time: w [out][in][kernel] and bias [out] as PyTorch
	// stores them, zero padding of kernel/2 on both sides.
	NewConv(w, bias []float32, out, in, kernel, stride int) (Conv, error)
	// NewNorm prepares a layer norm of width len(gamma).
	NewNorm(gamma, beta []float32, eps float32) (Norm, error)
	// NewTable prepares a table [rows][cols] whose rows are added by position.
	NewTable(w []float32, rows, cols int) (Table, error)
	// NewMask prepares a set of banned ids out of [0, n).
	NewMask(banned []int32, n int) (Mask, error)
	// NewCache makes a decoder's self-attention cache: for every layer and slot, keys and
	// values of up to length positions, width elements each.
	NewCache(layers, slots, length, width int) (Cache, error)
	// NewCross makes a cross-attention cache: for every layer and slot, the keys and
	// values of up to length encoder positions, split into heads.
	NewCross(layers, slots, length, width, heads int) (Cross, error)
	// NewSubsampling prepares the convolutions that stand before a FastConformer.
	NewSubsampling(w SubsamplingWeights) (Subsampling, error)
	// NewDepthwise prepares a convolution over time that keeps channels apart: w [channels][kernel] and bias
	// [channels], nil for none, as PyTorch stores them, with zero padding of kernel/2 on both sides; kernel is odd.
	NewDepthwise(w, bias []float32, channels, kernel int) (Depthwise, error)
	// NewLSTM prepares a layer of an LSTM as PyTorch stores it, gates in the order input, forget, cell,
	// output: wih [4*hidden][in], whh [4*hidden][hidden], and bias [4*hidden], the sum of PyTorch's two.
	NewLSTM(wih, whh, bias []float32, in, hidden int) (LSTM, error)

	// Linear is dst = act(x Wᵀ + bias) + residual. x is [M][k], dst [M][n]. The zero
	// residual means none; it may be dst itself. dst must not overlap x.
	Linear(dst, x Tensor, w Linear, act Activation, residual Tensor)
	// Conv is dst = act(conv(x)) for a batch of items; item i of dst has
	// ceil(lens[i]/stride) rows. dst must not overlap x.
	Conv(dst, x Tensor, lens []int, c Conv, act Activation)
	// LayerNorm normalises each row of x to dst, which may be x.
	LayerNorm(dst, x Tensor, n Norm)
	// NormLinear is LayerNorm of x to normed and then Linear of that to dst, without a
	// residual, to the bit. normed must not overlap x.
	NormLinear(dst, normed, x Tensor, n Norm, w Linear, act Activation)
	// AddPositions adds row p of the table to row p of every item of x.
	AddPositions(x Tensor, lens []int, t Table)
	// Embed sets row i of dst to row ids[i] of the linear's weight plus row positions[i] of the table.
	Embed(dst Tensor, tokens Linear, ids []int32, t Table, positions []int32)
	// Gather sets row i of dst to row rows[i] of src. dst must not overlap src.
	Gather(dst, src Tensor, rows []int32)
	// Scatter sets row rows[i] of dst to row i of src. No row may be named twice. dst must not overlap src.
	Scatter(dst, src Tensor, rows []int32)
	// AddRows sets row i of dst to act(row aRows[i] of a + row bRows[i] of b). dst must not overlap a or b.
	// (A transducer's joint network: the pairs of a frame and a predictor's state that are asked about.)
	AddRows(dst, a Tensor, aRows []int32, b Tensor, bRows []int32, act Activation)

	// Subsample shortens a batch of items: x is [sum of lens][mels], item i of dst has ceil(lens[i]/s.Factor()) rows of
	// s.Width() columns, of which f*channels+c is channel c at frequency f.
	Subsample(dst, x Tensor, lens []int, s Subsampling)
	// GatedConv is dst = act(conv(a * sigmoid(b))) for a batch of items, x [sum of lens][2*channels] being a and b side
	// by side. Each item is padded with zeros behind the gate. dst must not overlap x.
	GatedConv(dst, x Tensor, lens []int, c Depthwise, act Activation)
	// LSTM takes sequences a step on. Row i of x [M][in] is the next input of the sequence whose state is row
	// rows[i] of h and c [sequences][hidden], which becomes the new state; row i of dst [M][hidden] is the new h too.
	// No sequence may be named twice. dst must not overlap h or c; it may be x, if widths are equal.
	LSTM(dst, x, h, c Tensor, w LSTM, rows []int32)

	// Attention is self-attention without a mask within each item: qkv is [sum of lens[i]+more][3D], queries, keys and
	// values side by side; dst is [sum of lens][D]. In qkv an item is followed by more further rows, which are
	// attended to as if they belonged to it, but ask nothing: their queries are not read. An item of no rows has them
	// too. Scores are scaled by (D/heads)^-1/2.
	Attention(dst, qkv Tensor, lens []int, heads, more int)
	// RelativeAttention is Attention that also looks at how far a key is from its query, as Transformer-XL
	// has it. Row r of pos [2L-1][D] is what keys stand for at the distance L-1-r of a query from them, L
	// being at least the longest item's length; bias [2][D] is added to the queries, its row 0 where they
	// meet keys and its row 1 where they meet positions:
	//
	//	score[i][j] = ((q[i] + bias[0])·k[j] + (q[i] + bias[1])·pos[L-1-i+j]) / (D/heads)^1/2, by heads
	//
	// A result does not depend on L. dst must not overlap the others.
	RelativeAttention(dst, qkv Tensor, lens []int, heads int, pos, bias Tensor)
	// CachedAttention is causal self-attention through a cache. Row i of qkv [M][3D] belongs to
	// position rows[i].Position of rows[i].Slot: its key and value are stored there, then its query
	// attends to that slot's positions up to its own. Rows of one slot may come in one call, in ascending order.
	CachedAttention(dst, qkv Tensor, c Cache, layer, heads int, rows []CacheRow)
	// CopySlots copies the first lens[i] positions of slot from[i] to slot to[i], in every
	// layer, as if all copies were made at once.
	CopySlots(c Cache, to, from []int32, lens []int)
	// StoreCross keeps kv [T][2D], keys and values side by side, as a slot's cross-attention input of one layer.
	StoreCross(c Cross, layer, slot int, kv Tensor)
	// CrossAttention lets row i of q [M][D] attend to everything stored in slots[i].
	// If probs is not zero it gets the softmax rows of some heads: row j*M+i of it, [len(heads)*M][T], is
	// head heads[j]'s distribution for row i; all slots must then have the same length T.
	CrossAttention(dst, q Tensor, c Cross, layer int, slots []int32, probs Tensor, heads []int)

	// Select applies to each row of logits [M][V] the rule rows[i] and returns what may come next, best
	// first (k at most, lowest id first among equals), or the one drawn where the rule has a temperature.
	// It waits. The logits are spent afterwards.
	Select(logits Tensor, rows []Rule, k int) ([]Choice, error)
	// TokenProbs returns the probability of ids[i] in the softmax of row rows[i] of logits over
	// its first limit ids. It waits, and leaves the logits as they are.
	TokenProbs(logits Tensor, rows, ids []int32, limit int) ([]float32, error)
	// Peaks returns the best id of every range, for each row of logits [M][V]: element i*len(ranges)+j is that of row i
	// in ranges[j]. Ranges lie in [0, V) and are not empty. If power is above zero, [Peak.PowerSum] is filled
	// in. It waits, and leaves the logits as they are.
	Peaks(logits Tensor, ranges []Range, power float32) ([]Peak, error)
}

// HalfDevice is a device that takes weights in half precision as files hold them, without a copy of them in float32.
type HalfDevice interface {
	// NewLinearHalf is [Device.NewLinear] with w in IEEE 754 binary16, little-endian, 2*n*k bytes at any address.
	NewLinearHalf(w []byte, bias []float32, n, k int) (Linear, error)
}

// ManyRowsDevice is a device that has another way to multiply where many rows come at a time. It must not choose by the
// rows of a call: a row's result would then depend on those beside it.
type ManyRowsDevice interface {
	// ManyRows says that w is multiplied with hundreds of rows at a time, as encoders do.
	// It comes before w's first use.
	ManyRows(w Linear)
}

// StepDevice is a device that may keep weights more exactly where only few rows at a time meet them, as in a decoder's
// steps. There coarse weights save less time, since memory takes it, and cost more, since every step chooses.
type StepDevice interface {
	// ForSteps is the device to make such weights with. All that either makes works on both.
	ForSteps() Device
}

// DeviceAs finds a T in a device, or in the one that it wraps and returns from a method Unwrap.
func DeviceAs[T any](d Device) (t T, ok bool) {
	for {
		if t, ok := d.(T); ok {
			return t, true
		}
		wrapper, ok := d.(interface{ Unwrap() Device })
		if !ok {
			return t, false
		}
		d = wrapper.Unwrap()
	}
}

// DeviceInfo describes a device for people and for planning.
type DeviceInfo struct {
	// Kind is "cpu" or "cuda".
	Kind string
	// Name is the processor's own name; Detail says which code runs on it ("avx512, 2 threads").
	Name, Detail string
	// EncodeGroup is how many windows of 30 s are best encoded at once: where caches are
	// small, few. Of shorter ones that is more.
	EncodeGroup int
}

// Handles that a device prepares its own way (packed panels, half precision, …).
// They are its own types and live until the device's last model is closed.
type (
	// Linear is a matrix [n][k] with an optional bias.
	Linear interface{ Shape() (n, k int) }
	// Conv is a one-dimensional convolution.
	Conv interface{ OutChannels() int }
	// Norm is a layer norm's gain and shift.
	Norm interface{ Width() int }
	// Table is a matrix whose rows are added by position.
	Table interface{ Shape() (rows, cols int) }
	// Mask is a set of banned ids.
	Mask interface{ Size() int }
	// Cache is a decoder's self-attention cache.
	Cache interface{ Slots() int }
	// Cross is a decoder's cross-attention cache.
	Cross interface{ Slots() int }
	// Subsampling is a stack of strided convolutions: Factor rows of x become one, Width columns wide.
	Subsampling interface {
		Factor() int
		Width() int
	}
	// Depthwise is a convolution over time that keeps channels apart.
	Depthwise interface{ Channels() int }
	// LSTM is a layer of an LSTM.
	LSTM interface{ Shape() (in, hidden int) }
)

// SubsamplingWeights are convolutions over time and frequency, each 3 x 3 with stride 2 and padding 1, as PyTorch
// stores them: the first from one channel to all, with a ReLU, then for each stage one that keeps channels apart and
// one of 1 x 1 across channels, with a ReLU. Before each convolution rows outside of the item are zero. The first and
// every stage halve both time and frequency, rounded up. (NeMo's dw_striding.)
type SubsamplingWeights struct {
	Mels, Channels   int
	First, FirstBias []float32 // [channels][3][3] (time, frequency) and [channels]
	Stages           []SubsamplingStage
}

// SubsamplingStage is one stage of [SubsamplingWeights].
type SubsamplingStage struct {
	Depthwise, DepthwiseBias []float32 // [channels][3][3] and [channels]
	Pointwise, PointwiseBias []float32 // [out][in] and [out], both being channels
}

// Activation is what a fused operation applies to its result.
type Activation uint8

const (
	NoActivation Activation = iota
	GELU                    // x/2 * (1 + erf(x/sqrt 2)), the exact form
	ReLU                    // max(x, 0)
	SiLU                    // x * sigmoid(x)
)

// CacheRow is the place of one row in a [Cache].
type CacheRow struct{ Slot, Position int32 }

// Range is the ids from From up to, but not including, To.
type Range struct{ From, To int32 }

// Rule says which ids may come next. The log-probabilities that come back are of the
// softmax over what the rule leaves, at temperature 1.
type Rule struct {
	// Mask bans a fixed set; nil bans nothing.
	Mask Mask
	// Ban bans further ranges; empty ranges ban nothing.
	Ban [4]Range
	// MassFrom, if above zero, bans all ids below it when those from it on
	// together are likelier than each single id below it, after the bans above.
	// (Whisper: a timestamp is due when timestamps as a whole are the likeliest.)
	MassFrom int32
	// Temperature, if above zero, draws one id from the softmax of logits/Temperature, by
	// the point Uniform in [0, 1) of the cumulative sum, instead of taking the best ones.
	Temperature, Uniform float32
}

// Choice holds ids and their log-probabilities, best first.
type Choice struct {
	IDs      []int32
	LogProbs []float32
}

// Peak is the best id of a range in a row of logits, and how sure of it the row is.
type Peak struct {
	// ID is the id of the greatest logit, the lowest such id, and Logit that logit. A logit that is no number is never
	// the greatest; where there is nothing else ID is the range's first.
	ID    int32
	Logit float32
	// LogProb is the id's log-probability in the softmax over the range.
	LogProb float32
	// PowerSum is the sum of all probabilities of that softmax, each raised to the power asked for: 1 for one that is
	// certain, n^(1-power) for n that are equal. Entropies of Tsallis and Rényi are functions of it.
	PowerSum float32
}
