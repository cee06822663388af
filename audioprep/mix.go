package audioprep

// mixer mixes interleaved channels down to one.
//
// The mean of the channels cannot clip, and is right for nearly everything. It
// fails where one channel is another one turned upside down, as a miswired
// microphone cable makes them: the mean is silence. So each block of 50 ms is
// looked at: with channels that have nothing in common the mean would hold
// sum(energy)/n², and where less than a twentieth of that is left, the channels
// cancel and the loudest one is taken alone. A change from the one to the other
// is faded over the first 5 ms of the block.
type mixer struct {
	channels int
	block    int       // sample frames looked at together
	fade     int       // sample frames of a change
	pending  []float32 // interleaved, less than a block
	alone    int       // the channel that is taken alone, or -1: the mean
	energy   []float64
}

// A block cancels below cancelBelow of the expected energy, and has stopped to
// when it is above cancelAbove: two limits, so that it does not flutter.
const (
	cancelBelow = 0.05
	cancelAbove = 0.25
)

func newMixer(channels, rate int) *mixer {
	return &mixer{
		channels: channels,
		block:    max(1, rate/20),
		fade:     max(1, rate/200),
		alone:    -1,
		energy:   make([]float64, channels),
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

// flush appends what is left of the last block.
func (m *mixer) flush(dst []float32) []float32 {
	if len(m.pending) > 0 {
		dst = m.mixBlock(dst, m.pending)
		m.pending = m.pending[:0]
	}
	return dst
}

func (m *mixer) mixBlock(dst, x []float32) []float32 {
	start := len(dst)
	scale := 1 / float32(m.channels)
	clear(m.energy)
	mixed := 0.0
	for i := 0; i < len(x); i += m.channels {
		sum := float32(0)
		for c, v := range x[i : i+m.channels] {
			sum += v
			m.energy[c] += float64(v) * float64(v)
		}
		sum *= scale
		mixed += float64(sum) * float64(sum)
		dst = append(dst, sum)
	}
	before := m.alone
	m.alone = m.choose(mixed)
	if before < 0 && m.alone < 0 {
		return dst
	}
	y := dst[start:]
	for i := range y {
		mean := y[i]
		pick := func(c int) float32 {
			if c < 0 {
				return mean
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

// choose returns the channel to take alone in this block, or -1 for the mean.
func (m *mixer) choose(mixed float64) int {
	total, best := 0.0, 0
	for c, e := range m.energy {
		total += e
		if e > m.energy[best] {
			best = c
		}
	}
	if total == 0 {
		return m.alone
	}
	expected := total / float64(m.channels*m.channels)
	switch {
	case m.alone < 0 && mixed >= cancelBelow*expected, mixed > cancelAbove*expected:
		return -1
	case m.alone >= 0 && m.energy[best] < 4*m.energy[m.alone]:
		return m.alone // both are good: no need to jump
	}
	return best
}
