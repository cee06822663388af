package kernels

import "fmt"

// PackedPositions is one head's relative positions laid out for [RelativeAttention]. The zero value is empty and ready
// for [PackedPositions.Pack]. It must not be packed while a RelativeAttention reads it.
type PackedPositions struct {
	n, dh int
	p     []float32 // panels of 16 positions: [n/16][dh][16], with zeros for what a tile reads beyond the last
}

// Pack copies n rows of x, [n][ldx], of which the first dh columns count, in place of what p held. Memory is kept and
// grown only when a larger n or dh comes.
func (p *PackedPositions) Pack(x []float32, ldx, n, dh int) {
	checkPositions(x, ldx, n, dh)
	p.n, p.dh = n, dh
	p.p = resize(p.p, (roundUp(n, panelCols)+tileCols)*dh)
	packColumns(p.p, x, ldx, n, dh)
	clear(p.p[roundUp(n, panelCols)*dh:])
}

func checkPositions(x []float32, ldx, n, dh int) {
	if n < 0 || dh < 0 || n > 0 && len(x) < (n-1)*ldx+dh || n > 1 && ldx < dh {
		panic(fmt.Sprintf("kernels: positions: %d rows of %d: %d elements at stride %d", n, dh, len(x), ldx))
	}
}

// positionStride is the row stride of a block's products with positions: those that the block's rows see, from the
// start of a panel on, in whole tiles.
func positionStride(rows, t int) int { return scoreStride(t + rows + panelCols) }

// RelativeAttentionScratch returns how many floats of scratch [RelativeAttention] needs for rows queries of width dh
// against t keys.
func RelativeAttentionScratch(rows, t, dh int) int {
	rows = min(rows, attentionRows)
	return rows * (dh + scoreStride(t) + positionStride(rows, t) + attentionCols)
}

// RelativeAttention computes one head with relative positions: dst[i] = softmax over j of scale * ((q[i]+u)·k[j] +
// (q[i]+v)·pos[first-i+j]), times the values, for i in [0,rows). Arguments are those of [Attention] without probs; u
// and v hold the packed heads' width, and scratch at least [RelativeAttentionScratch] floats. The positions
// [first-rows+1, first+Len) must be there. A row's bits depend on its query, on the keys and values, and on the
// positions that it meets.
func RelativeAttention(dst []float32, ldd int, q []float32, ldq, rows int, kv *PackedKV, pos *PackedPositions, first int, u, v []float32, scale float32, scratch []float32) {
	t, dh := kv.t, kv.dh
	if rows <= 0 || dh == 0 {
		return
	}
	if rows > 1 && (ldd < dh || ldq < dh) || len(dst) < (rows-1)*ldd+dh || len(q) < (rows-1)*ldq+dh || len(scratch) < RelativeAttentionScratch(rows, t, dh) {
		panic(fmt.Sprintf("kernels: RelativeAttention: %d rows of %d: dst %d at stride %d, q %d at stride %d, scratch %d of %d",
			rows, dh, len(dst), ldd, len(q), ldq, len(scratch), RelativeAttentionScratch(rows, t, dh)))
	}
	checkRelative(rows, t, dh, first, pos.n, pos.dh, u, v)
	for i := 0; i < rows; i += attentionRows {
		b := relativeBlock{min(attentionRows, rows-i), kv, pos, first - i, scratch}
		b.scores(q[i*ldq:], ldq, u, v)
		b.weigh(dst[i*ldd:], ldd, scale)
	}
}

// checkRelative panics unless n positions of a width are those that queries from position first on meet.
func checkRelative(rows, t, dh, first, n, width int, u, v []float32) {
	if width != dh || len(u) != dh || len(v) != dh || first-rows+1 < 0 || first+t > n {
		panic(fmt.Sprintf("kernels: relative attention: %d queries and %d keys of width %d from position %d of %d, of width %d; biases of %d and %d",
			rows, t, dh, first, n, width, len(u), len(v)))
	}
}

// relativeBlock is RelativeAttention for at most attentionRows rows. Its scratch is the scores, [rows][scoreStride],
// and behind them what scores and weigh need in turn.
type relativeBlock struct {
	rows    int
	kv      *PackedKV
	pos     *PackedPositions
	first   int
	scratch []float32
}

// scores leaves the scores, not yet scaled. Products with positions come first, for every position that any of the rows
// sees; each row then takes its own stretch of them, one further left than the row before, as the sums that the
// products with keys are added to.
func (b *relativeBlock) scores(q []float32, ldq int, u, v []float32) {
	t, dh := b.kv.t, b.kv.dh
	lds, ldp := scoreStride(t), positionStride(b.rows, t)
	scores := b.scratch[:b.rows*lds]
	met := b.scratch[len(scores):][:b.rows*ldp]
	biased := b.scratch[len(scores)+len(met):][:b.rows*dh]

	addBias(biased, q, ldq, b.rows, v)
	from := (b.first - b.rows + 1) / panelCols * panelCols
	for j := 0; j < b.first+t-from; j += tileCols {
		tile(met[j:], ldp, biased, dh, b.rows, b.pos.p[(from+j)*dh:], dh*panelCols, dh, tileCols*dh, false)
	}
	for i := range b.rows {
		row := scores[i*lds:][:roundUp(t, tileCols)]
		clear(row[copy(row, met[i*ldp+b.first-i-from:][:t]):])
	}
	addBias(biased, q, ldq, b.rows, u)
	for j := 0; j < t; j += tileCols {
		tile(scores[j:], lds, biased, dh, b.rows, b.kv.k[j*dh:], dh*panelCols, dh, tileCols*dh, true)
	}
}

// addBias sets dst, [rows][len(bias)], to the queries plus a bias.
func addBias(dst, q []float32, ldq, rows int, bias []float32) {
	for i := range rows {
		add(dst[i*len(bias):][:len(bias)], q[i*ldq:][:len(bias)], bias)
	}
}

// weigh sets dst to the values weighed by the softmax of the scores.
func (b *relativeBlock) weigh(dst []float32, ldd int, scale float32) {
	t, dh, lds := b.kv.t, b.kv.dh, scoreStride(b.kv.t)
	scores, sums := b.scratch[:b.rows*lds], b.scratch[b.rows*lds:]
	var inv [attentionRows]float32
	for i := range b.rows {
		row := scores[i*lds:][:t]
		inv[i] = 1
		if t > 0 {
			inv[i] = 1 / expSum(row, rowMax(row), scale)
		}
	}
	for j := 0; j < dh; j += attentionCols {
		cols := min(attentionCols, dh-j)
		clear(sums[:b.rows*attentionCols])
		for k := 0; k < t; k += attentionK {
			for c := 0; c < cols; c += tileCols {
				values := b.kv.v[(j+c)*t+k*panelCols:]
				tile(sums[c:], attentionCols, scores[k:], lds, b.rows, values, t*panelCols, min(attentionK, t-k), attentionK*panelCols, true)
			}
		}
		for i := range b.rows {
			d := dst[i*ldd+j:][:cols]
			copy(d, sums[i*attentionCols:])
			Scale(d, inv[i])
		}
	}
}
