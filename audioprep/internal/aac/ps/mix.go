package ps

import "math"

// mixer mixes a channel and its decorrelated twin into left and right (section 8.6.4.6).
type mixer struct {
	last   [maxParameters]matrix    // of the packet before
	phases [2][maxParameters][2]int // the last two IPD and OPD
}

// matrix makes left of the channel by its first and of the twin by its third factor, right
// by its second and fourth. Imaginary parts turn phases.
type matrix [4]complex64

// coherences is what ICC stand for (table 8.28), and differences what IID do, in dB, in
// coarse and in fine steps (tables 8.25 and 8.26).
var (
	coherences  = [8]float64{1, 0.937, 0.84118, 0.60092, 0.36764, 0, -0.589, -1}
	differences = [2][]float64{
		{0, 2, 4, 7, 10, 14, 18, 25},
		{0, 2, 4, 6, 8, 10, 13, 16, 19, 22, 25, 30, 35, 40, 45, 50},
	}
)

// matrices holds those of each IID, moved up by its largest, and each ICC, by the procedure and
// by finer steps.
var matrices = func() (t [2][2][][8][4]float32) {
	for rotate := range t {
		for fine, steps := range differences {
			for i := 1 - len(steps); i < len(steps); i++ {
				dB := steps[max(i, -i)]
				if i < 0 {
					dB = -dB
				}
				var row [8][4]float32
				for icc, rho := range coherences {
					if rotate == 1 {
						row[icc] = rotation(math.Pow(10, dB/20), rho)
					} else {
						row[icc] = addition(math.Pow(10, dB/20), rho)
					}
				}
				t[rotate][fine] = append(t[rotate][fine], row)
			}
		}
	}
	return t
}()

// addition is procedure A for a ratio c of left to right.
func addition(c, rho float64) [4]float32 {
	right := math.Sqrt2 / math.Sqrt(1+c*c)
	left := c * right
	alpha := math.Acos(rho) / 2
	beta := alpha * (right - left) / math.Sqrt2
	return [4]float32{
		float32(left * math.Cos(beta+alpha)), float32(right * math.Cos(beta-alpha)),
		float32(left * math.Sin(beta+alpha)), float32(right * math.Sin(beta-alpha)),
	}
}

// rotation is procedure B.
func rotation(c, rho float64) [4]float32 {
	rho = max(rho, 0.05)
	alpha := math.Atan2(2*c*rho, c*c-1) / 2
	if alpha < 0 {
		alpha += math.Pi / 2
	}
	sum := c + 1/c
	mu := math.Sqrt(1 + (4*rho*rho-4)/(sum*sum))
	gamma := math.Atan(math.Sqrt((1 - mu) / (1 + mu)))
	sinA, cosA := math.Sincos(alpha)
	sinG, cosG := math.Sincos(gamma)
	return [4]float32{
		float32(math.Sqrt2 * cosA * cosG), float32(math.Sqrt2 * sinA * cosG),
		float32(-math.Sqrt2 * sinA * sinG), float32(math.Sqrt2 * cosA * sinG),
	}
}

// run mixes in place: x is the channel and becomes left, y its twin and becomes right.
func (m *mixer) run(l *layout, anew bool, p *parameters, x, y *[maxBands][columns]complex64) {
	if anew {
		m.relocate(l)
	}
	for e := 1; e <= p.envelopes; e++ {
		now := m.matrices(l, p, e)
		from, to := p.border[e-1]+1, p.border[e]+1
		for k := range l.bands {
			b := l.of[k]
			first, last := m.last[b], now[b]
			if k >= l.mirroredFrom && k < l.mirroredTo {
				first, last = first.conjugate(), last.conjugate()
			}
			if p.phasesOn {
				mixComplex(x[k][from:to], y[k][from:to], first, last)
			} else {
				mixReal(x[k][from:to], y[k][from:to], first, last)
			}
		}
		m.last = now
	}
}

// relocate brings what is left from the packet before into another layout.
func (m *mixer) relocate(l *layout) {
	m.phases = [2][maxParameters][2]int{}
	old := m.last
	for b := range l.parameters {
		parts := from20[b]
		if l.parameters == 20 {
			parts = from34[b]
		}
		m.last[b] = matrix{}
		for _, p := range parts {
			for i, v := range old[p] {
				m.last[b][i] += scale(v, 1/float32(len(parts)))
			}
		}
	}
}

// matrices returns those of an envelope, in each band of parameters.
func (m *mixer) matrices(l *layout, p *parameters, e int) (all [maxParameters]matrix) {
	iid, icc := l.mapped(&p.iid[e], p.iidBands), l.mapped(&p.icc[e], p.iccBands)
	ipd, opd := l.mapped(&p.ipd[e], p.ipdBand), l.mapped(&p.opd[e], p.ipdBand)
	rows := matrices[index(p.rotate)][index(p.fine)]
	for b := range l.parameters {
		h := rows[iid[b]+len(rows)/2][icc[b]]
		left, right := complex64(1), complex64(1)
		if p.phasesOn && b < l.phases {
			overall, difference := m.turn(1, b, opd[b]), m.turn(0, b, ipd[b])
			left, right = overall, overall*complex(real(difference), -imag(difference))
		}
		all[b] = matrix{scale(left, h[0]), scale(right, h[1]), scale(left, h[2]), scale(right, h[3])}
	}
	return all
}

// turn is a phase in eighths, smoothed with the two before it.
func (m *mixer) turn(which, b, phase int) complex64 {
	before := &m.phases[which][b]
	var sum complex128
	for i, v := range [3]int{before[0], before[1], phase} {
		sin, cos := math.Sincos(float64(v) * math.Pi / 4)
		weight := [3]float64{0.25, 0.5, 1}[i]
		sum += complex(cos*weight, sin*weight)
	}
	before[0], before[1] = before[1], phase
	size := math.Hypot(real(sum), imag(sum))
	return complex64(sum / complex(size, 0))
}

func (h matrix) conjugate() matrix {
	for i, v := range h {
		h[i] = complex(real(v), -imag(v))
	}
	return h
}

// mixComplex mixes a band's columns while the matrix goes from one to another.
func mixComplex(x, y []complex64, from, to matrix) {
	var step matrix
	for i := range step {
		step[i] = scale(to[i]-from[i], 1/float32(len(x)))
	}
	h := from
	for i, a := range x {
		for j := range h {
			h[j] += step[j]
		}
		b := y[i]
		x[i], y[i] = h[0]*a+h[2]*b, h[1]*a+h[3]*b
	}
}

// mixReal is mixComplex where no phases are turned.
func mixReal(x, y []complex64, from, to matrix) {
	by := 1 / float32(len(x))
	h0, h1, h2, h3 := real(from[0]), real(from[1]), real(from[2]), real(from[3])
	s0, s1, s2, s3 := (real(to[0])-h0)*by, (real(to[1])-h1)*by, (real(to[2])-h2)*by, (real(to[3])-h3)*by
	for i, a := range x {
		h0, h1, h2, h3 = h0+s0, h1+s1, h2+s2, h3+s3
		b := y[i]
		x[i] = complex(h0*real(a)+h2*real(b), h0*imag(a)+h2*imag(b))
		y[i] = complex(h1*real(a)+h3*real(b), h1*imag(a)+h3*imag(b))
	}
}
