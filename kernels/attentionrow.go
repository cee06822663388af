package kernels

import "fmt"

// AttentionRow computes one query of one head against keys and values that are not packed: dst = softmax(scale * q·Kᵀ)
// V. It suits a decoder's own cache, which grows by a row each step. q and dst are [dh] and may be the same; k is
// [t][ldk], v is [t][ldv], of which the first dh columns count. scale is positive. scratch holds at least t floats.
// probs, if not nil, receives the softmax, [t]. No keys give zeros.
func AttentionRow(dst, q, k []float32, ldk int, v []float32, ldv, t, dh int, scale float32, scratch []float32, probs []float32) {
	if dh <= 0 {
		return
	}
	if len(dst) < dh || len(q) < dh || len(scratch) < t || t > 1 && (ldk < dh || ldv < dh) ||
		t > 0 && (len(k) < (t-1)*ldk+dh || len(v) < (t-1)*ldv+dh) || probs != nil && len(probs) < t {
		panic(fmt.Sprintf("kernels: AttentionRow: %d keys of %d: dst %d, q %d, keys %d at stride %d, values %d at stride %d, scratch %d, probs %d",
			t, dh, len(dst), len(q), len(k), ldk, len(v), ldv, len(scratch), len(probs)))
	}
	dst, q = dst[:dh], q[:dh]
	if t <= 0 {
		clear(dst)
		return
	}
	// A step of rows bounds one assembly call.
	const step = 256
	s := scratch[:t]
	for i := 0; i < t; i += step {
		dotRows(s[i:min(i+step, t)], q, k[i*ldk:], ldk)
	}
	Scale(s, 1/expSum(s, rowMax(s), scale))
	if probs != nil {
		copy(probs, s)
	}
	clear(dst)
	for i := 0; i < t; i += step {
		addRows(dst, s[i:min(i+step, t)], v[i*ldv:], ldv)
	}
}
