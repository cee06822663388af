package mpeg

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
	r := bitReader{b: b}
	lsf := h.Version != 1
	if lsf {
		s.mainBegin = r.take(8)
		r.take(h.Channels)
	} else {
		s.mainBegin = r.take(9)
		r.take([3]int{0, 5, 3}[h.Channels])
		for c := range h.Channels {
			for i := range s.share[c] {
				s.share[c][i] = r.flag()
			}
		}
	}
	for g := range h.granules() {
		for c := range h.Channels {
			s.gr[g][c].read(&r, h, lsf)
		}
	}
}

func (g *granule) read(r *bitReader, h Header, lsf bool) {
	g.bits = r.take(12)
	g.bigValues = min(r.take(9), granuleLines/2)
	g.gain = r.take(8)
	if lsf {
		g.scaleCode = r.take(9)
	} else {
		g.scaleCode = r.take(4)
	}
	g.blockType, g.mixed, g.subblockGain = 0, false, [3]int{}
	var regions [2]int
	if g.switched = r.flag(); g.switched {
		g.blockType = r.take(2)
		g.mixed = r.flag()
		g.table = [3]int{r.take(5), r.take(5), 0}
		for i := range g.subblockGain {
			g.subblockGain[i] = r.take(3)
		}
	} else {
		g.table = [3]int{r.take(5), r.take(5), r.take(5)}
		regions[0] = r.take(4) + 1
		regions[1] = regions[0] + r.take(3) + 1
	}
	g.preflag = !lsf && r.flag()
	g.coarse = r.flag()
	g.quadTable = r.take(1)

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
