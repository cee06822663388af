package cpu

import (
	"fmt"
	"math"

	"hark/engine"
)

// queryRows is how many queries of one head make a block.
const queryRows = 48

// attentionTask is self-attention within one item. First its blocks are heads, whose keys
// and values are packed; then they are runs of queries, head by head.
type attentionTask struct {
	dst, qkv   []float32
	ldd, ldx   int
	rows, keys int // of the item; of its keys and values
	dim        int
	heads      []headKV
	count      int // heads in use
	packed     bool
	scale      float32
	scratch    scratch
	works      works
	queryParts int // blocks of queries in an item
}

// Attention is self-attention without a mask within each item, and to the more rows behind it.
func (d *Device) Attention(dst, qkv engine.Tensor, lens []int, heads, more int) {
	rows := total(lens)
	need("Attention", "dst", dst, rows, headed("Attention", dst.Cols, heads))
	need("Attention", "qkv", qkv, rows+len(lens)*more, 3*dst.Cols)
	t := d.attentions.get()
	t.ldd, t.ldx, t.dim, t.count, t.scale = dst.Stride, qkv.Stride, dst.Cols, heads, headScale(dst.Cols, heads)
	for len(t.heads) < heads {
		t.heads = append(t.heads, headKV{})
	}
	t.scratch.reserve(d.pool.threads)
	t.works.reserve(d.pool.threads)
	for i := range t.heads {
		t.heads[i].bytes = d.inBytes()
	}
	at, from := 0, 0 // where an item's rows begin, in dst and in qkv
	for _, l := range lens {
		if l == 0 {
			from += more
			continue
		}
		t.rows, t.keys = l, l+more
		t.dst, t.qkv = floats(dst.Slice(at, at+l)), floats(qkv.Slice(from, from+t.keys))
		t.packed = false
		d.pool.run(heads, t)
		t.packed = true
		t.queryParts = ceilDiv(l, queryRows)
		d.pool.run(heads*t.queryParts, t)
		at += l
		from += t.keys
	}
	t.dst, t.qkv = nil, nil
	d.attentions.put(t)
}

func (t *attentionTask) block(worker, i int) {
	dh := t.dim / t.count
	if !t.packed {
		off := i * dh
		t.heads[i].Pack(t.qkv[t.dim+off:], t.ldx, t.qkv[2*t.dim+off:], t.ldx, t.keys, dh)
		return
	}
	h, r := i/t.queryParts, i%t.queryParts*queryRows
	t.heads[h].attend(t.dst[r*t.ldd+h*dh:], t.ldd, t.qkv[r*t.ldx+h*dh:], t.ldx, min(queryRows, t.rows-r), t.scale,
		worker, t.scratch, t.works, nil, 0)
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
