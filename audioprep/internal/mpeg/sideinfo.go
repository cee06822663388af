package mpeg

import "hark/audioprep/internal/bits"

// A granule is 576 frequency lines of one channel; a frame has two of them in
// MPEG-1, one in MPEG-2 and 2.5.
const (
	granuleLines = 576
	subbands     = 32
	bandLines    = 18 // lines of one subband
)

// granule is the side information of one granule of one channel, and what is
// decoded by it.
type granule struct {
	bits         int // of scale factors and Huffman codes
	bigValues    int // pairs coded with the big tables
	gain         int
	scaleCode    int // scalefac_compress
	switched     bool
	blockType    int
	mixed        bool
	table        [3]int
	subblockGain [3]int
	region       [2]int // line where the second and third table begin
	preflag      bool
	coarse       bool // scale factors count double
	quadTable    int

	layout   *bandLayout
	scale    [39]uint8
	illegal  [39]bool // as intensity position
	nonzero  int      // lines from here on are zero
	lines    [granuleLines]float32
	position int // intensity_scale of MPEG-2
}

// sideInfo is the side information of a frame.
type sideInfo struct {
	mainBegin int        // bytes that the data starts before this frame's
	share     [2][4]bool // [channel]: second granule uses the first's scale factors
	gr        [2][2]granule
}

// read parses the side information in b.
func (s *sideInfo) read(h Header, b []byte) {
	r := bits.Reader{Data: b}
	lsf := h.Version != 1
	if lsf {
		s.mainBegin = r.Take(8)
		r.Take(h.Channels)
	} else {
		s.mainBegin = r.Take(9)
		r.Take([3]int{0, 5, 3}[h.Channels])
		for c := range h.Channels {
			for i := range s.share[c] {
				s.share[c][i] = r.Flag()
			}
		}
	}
	for g := range h.granules() {
		for c := range h.Channels {
			s.gr[g][c].read(&r, h, lsf)
		}
	}
}

func (g *granule) read(r *bits.Reader, h Header, lsf bool) {
	g.bits = r.Take(12)
	g.bigValues = min(r.Take(9), granuleLines/2)
	g.gain = r.Take(8)
	if lsf {
		g.scaleCode = r.Take(9)
	} else {
		g.scaleCode = r.Take(4)
	}
	g.blockType, g.mixed, g.subblockGain = 0, false, [3]int{}
	var regions [2]int
	if g.switched = r.Flag(); g.switched {
		g.blockType = r.Take(2)
		g.mixed = r.Flag()
		g.table = [3]int{r.Take(5), r.Take(5), 0}
		for i := range g.subblockGain {
			g.subblockGain[i] = r.Take(3)
		}
	} else {
		g.table = [3]int{r.Take(5), r.Take(5), r.Take(5)}
		regions[0] = r.Take(4) + 1
		regions[1] = regions[0] + r.Take(3) + 1
	}
	g.preflag = !lsf && r.Flag()
	g.coarse = r.Flag()
	g.quadTable = r.Take(1)

	short := g.blockType == 2
	g.mixed = g.mixed && short
	g.layout = layoutFor(h, short, g.mixed)
	long := &longBands[bandRow(h)]
	switch {
	case !g.switched:
		g.region = [2]int{long[min(regions[0], 22)], long[min(regions[1], 22)]}
	case short:
		g.region = [2]int{3 * shortBands[bandRow(h)][3], granuleLines}
	default:
		g.region = [2]int{long[8], granuleLines}
	}
}
