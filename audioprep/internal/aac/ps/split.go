package ps

import "math"

// splitter splits the lowest bands of the filter bank into finer ones, by filters of 13
// columns (section 8.6.4.3).
type splitter struct {
	in [splitMost][2*ahead + columns]complex64
}

// The filters are one filter, of which half and the middle are given, moved to the middle
// of each part (table 8.38 and 8.39).
var (
	filters8of20 = newFilters(8, [7]float64{
		0.00746082949812, 0.02270420949825, 0.04546865930473, 0.07266113929591, 0.09885108575264, 0.11793710567217, 0.125})
	filters12 = newFilters(12, [7]float64{
		0.04081179924692, 0.03812810994926, 0.05144908135699, 0.06399831151592, 0.07428313801106, 0.08100347892914, 0.08333333333333})
	filters8of34 = newFilters(8, [7]float64{
		0.01565675600122, 0.03752716391991, 0.05417891378782, 0.08417044116767, 0.10307344158036, 0.12222452249753, 0.125})
	filters4 = newFilters(4, [7]float64{
		-0.05908211155639, -0.04871498374946, 0, 0.07778723915851, 0.16486303567403, 0.23279856662996, 0.25})
	halves = [7]float32{0, 0.01899487526049, 0, -0.07293139167538, 0, 0.30596630545168, 0.5}
)

// filter is the first half and the middle of a filter; the other half is its conjugate.
type filter [7]complex64

func newFilters(parts int, half [7]float64) []filter {
	filters := make([]filter, parts)
	for q := range filters {
		for n, v := range half {
			sin, cos := math.Sincos(2 * math.Pi * (float64(q) + 0.5) * float64(n-6) / float64(parts))
			filters[q][n] = complex(float32(v*cos), float32(-v*sin))
		}
	}
	return filters
}

// analyse splits the columns of a packet.
func (s *splitter) analyse(l *layout, in *Block, out *[maxBands][columns]complex64) {
	for k := range s.in {
		copy(s.in[k][:ahead], s.in[k][columns:])
		for i := range in {
			s.in[k][ahead+i] = in[i][k]
		}
	}
	if l == &layouts[0] {
		s.split20(out)
	} else {
		at := 0
		for k, filters := range [splitMost][]filter{filters12, filters8of34, filters4, filters4, filters4} {
			for q := range filters {
				filters[q].run(&s.in[k], &out[at])
				at++
			}
		}
	}
	at := 0
	for _, n := range l.parts {
		at += n
	}
	for k := len(l.parts); k < qmfBands; k, at = k+1, at+1 {
		for i := range columns {
			out[at][i] = in[i][k]
		}
	}
}

// split20 splits the lowest band into eight, of which four at the edge are added in pairs,
// and two more bands into halves.
func (s *splitter) split20(out *[maxBands][columns]complex64) {
	var eighths [8][columns]complex64
	for q := range eighths {
		filters8of20[q].run(&s.in[0], &eighths[q])
	}
	out[0], out[1], out[2], out[3] = eighths[6], eighths[7], eighths[0], eighths[1]
	for i := range columns {
		out[4][i] = eighths[2][i] + eighths[5][i]
		out[5][i] = eighths[3][i] + eighths[4][i]
	}
	halve(&s.in[1], &out[7], &out[6])
	halve(&s.in[2], &out[8], &out[9])
}

func (f *filter) run(in *[2*ahead + columns]complex64, out *[columns]complex64) {
	for i := range out {
		x := (*[2*ahead + 1]complex64)(in[i:])
		sum := f[ahead] * x[ahead]
		for n := range ahead {
			c, a, b := f[n], x[n], x[2*ahead-n]
			re, im := real(c), imag(c)
			sum += complex(re*(real(a)+real(b))-im*(imag(a)-imag(b)), re*(imag(a)+imag(b))+im*(real(a)-real(b)))
		}
		out[i] = sum
	}
}

// halve splits a band into the half where the filter adds and the one where it subtracts.
func halve(in *[2*ahead + columns]complex64, sum, difference *[columns]complex64) {
	for i := range sum {
		x := (*[2*ahead + 1]complex64)(in[i:])
		middle := scale(x[ahead], halves[ahead])
		var sides complex64
		for n := 1; n < ahead; n += 2 {
			sides += scale(x[n]+x[2*ahead-n], halves[n])
		}
		sum[i], difference[i] = middle+sides, middle-sides
	}
}

func scale(x complex64, by float32) complex64 { return complex(real(x)*by, imag(x)*by) }

// synthesise puts the parts of the lowest bands together again.
func (l *layout) synthesise(in *[maxBands][columns]complex64, out *Block) {
	at := 0
	for k, n := range l.parts {
		for i := range columns {
			var sum complex64
			for p := range n {
				sum += in[at+p][i]
			}
			out[i][k] = sum
		}
		at += n
	}
	for k := len(l.parts); k < qmfBands; k, at = k+1, at+1 {
		for i := range columns {
			out[i][k] = in[at][i]
		}
	}
}
