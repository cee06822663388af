package sbr

import (
	"math"
	"slices"
)

const (
	maxBands      = 48 // that are copied
	maxNoiseBands = 5
	maxPatches    = 6
)

// bandTables say which bands of the filter bank form a band of the envelopes, in two
// resolutions, and of everything else. Each table holds where its bands begin, and the end
// (section 4.6.18.3).
type bandTables struct {
	master  []int
	high    []int
	low     []int
	noise   []int
	limits  []int
	k0      int // where the master table begins
	kx, m   int // first copied band, and their number
	patches []patch
}

// patch is a stretch of bands that is copied upwards.
type patch struct{ from, n int }

// startOffsets is by rate: 16, 22.05, 24, 32, 44.1 to 64, and 88.2 kHz and more (table 4.82).
var startOffsets = [6][16]int{
	{-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7},
	{-5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 9, 11, 13},
	{-5, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 9, 11, 13, 16},
	{-6, -4, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 9, 11, 13, 16},
	{-4, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 9, 11, 13, 16, 20},
	{-2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 9, 11, 13, 16, 20, 24},
}

func offsetsFor(rate int) *[16]int {
	for i, most := range [5]int{16000, 22050, 24000, 32000, 64000} {
		if rate <= most {
			return &startOffsets[i]
		}
	}
	return &startOffsets[5]
}

// bandAt returns the band at hz, the nearest one.
func bandAt(hz, rate int) int { return (hz*2*bands + rate/2) / rate }

// newBandTables makes the tables for an output rate.
func newBandTables(rate int, p bandParameters) (bandTables, error) {
	var f bandTables
	lowest := 5000
	switch {
	case rate < 32000:
		lowest = 3000
	case rate < 64000:
		lowest = 4000
	}
	f.k0 = bandAt(lowest, rate) + offsetsFor(rate)[p.start]
	k2 := stopBand(bandAt(2*lowest, rate), f.k0, p.stop)
	widest := maxBands
	switch {
	case rate >= 48000:
		widest = 32
	case rate > 32000:
		widest = 35
	}
	if f.k0 < 1 || k2 <= f.k0 || k2-f.k0 > widest {
		return f, ErrPayload
	}
	if p.scale == 0 {
		f.master = evenBands(f.k0, k2, p.alter)
	} else {
		f.master = octaveBands(f.k0, k2, p.scale, p.alter)
	}
	if f.master == nil || p.crossover >= len(f.master)-1 {
		return f, ErrPayload
	}
	f.high = f.master[p.crossover:]
	f.kx = f.high[0]
	f.m = f.high[len(f.high)-1] - f.kx
	if f.kx > coreBands {
		return f, ErrPayload
	}
	f.low = everySecond(f.high)
	if !f.setNoise(p.noiseBands) || !f.setPatches(rate) {
		return f, ErrPayload
	}
	return f, nil
}

// stopBand returns the end of the master table (section 4.6.18.3.2.1).
func stopBand(first, k0, stop int) int {
	switch stop {
	case 14:
		return min(bands, 2*k0)
	case 15:
		return min(bands, 3*k0)
	}
	widths := geometric(first, bands, 13)
	slices.Sort(widths)
	for _, w := range widths[:stop] {
		first += w
	}
	return min(bands, first)
}

// geometric returns the widths of n bands from a to b whose borders grow by a factor.
func geometric(a, b, n int) []int {
	widths := make([]int, n)
	last := a
	for i := range widths {
		next := int(math.RoundToEven(float64(a) * math.Pow(float64(b)/float64(a), float64(i+1)/float64(n))))
		widths[i] = next - last
		last = next
	}
	return widths
}

// borders adds widths up from the band at.
func borders(at int, widths []int) []int {
	b := []int{at}
	for _, w := range widths {
		at += w
		b = append(b, at)
	}
	return b
}

// evenBands is the master table of bands one or two wide (section 4.6.18.3.2.2).
func evenBands(k0, k2 int, double bool) []int {
	width, n := 1, (k2-k0)/2*2
	if double {
		width, n = 2, (k2-k0+2)/4*2
	}
	if n < 1 {
		return nil
	}
	widths := slices.Repeat([]int{width}, n)
	for rest, i := k2-k0-n*width, 0; rest < 0 && i < n; rest, i = rest+1, i+1 {
		widths[i]--
	}
	if rest := k2 - k0 - n*width; rest > 0 {
		for i := n - 1; rest > 0 && i >= 0; rest, i = rest-1, i-1 {
			widths[i]++
		}
	}
	return borders(k0, widths)
}

