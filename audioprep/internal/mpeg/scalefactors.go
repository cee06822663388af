package mpeg

import "hark/audioprep/internal/bits"

// slenMPEG1 is the number of bits of the scale factors in the lower and the
// upper bands, by scalefac_compress. ISO/IEC 11172-3, section 2.4.2.7.
var slenMPEG1 = [16][2]int{
	{0, 0}, {0, 1}, {0, 2}, {0, 3}, {3, 0}, {1, 1}, {1, 2}, {1, 3},
	{2, 1}, {2, 2}, {2, 3}, {3, 1}, {3, 2}, {3, 3}, {4, 2}, {4, 3},
}

// readScaleMPEG1 reads the scale factors of one granule. first is the channel's
// first granule when this is the second, whose scale factors may be shared.
func (g *granule) readScaleMPEG1(r *bits.Reader, share [4]bool, first *granule) {
	clear(g.scale[:])
	clear(g.illegal[:])
	slen := slenMPEG1[g.scaleCode]
	l := g.layout
	if l.long < 22 {
		// Short and mixed: the lower length up to short band 5. Band 12 has none.
		split := 18
		if g.mixed {
			split = l.long + 9
		}
		for i := range len(l.window) - 3 {
			n := slen[0]
			if i >= split {
				n = slen[1]
			}
			g.scale[i] = uint8(r.Take(n))
		}
		return
	}
	for part, to := range [4]int{6, 11, 16, 21} {
		from := [4]int{0, 6, 11, 16}[part]
		n := slen[part/2]
		for i := from; i < to; i++ {
			if first != nil && share[part] {
				g.scale[i] = first.scale[i]
			} else {
				g.scale[i] = uint8(r.Take(n))
			}
		}
	}
}

// scaleCounts is how many scale factors have which of four lengths, by the
// range of scalefac_compress and the kind of block. ISO/IEC 13818-3, section
// 2.4.3.2.
var scaleCounts = [6][3][4]int{
	{{6, 5, 5, 5}, {9, 9, 9, 9}, {6, 9, 9, 9}},
	{{6, 5, 7, 3}, {9, 9, 12, 6}, {6, 9, 12, 6}},
	{{11, 10, 0, 0}, {18, 18, 0, 0}, {15, 18, 0, 0}},
	{{7, 7, 7, 0}, {12, 12, 12, 0}, {6, 15, 12, 0}},
	{{6, 6, 6, 3}, {12, 9, 9, 6}, {6, 12, 9, 6}},
	{{8, 8, 5, 0}, {15, 12, 9, 0}, {6, 18, 9, 0}},
}

// readScaleMPEG2 reads the scale factors of one granule; right says that it is
// the right channel of intensity stereo, whose scale factors are positions.
func (g *granule) readScaleMPEG2(r *bits.Reader, right bool) {
	clear(g.scale[:])
	clear(g.illegal[:])
	var slen [4]int
	row, c := 0, g.scaleCode
	if right {
		g.position = c & 1
		switch c >>= 1; {
		case c < 180:
			row, slen = 3, [4]int{c / 36, c % 36 / 6, c % 6, 0}
		case c < 244:
			c -= 180
			row, slen = 4, [4]int{c & 63 >> 4, c & 15 >> 2, c & 3, 0}
		default:
			c -= 244
			row, slen = 5, [4]int{c / 3, c % 3, 0, 0}
		}
	} else {
		switch {
		case c < 400:
			row, slen = 0, [4]int{c >> 4 / 5, c >> 4 % 5, c & 15 >> 2, c & 3}
		case c < 500:
			c -= 400
			row, slen = 1, [4]int{c >> 2 / 5, c >> 2 % 5, c & 3, 0}
		default:
			c -= 500
			row, slen = 2, [4]int{c / 3, c % 3, 0, 0}
			g.preflag = true
		}
	}
	kind := 0
	if g.mixed {
		kind = 2
	} else if g.blockType == 2 {
		kind = 1
	}
	i := 0
	for part, n := range scaleCounts[row][kind] {
		for range n {
			g.scale[i] = uint8(r.Take(slen[part]))
			g.illegal[i] = slen[part] > 0 && int(g.scale[i]) == 1<<slen[part]-1
			i++
		}
	}
}
