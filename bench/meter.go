package bench

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"hark/engine"
)

// Meter is a device that counts what the operations of another take. It is for one model at a time: operations that run
// side by side would each count the whole time.
type Meter struct {
	engine.Device

	mu  sync.Mutex
	ops map[string]*Op
}

// Op is what one kind of operation has taken.
type Op struct {
	Name    string  `json:"op"`
	Calls   int     `json:"calls"`
	Seconds float64 `json:"seconds"`
	// FLOPs are the additions and multiplications of its products; 0 for an operation that has hardly any.
	FLOPs float64 `json:"flops"`
	// Numbers says what these are of where it isn't float32: "bytes", of weights in them, or "bf16".
	Numbers string `json:"numbers,omitempty"`
}

// multiplier is a weight, or for attention a device, that may multiply other numbers than float32.
type multiplier interface{ Numbers() string }

// NewMeter returns a Meter for d.
func NewMeter(d engine.Device) *Meter { return &Meter{Device: d, ops: map[string]*Op{}} }

// Unwrap returns the device that computes.
func (m *Meter) Unwrap() engine.Device { return m.Device }

// Ops returns what was counted, the longest first.
func (m *Meter) Ops() []Op {
	m.mu.Lock()
	defer m.mu.Unlock()
	var ops []Op
	for _, op := range m.ops {
		ops = append(ops, *op)
	}
	slices.SortFunc(ops, func(a, b Op) int { return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.Name, b.Name)) })
	return ops
}

// Reset forgets what was counted.
func (m *Meter) Reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.ops)
}

// count is to be deferred with the time at which an operation began.
func (m *Meter) count(name string, begin time.Time, flops int) { m.countOf(name, begin, flops, nil) }

