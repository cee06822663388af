package silk

// The decoder's filters (section 4.2.7.9): the excitation of each subframe, plus what the
// long-term filter predicts from one pitch period before, goes into the short-term
// filter. Both work on signals divided by the gain.

// synthesize turns excitation and parameters into samples.
func (c *channel) synthesize(f *parameters, out []int16) {
	n := c.subframe
	var long [2 * maxFrame]int32 // past and frame of the long-term filter, in Q15
	var short shortBuffer
	var buffer [maxSubframe]int32
	copy(short[:], c.stateQ14[:])
	for k := range c.subframes {
		gain, adjust := f.gainsQ16[k], int32(1<<16)
		if gain != c.gainQ16 {
			adjust = divide(c.gainQ16, gain, 16)
			for i := range maxOrder {
				short[i] = scale(adjust, short[i])
			}
		}
		c.gainQ16 = gain

		periodic := c.signal == voiced
		if c.lost > 0 && c.previousSignal == voiced && !periodic && k < maxSubframes/2 {
			// From made-up voiced sound to unvoiced without a break.
			f.filtersQ14[k] = [taps]int32{taps / 2: 1 << 12}
			f.lags[k], periodic = c.lag, true
		}
		residual := buffer[:n]
		copy(residual, c.excitationQ14[k*n:])
		if periodic {
			now := c.memory + k*n
			span := f.lags[k] + taps/2
			switch past := long[now-span : now]; {
			case k == 0 || k == 2 && c.indices.interpolation < 4:
				c.rewhiten(f, k, past, out)
			case adjust != 1<<16:
				for i, v := range past {
					past[i] = scale(adjust, v)
				}
			}
			predictLong(long[now-span:now+n], residual, &f.filtersQ14[k])
		}
		short.predict(residual, &f.aQ12[k/2], c.book.order)
		for i, v := range short[maxOrder:][:n] {
			out[k*n+i] = int16(clip16(round(scale(v, gain>>6), 8)))
		}
		copy(short[:maxOrder], short[n:])
	}
	copy(c.stateQ14[:], short[:])
}

// rewhiten fills the past of the long-term filter with what the new short-term filter
// would have left of the samples before subframe k.
func (c *channel) rewhiten(f *parameters, k int, past []int32, out []int16) {
	inverse := invert(f.gainsQ16[k], 47)
	if k == 0 { // less of the frame before, which may be lost
		inverse = scale(inverse, f.scalingQ14) << 2
	}
	end := c.memory + k*c.subframe
	copy(c.history[c.memory:end], out)
	whiten(past, c.history[end-len(past)-c.book.order:end], &f.aQ12[k/2], c.book.order)
	for i, v := range past {
		past[i] = scale(inverse, v)
	}
}

// whiten subtracts from samples what the filter predicts from those before. x begins
// with order samples more than dst.
func whiten(dst []int32, x []int16, aQ12 *lpc, order int) {
	for i := range dst {
		past := x[i : i+order+1]
		predicted := int32(0)
		for j, v := range past[:order] {
			predicted += int32(v) * aQ12[order-1-j]
		}
		dst[i] = clip16(round(int32(past[order])<<12-predicted, 12))
	}
}

// predictLong adds to the residual what the filter predicts; long, in Q15, ends where the
// residual does and begins a lag and half a filter before it, and takes up the sum.
func predictLong(long, residual []int32, filter *[taps]int32) {
	now := len(long) - len(residual)
	for i := range residual {
		past := (*[taps]int32)(long[i:])
		predicted := 2 + scale(past[4], filter[0]) + scale(past[3], filter[1]) + scale(past[2], filter[2]) +
			scale(past[1], filter[3]) + scale(past[0], filter[4])
		residual[i] += predicted << 1
		long[now+i] = residual[i] << 1
	}
}

// shortBuffer is the past of the short-term filter and a subframe, in Q14.
type shortBuffer [maxOrder + maxSubframe]int32

// predict appends to the past the residual plus what the filter predicts.
func (s *shortBuffer) predict(residual []int32, a *lpc, order int) {
	for i, v := range residual {
		past := (*[maxOrder]int32)(s[i:])
		// Half a unit for each term, since each is rounded down.
		sum := int32(5) + scale(past[15], a[0]) + scale(past[14], a[1]) + scale(past[13], a[2]) +
			scale(past[12], a[3]) + scale(past[11], a[4]) + scale(past[10], a[5]) + scale(past[9], a[6]) +
			scale(past[8], a[7]) + scale(past[7], a[8]) + scale(past[6], a[9])
		if order == maxOrder {
			sum += 3 + scale(past[5], a[10]) + scale(past[4], a[11]) + scale(past[3], a[12]) +
				scale(past[2], a[13]) + scale(past[1], a[14]) + scale(past[0], a[15])
		}
		s[i+maxOrder] = clip32(int64(v) + int64(shiftClip(sum, 4)))
	}
}
