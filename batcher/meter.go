package batcher

// meter learns what batches take, by their number of windows: a fixed part and so much for each window. The zero value
// can't be used.
type meter struct {
	mean             []float64 // seconds, by number of windows; 0 where never measured
	distinct         int       // how many sizes have been measured
	fixed, perWindow float64   // the line through them: seconds for none, and for each window
}

func newMeter(maxBatch int) meter { return meter{mean: make([]float64, maxBatch+1)} }

// smoothing is how much of the mean the latest measurement makes up.
const smoothing = 0.2

func (m *meter) observe(n int, seconds float64) {
	if n <= 0 || n >= len(m.mean) || seconds <= 0 {
		return
	}
	if m.mean[n] == 0 {
		m.distinct++
		m.mean[n] = seconds
	} else {
		m.mean[n] += smoothing * (seconds - m.mean[n])
	}
	m.fit()
}

// fit lays the line of least squares, with neither part below zero.
func (m *meter) fit() {
	var count, sumN, sumT, sumNN, sumNT float64
	for n, t := range m.mean {
		if t > 0 {
			x := float64(n)
			count, sumN, sumT, sumNN, sumNT = count+1, sumN+x, sumT+t, sumNN+x*x, sumNT+x*t
		}
	}
	m.perWindow = sumNT / sumNN // through zero: all that one size can tell, and never too little for a larger one
	m.fixed = 0
	if m.distinct > 1 {
		slope := (count*sumNT - sumN*sumT) / (count*sumNN - sumN*sumN)
		fixed := (sumT - slope*sumN) / count
		switch {
		case slope < 0:
			m.perWindow, m.fixed = 0, sumT/count
		case fixed > 0:
			m.perWindow, m.fixed = slope, fixed
		}
	}
}

// seen reports whether a batch of n windows has been measured.
func (m *meter) seen(n int) bool { return n < len(m.mean) && m.mean[n] > 0 }

// knows reports whether time(n) is more than a guess: measured, or between or beyond two sizes that were.
func (m *meter) knows(n int) bool { return m.distinct > 1 || m.seen(n) }

// time returns what a batch of n windows takes, in seconds; 0 if nothing has been measured.
func (m *meter) time(n int) float64 {
	if m.seen(n) {
		return m.mean[n]
	}
	if m.distinct == 0 {
		return 0
	}
	return m.fixed + m.perWindow*float64(n)
}

// marginal returns what one more window costs, in seconds.
func (m *meter) marginal() float64 { return m.perWindow }

// price returns what a window costs in a batch of n, or in several where n is more than a batch holds, in seconds, by
// the line.
func (m *meter) price(n int) float64 {
	return m.perWindow + m.fixed/float64(min(n, len(m.mean)-1))
}

// wasteLimit is how much more a window may cost than in a full batch for a smaller batch to count as good.
const wasteLimit = 0.02

// smallest returns the size of the smallest batch in which a window costs about as little as in a full one. Where one
// size has been measured, half of it is tried next.
func (m *meter) smallest() int {
	most := len(m.mean) - 1
	best := m.time(most) / float64(most)
	switch {
	case m.distinct == 0:
		return most
	case m.distinct == 1 && m.seen(most):
		return max(most/2, 1)
	}
	for n := 1; n < most; n++ {
		if m.time(n)/float64(n) <= best*(1+wasteLimit) {
			return n
		}
	}
	return most
}

// within returns how many windows come closest to taking so many seconds, in full batches and a rest.
func (m *meter) within(seconds float64) int {
	if m.distinct == 0 || seconds <= 0 {
		return 0
	}
	most := len(m.mean) - 1
	full := m.time(most)
	half := m.perWindow / 2
	n := 0
	if full > 0 {
		n = int(min((seconds+half)/full*(1+1e-9), 1000)) * most
	}
	rest := seconds - float64(n/most)*full
	for k := most - 1; k > 0; k-- {
		if m.time(k) <= rest+half*(1+1e-9) {
			return n + k
		}
	}
	return n
}