// octaveBands is the master table of so many bands an octave; beyond a little more than an
// octave they are wider (section 4.6.18.3.2.2).
func octaveBands(k0, k2, scale int, alter bool) []int {
	half := float64(7 - scale)
	k1 := k2
	twoRegions := 49*k2 > 110*k0 // k2/k0 > 2.2449
	if twoRegions {
		k1 = 2 * k0
	}
	count := func(a, b int, perOctave float64) int {
		return 2 * int(math.RoundToEven(perOctave*math.Log2(float64(b)/float64(a))))
	}
	n := count(k0, k1, half)
	if n < 1 {
		return nil
	}
	lower := geometric(k0, k1, n)
	slices.Sort(lower)
	if lower[0] <= 0 {
		return nil
	}
	if !twoRegions {
		return borders(k0, lower)
	}
	if alter {
		half /= 1.3
	}
	if n = count(k1, k2, half); n < 1 {
		return borders(k0, lower)
	}
	upper := geometric(k1, k2, n)
	slices.Sort(upper)
	if widest := lower[len(lower)-1]; upper[0] < widest {
		change := min(widest-upper[0], (upper[n-1]-upper[0])/2)
		upper[0] += change
		upper[n-1] -= change
		slices.Sort(upper)
	}
	if upper[0] <= 0 {
		return nil
	}
	return borders(k0, append(lower, upper...))
}

// everySecond is the table of low resolution.
func everySecond(high []int) []int {
	low := []int{high[0]}
	for i := 2 - (len(high)-1)%2; i < len(high); i += 2 {
		low = append(low, high[i])
	}
	return low
}

// setNoise makes the table of noise bands (section 4.6.18.3.2.3).
func (f *bandTables) setNoise(perOctave int) bool {
	octaves := math.Log2(float64(f.kx+f.m) / float64(f.kx))
	n := max(1, int(math.RoundToEven(float64(perOctave)*octaves)))
	if n > maxNoiseBands {
		return false
	}
	f.noise = []int{f.low[0]}
	at, last := 0, len(f.low)-1
	for i := range n {
		at += (last - at) / (n - i)
		f.noise = append(f.noise, f.low[at])
	}
	return true
}

// setPatches chooses what is copied where (section 4.6.18.6.3, figure 4.48).
func (f *bandTables) setPatches(rate int) bool {
	goal := (2048000 + rate/2) / rate // 16 kHz
	end := f.kx + f.m
	last := len(f.master) - 1
	k := last
	if goal < end {
		k = 0
		for f.master[k] < goal {
			k++
		}
	}
	from, to := f.k0, f.kx // what may be copied ends at from, what is filled at to
	for sb, rounds := 0, 0; sb != end; rounds++ {
		odd := 0
		for i := k; i == k || i >= 0 && sb > f.k0-1+from-odd; i-- {
			sb = f.master[i]
			odd = (sb + f.k0) & 1
		}
		n := max(sb-to, 0)
		first := f.k0 - odd - n
		if len(f.patches) == maxPatches || rounds > 2*maxPatches || first < 0 {
			return false
		}
		if n > 0 {
			f.patches = append(f.patches, patch{first, n})
			to, from = sb, sb
		} else {
			from = f.kx
		}
		if f.master[k]-sb < 3 {
			k = last
		}
	}
	if p := len(f.patches); p > 1 && f.patches[p-1].n < 3 {
		f.patches = f.patches[:p-1]
	}
	return len(f.patches) > 0
}

// setLimits makes the table of limiter bands, 1.2, 2 or 3 an octave, or one in all
// (section 4.6.18.3.2.3). Borders of patches stay where they are.
func (f *bandTables) setLimits(kind int) {
	if kind == 0 {
		f.limits = []int{f.low[0], f.low[len(f.low)-1]}
		return
	}
	perOctave := [4]float64{0, 1.2, 2, 3}[kind]
	edges := []int{f.kx}
	for _, p := range f.patches {
		edges = append(edges, edges[len(edges)-1]+p.n)
	}
	f.limits = append(slices.Clone(f.low), edges[1:len(edges)-1]...)
	slices.Sort(f.limits)
	l := f.limits
	for i := 1; i < len(l); {
		if perOctave*math.Log2(float64(l[i])/float64(l[i-1])) >= 0.49 {
			i++
			continue
		}
		switch {
		case l[i] == l[i-1] || !slices.Contains(edges, l[i]):
			l = slices.Delete(l, i, i+1)
		case !slices.Contains(edges, l[i-1]):
			l = slices.Delete(l, i-1, i)
		default:
			i++
		}
	}
	f.limits = l
}
