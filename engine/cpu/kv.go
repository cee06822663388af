package cpu

import "hark/kernels"

// headKV is one head's keys and values, in float32 or in bytes.
type headKV struct {
	bytes bool
	f32   kernels.PackedKV
	i8    kernels.PackedKVI8
}

// inBytes reports whether keys and values that are packed whole are kept in bytes.
func (d *Device) inBytes() bool { return d.precision.integers() }

// Numbers names what attention to keys and values that are packed whole is done in, where that isn't float32: "bytes".
func (d *Device) Numbers() string {
	if d.inBytes() {
		return "bytes"
	}
	return ""
}

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
func (kv *headKV) attend(dst []float32, ldd int, q []float32, ldq, rows int, scale float32, worker int, s scratch,
	w works, probs []float32, ldp int) {
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
