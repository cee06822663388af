package mpeg

// Scale factor bands: the lines that share a scale factor. ISO/IEC 11172-3,
// table B.8; ISO/IEC 13818-3, table B.2. MPEG-2.5 at 11.025 and 12 kHz uses
// those of 16 kHz; at 8 kHz it has its own.
//
// Rows: 44.1, 48, 32; 22.05, 24, 16; 11.025, 12, 8 kHz.
var longBands = [9][23]int{
	{0, 4, 8, 12, 16, 20, 24, 30, 36, 44, 52, 62, 74, 90, 110, 134, 162, 196, 238, 288, 342, 418, 576},
	{0, 4, 8, 12, 16, 20, 24, 30, 36, 42, 50, 60, 72, 88, 106, 128, 156, 190, 230, 276, 330, 384, 576},
	{0, 4, 8, 12, 16, 20, 24, 30, 36, 44, 54, 66, 82, 102, 126, 156, 194, 240, 296, 364, 448, 550, 576},
	{0, 6, 12, 18, 24, 30, 36, 44, 54, 66, 80, 96, 116, 140, 168, 200, 238, 284, 336, 396, 464, 522, 576},
	{0, 6, 12, 18, 24, 30, 36, 44, 54, 66, 80, 96, 114, 136, 162, 194, 232, 278, 332, 394, 464, 540, 576},
	{0, 6, 12, 18, 24, 30, 36, 44, 54, 66, 80, 96, 116, 140, 168, 200, 238, 284, 336, 396, 464, 522, 576},
	{0, 6, 12, 18, 24, 30, 36, 44, 54, 66, 80, 96, 116, 140, 168, 200, 238, 284, 336, 396, 464, 522, 576},
	{0, 6, 12, 18, 24, 30, 36, 44, 54, 66, 80, 96, 116, 140, 168, 200, 238, 284, 336, 396, 464, 522, 576},
	{0, 12, 24, 36, 48, 60, 72, 88, 108, 132, 160, 192, 232, 280, 336, 400, 476, 566, 568, 570, 572, 574, 576},
}

// shortBands is for each of the three short windows.
var shortBands = [9][14]int{
	{0, 4, 8, 12, 16, 22, 30, 40, 52, 66, 84, 106, 136, 192},
	{0, 4, 8, 12, 16, 22, 28, 38, 50, 64, 80, 100, 126, 192},
	{0, 4, 8, 12, 16, 22, 30, 42, 58, 78, 104, 138, 180, 192},
	{0, 4, 8, 12, 18, 24, 32, 42, 56, 74, 100, 132, 174, 192},
	{0, 4, 8, 12, 18, 26, 36, 48, 62, 80, 104, 136, 180, 192},
	{0, 4, 8, 12, 18, 26, 36, 48, 62, 80, 104, 134, 174, 192},
	{0, 4, 8, 12, 18, 26, 36, 48, 62, 80, 104, 134, 174, 192},
	{0, 4, 8, 12, 18, 26, 36, 48, 62, 80, 104, 134, 174, 192},
	{0, 8, 16, 24, 36, 52, 72, 96, 124, 160, 162, 164, 166, 192},
}

func bandRow(h Header) int {
	switch h.Version {
	case 2:
		return 3 + h.rateIndex
	case 25:
		return 6 + h.rateIndex
	}
	return h.rateIndex
}

// bandLayout is the bands of a granule in the order of the bit stream: a long
// band once, a short band once for each window.
type bandLayout struct {
	start  []int  // of each band, and the end
	window []int8 // of each band: -1 long, else 0 to 2
	long   int    // number of long bands at the front
	// longSubbands is how many subbands at the front are long: 32, 0, or in
	// mixed blocks those that the long bands fill.
	longSubbands int
}

// layouts is indexed by row and kind: long, short, mixed.
var layouts = makeLayouts()

func makeLayouts() (all [9][3]*bandLayout) {
	for row := range all {
		for kind := range all[row] {
			l := &bandLayout{start: []int{0}}
			add := func(width, window int) {
				l.start = append(l.start, l.start[len(l.start)-1]+width)
				l.window = append(l.window, int8(window))
			}
			firstShort := 0
			switch kind {
			case 0:
				l.long, firstShort = 22, 13
			case 2:
				// The long bands of a mixed block reach as far as the first
				// three short ones.
				for longBands[row][l.long] < 3*shortBands[row][3] {
					l.long++
				}
				firstShort = 3
			}
			for b := range l.long {
				add(longBands[row][b+1]-longBands[row][b], -1)
			}
			for b := firstShort; b < 13; b++ {
				for w := range 3 {
					add(shortBands[row][b+1]-shortBands[row][b], w)
				}
			}
			l.longSubbands = l.start[l.long] / bandLines
			all[row][kind] = l
		}
	}
	return all
}

func layoutFor(h Header, short, mixed bool) *bandLayout {
	kind := 0
	if mixed {
		kind = 2
	} else if short {
		kind = 1
	}
	return layouts[bandRow(h)][kind]
}
