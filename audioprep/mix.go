package audioprep

// mixer mixes interleaved channels down to one: a weighted sum, which two things go
// wrong with. Both are looked at for blocks of 50 ms.
//
// One channel may be another one turned upside down, as a miswired microphone cable makes
// them: the sum is silence. With channels that have nothing in common it would hold the sum
// of their energies, and where less than a twentieth of that is left, the channels cancel
// and the loudest one is taken alone. A change from the one to the other is faded over
// the first 5 ms of the block. An offset says nothing about cancelling and is left out of
// all energies.
//
// The sum may be beyond full scale, of more than two channels: their weights are for a film
// whose voice is in the centre, which would be too quiet if it left room for all the others. Where
// it is, the block is made quieter, and its neighbours begin and end as quiet as it is. Less loud blocks
// are not touched.
type mixer struct {
	channels int
	weights  []float32
	block    int       // sample frames looked at together
	fade     int       // sample frames of a change
	pending  []float32 // interleaved, less than a block
	alone    int       // the channel that is taken alone, or -1: the sum
	sums     []float64 // of each channel and, last, of the mix, in this block
	energy   []float64 // of the same, without their offsets

	waiting []float32 // a mixed block whose end depends on the next one
	gain    float32   // that it has to have
	from    float32   // the gain that it begins with
}

// A block cancels below cancelBelow of the expected energy, and has stopped to
// when it is above cancelAbove: two limits, so that it does not flutter.
const (
	cancelBelow = 0.05
	cancelAbove = 0.25
)

// newMixer returns a mixer for the channels of a codec.
func newMixer(codec string, channels, rate int) *mixer {
	return &mixer{
		channels: channels,
		weights:  mixWeights(codec, channels),
		block:    max(1, rate/20),
		fade:     max(1, rate/200),
		alone:    -1,
		sums:     make([]float64, channels+1),
		energy:   make([]float64, channels+1),
		gain:     1,
		from:     1,
	}
}

// mix appends the mono samples of block to dst. Where blocks end does not
// depend on how the samples are cut into calls.
func (m *mixer) mix(dst, block []float32) []float32 {
	if m.channels == 1 {
		return append(dst, block...)
	}
	n := m.block * m.channels
	if len(m.pending) > 0 {
		take := min(n-len(m.pending), len(block))
		m.pending = append(m.pending, block[:take]...)
		block = block[take:]
		if len(m.pending) == n {
			dst = m.mixBlock(dst, m.pending)
			m.pending = m.pending[:0]
		}
	}
	for len(block) >= n {
		dst = m.mixBlock(dst, block[:n])
		block = block[n:]
	}
	m.pending = append(m.pending, block...)
	return dst
}

// flush appends what is left.
func (m *mixer) flush(dst []float32) []float32 {
	if len(m.pending) > 0 {
		dst = m.mixBlock(dst, m.pending)
		m.pending = m.pending[:0]
	}
	dst = m.release(dst, m.gain)
	m.gain, m.from = 1, 1
	return dst
}

// mixBlock appends the mono samples of a block, or of the block before.
func (m *mixer) mixBlock(dst, x []float32) []float32 {
	if m.channels <= 2 { // never beyond full scale
		return m.sum(dst, x)
	}
	y := m.sum(nil, x)
	peak := float32(1)
	for _, v := range y {
		peak = max(peak, v, -v)
	}
	dst = m.release(dst, min(m.gain, 1/peak))
	m.waiting, m.gain = y, 1/peak
	return dst
}

// release appends the block that waits, whose gain is to be to at its end.
func (m *mixer) release(dst []float32, to float32) []float32 {
	if m.from == 1 && to == 1 {
		dst = append(dst, m.waiting...)
	} else {
		step := (to - m.from) / float32(max(1, len(m.waiting)))
		for i, v := range m.waiting {
			dst = append(dst, v*(m.from+step*float32(i)))
		}
	}
	m.waiting, m.from = nil, to
	return dst
}

// sum appends the weighted sum of a block, or the channel that is taken alone.
func (m *mixer) sum(dst, x []float32) []float32 {
	start := len(dst)
	clear(m.sums)
	clear(m.energy)
	for i := 0; i < len(x); i += m.channels {
		sum := float32(0)
		for c, v := range x[i : i+m.channels] {
			sum += v * m.weights[c]
			m.sums[c] += float64(v)
			m.energy[c] += float64(v) * float64(v)
		}
		m.sums[m.channels] += float64(sum)
		m.energy[m.channels] += float64(sum) * float64(sum)
		dst = append(dst, sum)
	}
	before := m.alone
	m.alone = m.choose(len(dst) - start)
	if before < 0 && m.alone < 0 {
		return dst
	}
	y := dst[start:]
	for i := range y {
		mixed := y[i]
		pick := func(c int) float32 {
			if c < 0 {
				return mixed
			}
			return x[i*m.channels+c]
		}
		now := pick(m.alone)
		if before != m.alone && i < m.fade {
			t := float32(i) / float32(m.fade)
			now = t*now + (1-t)*pick(before)
		}
		y[i] = now
	}
	return dst
}

// choose returns the channel to take alone in this block of n sample frames, or -1 for the
// sum.
func (m *mixer) choose(n int) int {
	for c, sum := range m.sums {
		m.energy[c] = max(0, m.energy[c]-sum*sum/float64(n))
	}
	mixed, energy := m.energy[m.channels], m.energy[:m.channels]
	expected, best := 0.0, 0
	for c, e := range energy {
		expected += e * float64(m.weights[c]) * float64(m.weights[c])
		if e > energy[best] {
			best = c
		}
	}
	switch {
	case energy[best] == 0:
		return m.alone
	case expected > 0 && (m.alone < 0 && mixed >= cancelBelow*expected || mixed > cancelAbove*expected):
		return -1
	case m.alone >= 0 && energy[best] < 4*energy[m.alone]:
		return m.alone // both are good: no need to jump
	}
	return best
}
