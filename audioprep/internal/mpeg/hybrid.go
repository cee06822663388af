package mpeg

import "math"

// The hybrid filter bank: each of the 32 subbands of the polyphase filter is
// split further by a modified DCT, into 18 lines for long blocks or 6 for each
// of three short ones. Here the way back. ISO/IEC 11172-3, section 2.4.3.4.10.

// reorder puts the lines of short blocks, which are coded window by window,
// side by side: line i of window w at 3i+w of its band.
func (g *granule) reorder(limit int) {
	l := g.layout
	if l.long == len(l.window) {
		return
	}
	var tmp [granuleLines]float32
	last := 0
	for b := l.long; b < len(l.window); b += 3 {
		from, width := l.start[b], l.start[b+1]-l.start[b]
		if from >= limit {
			break
		}
		for w := range 3 {
			for i := range width {
				tmp[from+3*i+w] = g.lines[from+w*width+i]
			}
		}
		last = from + 3*width
	}
	from := l.start[l.long]
	if last > from {
		copy(g.lines[from:last], tmp[from:last])
	}
	if g.nonzero > from {
		g.nonzero = last // within a band, any line may be set now
	}
}

// aliasCS and aliasCA undo the overlap of neighbouring subbands. Table B.9.
var aliasCS, aliasCA = func() (cs, ca [8]float32) {
	for i, c := range [8]float64{-0.6, -0.535, -0.33, -0.185, -0.095, -0.041, -0.0142, -0.0037} {
		n := math.Sqrt(1 + c*c)
		cs[i], ca[i] = float32(1/n), float32(c/n)
	}
	return cs, ca
}()

// antialias works on the borders between long subbands, up to subband top.
func (g *granule) antialias(top int) {
	n := g.layout.longSubbands
	for sb := 1; sb < min(n, top+1, subbands); sb++ {
		at := sb * bandLines
		for i := range 8 {
			up, down := g.lines[at-1-i], g.lines[at+i]
			g.lines[at-1-i] = up*aliasCS[i] - down*aliasCA[i]
			g.lines[at+i] = down*aliasCS[i] + up*aliasCA[i]
		}
	}
}

// longCos and shortCos are the inverse transforms. Of the 36 outputs of the
// long one only 18 differ but for their sign: the first half is antisymmetric,
// the second symmetric. Kept are outputs 0-8 and 18-26; of the short one's 12
// likewise 0-2 and 6-8.
var longCos, shortCos = func() (long [18][18]float32, short [6][6]float32) {
	for i := range 18 {
		n := i
		if i >= 9 {
			n = i + 9
		}
		for k := range 18 {
			long[i][k] = float32(math.Cos(math.Pi / 72 * float64((2*n+19)*(2*k+1))))
		}
	}
	for i := range 6 {
		n := i
		if i >= 3 {
			n = i + 3
		}
		for k := range 6 {
			short[i][k] = float32(math.Cos(math.Pi / 24 * float64((2*n+7)*(2*k+1))))
		}
	}
	return long, short
}()

// blockWindows is by block type: normal, start, short (12 values), stop.
var blockWindows = func() (w [4][36]float32) {
	sin36 := func(i int) float32 { return float32(math.Sin(math.Pi / 36 * (float64(i) + 0.5))) }
	sin12 := func(i int) float32 { return float32(math.Sin(math.Pi / 12 * (float64(i) + 0.5))) }
	for i := range 36 {
		w[0][i] = sin36(i)
		switch {
		case i < 18:
			w[1][i] = sin36(i)
		case i < 24:
			w[1][i] = 1
		case i < 30:
			w[1][i] = sin12(i - 18)
		}
		switch {
		case i >= 18:
			w[3][i] = sin36(i)
		case i >= 12:
			w[3][i] = 1
		case i >= 6:
			w[3][i] = sin12(i - 6)
		}
		if i < 12 {
			w[2][i] = sin12(i)
		}
	}
	return w
}()

// overlap is the second half of the last transform of each subband.
type overlap [subbands][bandLines]float32

// hybrid transforms the lines of g into samples of the subbands below top:
// out[t][sb]. Subbands from used on have no lines but may ring on.
func (g *granule) hybrid(o *overlap, out *[bandLines][subbands]float32, used, top int) {
	var y [36]float32
	for sb := range top {
		over := &o[sb]
		if sb >= used {
			for t := range bandLines {
				out[t][sb] = over[t]
			}
			clear(over[:])
		} else {
			x := (*[bandLines]float32)(g.lines[sb*bandLines:])
			kind := g.blockType
			if sb < g.layout.longSubbands && kind == 2 {
				kind = 0
			}
			if kind == 2 {
				imdctShort(x, &y)
			} else {
				imdctLong(x, &y, &blockWindows[kind])
			}
			for t := range bandLines {
				out[t][sb] = y[t] + over[t]
				over[t] = y[18+t]
			}
		}
		// Every other subband runs backwards in frequency.
		if sb%2 == 1 {
			for t := 1; t < bandLines; t += 2 {
				out[t][sb] = -out[t][sb]
			}
		}
	}
}

func imdctLong(x *[18]float32, y, window *[36]float32) {
	for i := range 9 {
		a, b := &longCos[i], &longCos[9+i]
		var p, q, r, s float32
		for k := 0; k < 18; k += 2 {
			p += x[k] * a[k]
			q += x[k+1] * a[k+1]
			r += x[k] * b[k]
			s += x[k+1] * b[k+1]
		}
		p, r = p+q, r+s
		y[i] = p * window[i]
		y[17-i] = -p * window[17-i]
		y[18+i] = r * window[18+i]
		y[35-i] = r * window[35-i]
	}
}

func imdctShort(x *[18]float32, y *[36]float32) {
	*y = [36]float32{}
	window := &blockWindows[2]
	for w := range 3 {
		at := 6 + 6*w
		for i := range 3 {
			var p, r float32
			for k := range 6 {
				p += x[3*k+w] * shortCos[i][k]
				r += x[3*k+w] * shortCos[3+i][k]
			}
			y[at+i] += p * window[i]
			y[at+5-i] -= p * window[5-i]
			y[at+6+i] += r * window[6+i]
			y[at+11-i] += r * window[11-i]
		}
	}
}
