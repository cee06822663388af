package ps

import "math"

const (
	maxBands  = 91
	splitMost = 5 // bands of the filter bank that are split
	allPasses = 3
)

// layout is one of the two ways in which the lowest bands are split: for up to 20 and for 34
// bands of parameters.
type layout struct {
	bands      int   // in all
	parameters int   // bands of parameters
	phases     int   // of them that have phases
	parts      []int // how many parts each of the lowest bands has
	of         []int // band of parameters of each band
	// mirrored are bands of negative frequency, whose phases turn the other way.
	mirroredFrom, mirroredTo int
	// Of the decorrelation: how many bands have all-pass filters, from where on these fade,
	// and where the delay of the bands above becomes short.
	allPass, fade, short int
	delay                []complex64            // a fraction of a column, of the bands with all-pass filters
	links                [][allPasses]complex64 // likewise, in each filter
}

var layouts = [2]layout{
	newLayout(layout{
		bands: 71, parameters: 20, phases: 11, parts: []int{6, 2, 2},
		mirroredFrom: 0, mirroredTo: 2, allPass: 30, fade: 10, short: 42,
		// Table 8.48.
		of: []int{1, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 14, 15, 15, 15, 16, 16, 16, 16, 17, 17, 17, 17, 17},
	}, 18, 12, []float64{-3, -1, 1, 3, 5, 7, 10, 14, 18, 22}, 8, 6.5),
	newLayout(layout{
		bands: 91, parameters: 34, phases: 17, parts: []int{12, 8, 4, 4, 4},
		mirroredFrom: 9, mirroredTo: 14, allPass: 50, fade: 32, short: 62,
		// Table 8.49.
		of: []int{
			0, 1, 2, 3, 4, 5, 6, 6, 7, 2, 1, 0, 10, 10, 4, 5, 6, 7, 8, 9, 10, 11, 12, 9, 14, 11, 12, 13, 14, 15, 16, 13,
			16, 17, 18, 19, 20, 21, 22, 22, 23, 23, 24, 24, 25, 25, 26, 26, 27, 27, 27, 28, 28, 28, 29, 29, 29, 30, 30, 30,
			31, 31, 31, 31, 32, 32, 32, 32,
		},
	}, 33, 0, []float64{
		2, 6, 10, 14, 18, 22, 26, 30, 34, -10, -6, -2, 51, 57, 15, 21, 27, 33, 39, 45, 54, 66, 78, 42, 102, 66, 78, 90,
		102, 114, 126, 90,
	}, 24, 26.5),
}

// newLayout fills in the rest: of the bands of parameters, next for the following times bands
// and the one above for all others; and delays, for bands centred at centres/unit, or further
// up at their number less above (table 8.47).
func newLayout(l layout, next, times int, centres []float64, unit, above float64) layout {
	for range times {
		l.of = append(l.of, next)
	}
	for len(l.of) < l.bands {
		l.of = append(l.of, l.parameters-1)
	}
	for k := range l.allPass {
		centre := float64(k) - above
		if k < len(centres) {
			centre = centres[k] / unit
		}
		turn := func(by float64) complex64 {
			sin, cos := math.Sincos(-math.Pi * by * centre)
			return complex(float32(cos), float32(sin))
		}
		l.delay = append(l.delay, turn(0.39))
		l.links = append(l.links, [allPasses]complex64{turn(0.43), turn(0.75), turn(0.347)})
	}
	return l
}

// from34 and from20 say which bands' mean becomes a band of the other layout (tables 8.46
// and 8.45).
var (
	from34 = [20][]int{
		{0, 0, 1}, {1, 2, 2}, {3, 3, 4}, {4, 5, 5}, {6, 7}, {8, 9}, {10}, {11}, {12, 13}, {14, 15}, {16}, {17}, {18}, {19},
		{20, 21}, {22, 23}, {24, 25}, {26, 27}, {28, 29, 30, 31}, {32, 33},
	}
	from20 = [34][]int{
		{0}, {0, 1}, {1}, {2}, {2, 3}, {3}, {4}, {4}, {5}, {5}, {6}, {7}, {8}, {8}, {9}, {9}, {10}, {11}, {12}, {13}, {14}, {14},
		{15}, {15}, {16}, {16}, {17}, {17}, {18}, {18}, {18}, {18}, {19}, {19},
	}
)

// mapped returns parameters of n bands in those of the layout.
func (l *layout) mapped(in *row, n int) row {
	from := *in
	if n == 10 || n == 5 {
		for b := range from {
			from[b] = in[b/2]
			if b >= 2*n {
				from[b] = 0
			}
		}
		n = 20
	}
	wide := n == 34 || n == 17
	if wide == (l.parameters == 34) {
		return from
	}
	var out row
	for b := range l.parameters {
		parts := from20[b]
		if wide {
			parts = from34[b]
		}
		sum := 0
		for _, p := range parts {
			sum += from[p]
		}
		out[b] = sum / len(parts)
	}
	return out
}