// countOf is count for an operation on the numbers that of names.
func (m *Meter) countOf(name string, begin time.Time, flops int, of any) {
	took := time.Since(begin).Seconds()
	numbers := ""
	if by, ok := of.(multiplier); ok {
		numbers = by.Numbers()
	}
	if numbers != "" {
		name += ", in " + numbers
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	op := m.ops[name]
	if op == nil {
		op = &Op{Name: name, Numbers: numbers}
		m.ops[name] = op
	}
	op.Calls++
	op.Seconds += took
	op.FLOPs += float64(flops)
}

// squares is the sum of the squares of lens.
func squares(lens []int) int {
	sum := 0
	for _, n := range lens {
		sum += n * n
	}
	return sum
}

// fewRows is where a product counts as a decoder's, whose speed is the memory's, and not as an encoder's.
const fewRows = 64

func (m *Meter) Upload(dst engine.Tensor, src []float32) {
	defer m.count("upload", time.Now(), 0)
	m.Device.Upload(dst, src)
}

func (m *Meter) Download(dst []float32, src engine.Tensor) error {
	defer m.count("download", time.Now(), 0)
	return m.Device.Download(dst, src)
}

func (m *Meter) Linear(dst, x engine.Tensor, w engine.Linear, act engine.Activation, residual engine.Tensor) {
	defer m.countLinear("linear", time.Now(), x.Rows, w)
	m.Device.Linear(dst, x, w, act, residual)
}

func (m *Meter) NormLinear(dst, normed, x engine.Tensor, n engine.Norm, w engine.Linear, act engine.Activation) {
	defer m.countLinear("norm and linear", time.Now(), x.Rows, w)
	m.Device.NormLinear(dst, normed, x, n, w, act)
}

// countLinear is count for a product of so many rows.
func (m *Meter) countLinear(name string, begin time.Time, rows int, w engine.Linear) {
	if rows < fewRows {
		name += ", few rows"
	}
	n, k := w.Shape()
	m.countOf(name, begin, 2*rows*n*k, w)
}

func (m *Meter) Conv(dst, x engine.Tensor, lens []int, c engine.Conv, act engine.Activation) {
	defer m.count("convolution", time.Now(), 2*dst.Rows*c.OutChannels()*x.Cols*3)
	m.Device.Conv(dst, x, lens, c, act)
}

func (m *Meter) LayerNorm(dst, x engine.Tensor, n engine.Norm) {
	defer m.count("layer norm", time.Now(), 0)
	m.Device.LayerNorm(dst, x, n)
}

func (m *Meter) AddPositions(x engine.Tensor, lens []int, t engine.Table) {
	defer m.count("add positions", time.Now(), 0)
	m.Device.AddPositions(x, lens, t)
}

func (m *Meter) Embed(dst engine.Tensor, tokens engine.Linear, ids []int32, t engine.Table, positions []int32) {
	defer m.count("embed", time.Now(), 0)
	m.Device.Embed(dst, tokens, ids, t, positions)
}

func (m *Meter) Gather(dst, src engine.Tensor, rows []int32) {
	defer m.count("gather", time.Now(), 0)
	m.Device.Gather(dst, src, rows)
}

func (m *Meter) Scatter(dst, src engine.Tensor, rows []int32) {
	defer m.count("scatter", time.Now(), 0)
	m.Device.Scatter(dst, src, rows)
}

func (m *Meter) AddRows(dst, a engine.Tensor, aRows []int32, b engine.Tensor, bRows []int32, act engine.Activation) {
	defer m.count("add rows", time.Now(), 0)
	m.Device.AddRows(dst, a, aRows, b, bRows, act)
}

func (m *Meter) Subsample(dst, x engine.Tensor, lens []int, s engine.Subsampling) {
	defer m.count("subsampling", time.Now(), 0)
	m.Device.Subsample(dst, x, lens, s)
}

func (m *Meter) GatedConv(dst, x engine.Tensor, lens []int, c engine.Depthwise, act engine.Activation) {
	defer m.count("gated convolution", time.Now(), 0)
	m.Device.GatedConv(dst, x, lens, c, act)
}

func (m *Meter) LSTM(dst, x, h, c engine.Tensor, w engine.LSTM, rows []int32) {
	defer m.count("lstm", time.Now(), 2*x.Rows*4*h.Cols*(x.Cols+h.Cols))
	m.Device.LSTM(dst, x, h, c, w, rows)
}

func (m *Meter) Attention(dst, qkv engine.Tensor, lens []int, heads, more int) {
	defer m.countOf("attention", time.Now(), 4*(squares(lens)+dst.Rows*more)*dst.Cols, m.Device)
	m.Device.Attention(dst, qkv, lens, heads, more)
}

func (m *Meter) RelativeAttention(dst, qkv engine.Tensor, lens []int, heads int, pos, bias engine.Tensor) {
	defer m.countOf("relative attention", time.Now(), 8*squares(lens)*dst.Cols, m.Device) // twice as many positions as keys
	m.Device.RelativeAttention(dst, qkv, lens, heads, pos, bias)
}

func (m *Meter) CachedAttention(dst, qkv engine.Tensor, c engine.Cache, layer, heads int, rows []engine.CacheRow) {
	keys := 0
	for _, r := range rows {
		keys += int(r.Position) + 1
	}
	defer m.count("cached attention", time.Now(), 4*keys*dst.Cols)
	m.Device.CachedAttention(dst, qkv, c, layer, heads, rows)
}

func (m *Meter) CopySlots(c engine.Cache, to, from []int32, lens []int) {
	defer m.count("copy slots", time.Now(), 0)
	m.Device.CopySlots(c, to, from, lens)
}

func (m *Meter) StoreCross(c engine.Cross, layer, slot int, kv engine.Tensor) {
	defer m.count("store cross", time.Now(), 0)
	m.Device.StoreCross(c, layer, slot, kv)
}

func (m *Meter) CrossAttention(dst, q engine.Tensor, c engine.Cross, layer int, slots []int32,
	probs engine.Tensor, heads []int) {
	defer m.count("cross attention", time.Now(), 0) // the cache alone knows how many keys there are
	m.Device.CrossAttention(dst, q, c, layer, slots, probs, heads)
}

func (m *Meter) Select(logits engine.Tensor, rows []engine.Rule, k int) ([]engine.Choice, error) {
	defer m.count("select", time.Now(), 0)
	return m.Device.Select(logits, rows, k)
}

func (m *Meter) TokenProbs(logits engine.Tensor, rows, ids []int32, limit int) ([]float32, error) {
	defer m.count("token probabilities", time.Now(), 0)
	return m.Device.TokenProbs(logits, rows, ids, limit)
}

func (m *Meter) Peaks(logits engine.Tensor, ranges []engine.Range, power float32) ([]engine.Peak, error) {
	defer m.count("peaks", time.Now(), 0)
	return m.Device.Peaks(logits, ranges, power)
}
