package cpu

import (
	"fmt"
	"math"

	"hark/engine"
	"hark/kernels"
)

// queryRows is how many queries of one head make a block.
const queryRows = 48

// attentionTask is self-attention within one item. First its blocks are heads, whose keys
// and values are packed; then they are runs of queries, head by head.
type attentionTask struct {
	dst, qkv   []float32
	ldd, ldx   int
	rows, dim  int
	heads      []headKV
	count      int // heads in use
	packed     bool
	scale      float32
	scratch    scratch
	works      works
	queryParts int // blocks of queries in an item
}

// Attention is self-attention without a mask within each item.
func (d *Device) Attention(dst, qkv engine.Tensor, lens []int, heads int) {
	rows := total(lens)
	need("Attention", "dst", dst, rows, headed("Attention", dst.Cols, heads))
	need("Attention", "qkv", qkv, rows, 3*dst.Cols)
	t := d.attentions.get()
	t.ldd, t.ldx, t.dim, t.count, t.scale = dst.Stride, qkv.Stride, dst.Cols, heads, headScale(dst.Cols, heads)
	for len(t.heads) < heads {
		t.heads = append(t.heads, headKV{})
	}
	t.scratch.reserve(d.pool.threads)
	t.works.reserve(d.pool.threads)
	for i := range t.heads {
		t.heads[i].bytes = d.bytesKV()
	}
	at := 0
	for _, l := range lens {
		if l == 0 {
			continue
		}
		t.dst, t.qkv, t.rows = floats(dst.Slice(at, at+l)), floats(qkv.Slice(at, at+l)), l
		t.packed = false
		d.pool.run(heads, t)
		t.packed = true
		t.queryParts = ceilDiv(l, queryRows)
		d.pool.run(heads*t.queryParts, t)
		at += l
	}
	t.dst, t.qkv = nil, nil
	d.attentions.put(t)
}

func (t *attentionTask) block(worker, i int) {
	dh := t.dim / t.count
	if !t.packed {
		off := i * dh
		t.heads[i].Pack(t.qkv[t.dim+off:], t.ldx, t.qkv[2*t.dim+off:], t.ldx, t.rows, dh)
		return
	}
	h, r := i/t.queryParts, i%t.queryParts*queryRows
	t.heads[h].attend(t.dst[r*t.ldd+h*dh:], t.ldd, t.qkv[r*t.ldx+h*dh:], t.ldx, min(queryRows, t.rows-r), t.scale,
		worker, t.scratch, t.works, nil, 0)
}

// headKV is one head's keys and values, in float32 or in bytes.
type headKV struct {
	bytes bool
	f32   kernels.PackedKV
	i8    kernels.PackedKVI8
}

// bytesKV reports whether keys and values that are packed whole are kept in bytes.
func (d *Device) bytesKV() bool { return d.precision != F32 }

// Pack takes the place of what was packed before.
func (kv *headKV) Pack(k []float32, ldk int, v []float32, ldv, t, dh int) {
	if kv.bytes {
		kv.i8.Pack(k, ldk, v, ldv, t, dh)
	} else {
		kv.f32.Pack(k, ldk, v, ldv, t, dh)
	}
}

// Len is the number of keys.
func (kv *headKV) Len() int {
	if kv.bytes {
		return kv.i8.Len()
	}
	return kv.f32.Len()
}

// attend lets queries attend, see [kernels.Attention].
func (kv *headKV) attend(dst []float32, ldd int, q []float32, ldq, rows int, scale float32, worker int, s scratch, w works, probs []float32, ldp int) {
	if kv.bytes {
		kernels.AttentionI8(dst, ldd, q, ldq, rows, &kv.i8, scale, w[worker], probs, ldp)
		return
	}
	floats := s.get(worker, kernels.AttentionScratch(rows, kv.Len()))
	kernels.Attention(dst, ldd, q, ldq, rows, &kv.f32, scale, floats, probs, ldp)
}

// works is the memory of every worker of a task for attention by integers.
type works []*kernels.AttentionI8Work

// reserve makes room for n workers.
func (w *works) reserve(n int) {
	for len(*w) < n {
		*w = append(*w, new(kernels.AttentionI8Work))
	}
}

// headed checks that a width can be split into heads and returns it.
func headed(op string, width, heads int) int {
	if heads < 1 || width%heads != 0 {
		panic(fmt.Sprintf("cpu: %s: a width of %d in %d heads", op, width, heads))
	}
	return width
}

// headScale is what scores are scaled by.
func headScale(width, heads int) float32 { return float32(1 / math.Sqrt(float64(width/heads))) }
