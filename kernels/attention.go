package kernels

import "fmt"

const (
	// attentionRows is the block of queries whose scores are held at once: two AVX-512 tiles, four AVX2 tiles.
	attentionRows = 24
	// attentionK cuts the sum over keys, so that a pair of value panels stays in the first-level cache for all rows of
	// a block.
	attentionK = 256
	// attentionCols is how many output columns of a block are accumulated in the scratch at a time.
	attentionCols = 64
)

// scoreStride is the row stride of a block's scores: whole tiles, and off the multiples of a page that would share
// cache sets.
func scoreStride(t int) int { return roundUp(t, tileCols) + panelCols }

// AttentionScratch returns how many floats of scratch [Attention] needs for rows queries against t keys.
func AttentionScratch(rows, t int) int {
	return min(rows, attentionRows) * (scoreStride(t) + attentionCols)
}

// Attention computes one head: dst[i] = softmax(scale * q[i]·Kᵀ) V for i in [0,rows), without a mask. q is [rows][ldq]
// and dst [rows][ldd], of which the first dh columns count (dh being the packed heads' width); dst may be q, in the
// same place and with the same stride. scale is positive. scratch holds at least [AttentionScratch] floats of any
// content. probs, if not nil, receives the softmax, [rows][ldp], of which the first Len columns are written. No keys
// give zeros. A row's bits depend on its query alone.
func Attention(dst []float32, ldd int, q []float32, ldq, rows int, kv *PackedKV, scale float32, scratch []float32, probs []float32, ldp int) {
	t, dh := kv.t, kv.dh
	if rows <= 0 || dh == 0 {
		return
	}
	if rows > 1 && (ldd < dh || ldq < dh) || len(dst) < (rows-1)*ldd+dh || len(q) < (rows-1)*ldq+dh || len(scratch) < AttentionScratch(rows, t) {
		panic(fmt.Sprintf("kernels: Attention: %d rows of %d: dst %d at stride %d, q %d at stride %d, scratch %d of %d",
			rows, dh, len(dst), ldd, len(q), ldq, len(scratch), AttentionScratch(rows, t)))
	}
	if probs != nil && (rows > 1 && ldp < t || len(probs) < (rows-1)*ldp+t) {
		panic(fmt.Sprintf("kernels: Attention: probs has %d elements, want %d rows of %d at stride %d", len(probs), rows, t, ldp))
	}
	for i := 0; i < rows; i += attentionRows {
		var p []float32
		if probs != nil {
			p = probs[i*ldp:]
		}
		attentionBlock(dst[i*ldd:], ldd, q[i*ldq:], ldq, min(attentionRows, rows-i), kv, scale, scratch, p, ldp)
	}
}

// attentionBlock is Attention for at most attentionRows rows.
func attentionBlock(dst []float32, ldd int, q []float32, ldq, rows int, kv *PackedKV, scale float32, scratch, probs []float32, ldp int) {
	t, dh, lds := kv.t, kv.dh, scoreStride(kv.t)
	scores, sums := scratch[:rows*lds], scratch[rows*lds:]
	for j := 0; j < t; j += tileCols {
		tile(scores[j:], lds, q, ldq, rows, kv.k[j*dh:], dh*panelCols, dh, tileCols*dh, false)
	}
	var inv [attentionRows]float32
	for i := range rows {
		row := scores[i*lds:][:t]
		inv[i] = 1
		if t > 0 {
			inv[i] = 1 / expSum(row, rowMax(row), scale)
		}
		if probs != nil {
			p := probs[i*ldp:][:t]
			copy(p, row)
			Scale(p, inv[i])
		}
	}
	for j := 0; j < dh; j += attentionCols {
		cols := min(attentionCols, dh-j)
		clear(sums[:rows*attentionCols])
		for k := 0; k < t; k += attentionK {
			for c := 0; c < cols; c += tileCols {
				b := kv.v[(j+c)*t+k*panelCols:]
				tile(sums[c:], attentionCols, scores[k:], lds, rows, b, t*panelCols, min(attentionK, t-k), attentionK*panelCols, true)
			}
		}
		for i := range rows {
			d := dst[i*ldd+j:][:cols]
			copy(d, sums[i*attentionCols:])
			Scale(d, inv[i])
		}
	}
}
