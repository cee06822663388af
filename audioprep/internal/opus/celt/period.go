package celt

// The longest and the shortest period, in samples, that lost frames are made up with.
const (
	maxPeriod   = 720
	leastPeriod = 100
)

// findPeriod finds the period of the signal's end: by correlation at a quarter of the
// rate, then near the two best at half of it.
func findPeriod(channels [][past + overlap]float32) int {
	var half [past / 2]float32
	halve(half[:], channels)
	const length, lags = past - maxPeriod, maxPeriod - leastPeriod
	x, y := half[maxPeriod/2:], half[:]

	var quarter [past / 4]float32
	for i := range quarter {
		quarter[i] = half[2*i]
	}
	var scores [lags / 2]float32
	qx := quarter[maxPeriod/4:][:length/4]
	for i := range lags / 4 {
		scores[i] = product(qx, quarter[i:])
	}
	best := bestTwo(scores[:lags/4], quarter[:], length/4)

	x = x[:length/2]
	for i := range scores {
		scores[i] = 0
		if near(i, 2*best[0]) || near(i, 2*best[1]) {
			scores[i] = max(-1, product(x, y[i:]))
		}
	}
	at := bestTwo(scores[:], y, length/2)[0]
	offset := 0
	if at > 0 && at < len(scores)-1 {
		a, b, c := scores[at-1], scores[at], scores[at+1]
		if c-a > 0.7*(b-a) {
			offset = 1
		} else if a-c > 0.7*(b-c) {
			offset = -1
		}
	}
	return maxPeriod - (2*at - offset)
}

func near(i, at int) bool { return i >= at-2 && i <= at+2 }

// halve mixes the channels at half the rate, without the shape of the spectrum.
func halve(dst []float32, channels [][past + overlap]float32) {
	for c := range channels {
		x := &channels[c]
		dst[0] += (x[1]/2 + x[0]) / 2
		for i := 1; i < len(dst); i++ {
			dst[i] += ((x[2*i-1]+x[2*i+1])/2 + x[2*i]) / 2
		}
	}
	var lpc [4]float32
	predictor(lpc[:], dst)
	gain := float32(1)
	for i := range lpc {
		gain *= 0.9
		lpc[i] *= gain
	}
	const zero = 0.8
	filter := [5]float32{
		lpc[0] + zero, lpc[1] + zero*lpc[0], lpc[2] + zero*lpc[1], lpc[3] + zero*lpc[2], zero * lpc[3],
	}
	var before [5]float32
	for i, v := range dst {
		for j, w := range before {
			dst[i] += filter[j] * w
		}
		copy(before[1:], before[:])
		before[0] = v
	}
}

func product(x, y []float32) float32 {
	var sum float64
	y = y[:len(x)]
	for i, v := range x {
		sum += float64(v) * float64(y[i])
	}
	return float32(sum)
}

// bestTwo are the places in y, the better first, at which so many samples resemble best
// those that the scores are the products with, in proportion to their energy.
func bestTwo(scores, y []float32, length int) (best [2]int) {
	best[1] = 1
	quality, energy := [2]float32{-1, -1}, [2]float32{}
	sum := 1 + product(y[:length], y)
	for i, v := range scores {
		if v > 0 {
			v *= 1e-12
			v *= v
			switch {
			case v*energy[0] > quality[0]*sum:
				best, quality, energy = [2]int{i, best[0]}, [2]float32{v, quality[0]}, [2]float32{sum, energy[0]}
			case v*energy[1] > quality[1]*sum:
				best[1], quality[1], energy[1] = i, v, sum
			}
		}
		sum = max(1, sum+y[i+length]*y[i+length]-y[i]*y[i])
	}
	return best
}

// predictor computes the filter that predicts x best, by the recursion of Levinson and
// Durbin: x[n] is about -Σ lpc[j] x[n-1-j].
func predictor(lpc, x []float32) {
	var correlation [lpcOrder + 1]float32
	ac := correlation[:len(lpc)+1]
	for lag := range ac {
		ac[lag] = product(x[lag:], x)
	}
	ac[0] *= 1.0001 // noise at -40 dB
	for i := 1; i < len(ac); i++ {
		ac[i] -= ac[i] * (0.008 * 0.008) * float32(i*i)
	}
	clear(lpc)
	rest := ac[0]
	if rest == 0 {
		return
	}
	for i := range lpc {
		sum := ac[i+1]
		for j, a := range lpc[:i] {
			sum += a * ac[i-j]
		}
		r := -sum / rest
		lpc[i] = r
		for j := range (i + 1) / 2 {
			a, b := lpc[j], lpc[i-1-j]
			lpc[j], lpc[i-1-j] = a+r*b, b+r*a
		}
		rest -= r * r * rest
		if rest < 0.001*ac[0] {
			break
		}
	}
}
