package cuda

import (
	"fmt"
	"slices"

	"hark/engine"
)

// RelativeAttention is self-attention within each item that also looks at distances. Heads may have up to 128 columns.
func (d *Device) RelativeAttention(dst, qkv engine.Tensor, lens []int, heads int, pos, bias engine.Tensor) {
	rows, dh := total(lens), headed("RelativeAttention", dst.Cols, heads)
	need("RelativeAttention", "dst", dst, rows, dst.Cols)
	need("RelativeAttention", "qkv", qkv, rows, 3*dst.Cols)
	need("RelativeAttention", "pos", pos, pos.Rows, dst.Cols)
	need("RelativeAttention", "bias", bias, 2, dst.Cols)
	if rows == 0 {
		return
	}
	if longest := slices.Max(lens); pos.Rows%2 == 0 || pos.Rows < 2*longest-1 {
		panic(fmt.Sprintf("cuda: RelativeAttention: %d positions for an item of %d rows", pos.Rows, longest))
	}
	w, from, to, vpos, vbias := widthFor("RelativeAttention", relativeWidths, dh), view(qkv),
		view(dst), view(pos), view(bias)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.enter()
	s := d.stretches(lens, w.queries)
	args := append(append(from[:], vpos[:]...), i32(pos.Rows))
	args = append(append(args, vbias[:]...), s.starts, s.cuts, i32(s.items), i32(dst.Cols),
		i32(heads), flt(scoreScale(dh)))
	d.launch(fmt.Sprint("relattention", w.columns, d.working().suffix()), dim3{X: s.count, Y: heads, Z: 1},
		along(attentionThreads), 0,
		append(args, to[:]...)...)
}
