package cpu

import (
	"fmt"

	"hark/engine"
	"hark/kernels"
)

// relativeTask is self-attention with relative positions. First its blocks are heads whose positions are packed, for
// all items; then, for each item, heads whose keys and values are packed; then runs of queries, head by head.
type relativeTask struct {
	dst, qkv, pos, bias []float32
	ldd, ldx, ldp, ldb  int
	rows, dim           int
	positions           int // rows of pos
	heads               []relativeHead
	count               int // heads in use
	step                relativeStep
	scale               float32
	bytes               bool // keys, values and positions are
	scratch             scratch
	works               []kernels.RelativeAttentionI8Work // one for each worker
	queryParts          int                               // blocks of queries in an item
}

// relativeHead is one head, in float32 or in bytes.
type relativeHead struct {
	kv    headKV
	pos   kernels.PackedPositions
	posI8 kernels.PackedPositionsI8
}

type relativeStep int

const (
	packPositions relativeStep = iota
	packKeys
	attendQueries
)

// RelativeAttention is self-attention within each item that also looks at distances.
func (d *Device) RelativeAttention(dst, qkv engine.Tensor, lens []int, heads int, pos, bias engine.Tensor) {
	rows := total(lens)
	need("RelativeAttention", "dst", dst, rows, headed("RelativeAttention", dst.Cols, heads))
	need("RelativeAttention", "qkv", qkv, rows, 3*dst.Cols)
	need("RelativeAttention", "pos", pos, pos.Rows, dst.Cols)
	need("RelativeAttention", "bias", bias, 2, dst.Cols)
	longest := 0
	for _, l := range lens {
		longest = max(longest, l)
	}
	if longest == 0 {
		return
	}
	if pos.Rows%2 == 0 || pos.Rows < 2*longest-1 {
		panic(fmt.Sprintf("cpu: RelativeAttention: %d positions for an item of %d rows", pos.Rows, longest))
	}
	t := d.relatives.get()
	t.ldd, t.ldx, t.dim, t.count, t.scale = dst.Stride, qkv.Stride, dst.Cols, heads, headScale(dst.Cols, heads)
	for len(t.heads) < heads {
		t.heads = append(t.heads, relativeHead{})
	}
	t.bytes = d.inBytes()
	for i := range t.heads {
		t.heads[i].kv.bytes = t.bytes
	}
	t.scratch.reserve(d.pool.threads)
	if len(t.works) < d.pool.threads {
		t.works = make([]kernels.RelativeAttentionI8Work, d.pool.threads)
	}

	// Only the middle of the table is met.
	skip := (pos.Rows+1)/2 - longest
	met := pos.Slice(skip, pos.Rows-skip)
	t.pos, t.ldp, t.positions = floats(met), met.Stride, met.Rows
	t.bias, t.ldb = floats(bias), bias.Stride
	t.step = packPositions
	d.pool.run(heads, t)
	at := 0
	for _, l := range lens {
		if l == 0 {
			continue
		}
		t.dst, t.qkv, t.rows = floats(dst.Slice(at, at+l)), floats(qkv.Slice(at, at+l)), l
		t.step = packKeys
		d.pool.run(heads, t)
		t.step = attendQueries
		t.queryParts = ceilDiv(l, queryRows)
		d.pool.run(heads*t.queryParts, t)
		at += l
	}
	t.dst, t.qkv, t.pos, t.bias = nil, nil, nil, nil
	d.relatives.put(t)
}

func (t *relativeTask) block(worker, i int) {
	dh := t.dim / t.count
	switch t.step {
	case packPositions:
		if t.bytes {
			t.heads[i].posI8.Pack(t.pos[i*dh:], t.ldp, t.positions, dh)
		} else {
			t.heads[i].pos.Pack(t.pos[i*dh:], t.ldp, t.positions, dh)
		}
	case packKeys:
		off := i * dh
		t.heads[i].kv.Pack(t.qkv[t.dim+off:], t.ldx, t.qkv[2*t.dim+off:], t.ldx, t.rows, dh)
	case attendQueries:
		t.attend(worker, i/t.queryParts, i%t.queryParts*queryRows)
	}
}

// attend lets some of a head's queries attend, from row r on.
func (t *relativeTask) attend(worker, h, r int) {
	dh, head := t.dim/t.count, &t.heads[h]
	n, first := min(queryRows, t.rows-r), (t.positions-1)/2-r
	u, v := t.bias[h*dh:][:dh], t.bias[t.ldb+h*dh:][:dh]
	dst, q := t.dst[r*t.ldd+h*dh:], t.qkv[r*t.ldx+h*dh:]
	if t.bytes {
		kernels.RelativeAttentionI8(dst, t.ldd, q, t.ldx, n, &head.kv.i8, &head.posI8, first, u, v,
			t.scale, &t.works[worker])
		return
	}
	s := t.scratch.get(worker, kernels.RelativeAttentionScratch(n, t.rows, dh))
	kernels.RelativeAttention(dst, t.ldd, q, t.ldx, n, &head.kv.f32, &head.pos, first, u, v, t.scale, s)
}
