package celt

import "hark/audioprep/internal/opus/rangecoder"

// Most of the allocation of bits to bands is not coded: encoder and decoder work it out
// alike from what is left of the frame (section 4.3.3). A table says what the bands get at
// eleven qualities; the highest that fits, and how far to go to the next one, are
// searched. Coded are exceptions: boosts of bands, a tilt, bands to be skipped. Bits are
// counted in 1/8 here.

// allocation is what the bands get.
type allocation struct {
	shapeBits [bands]int // in 1/8
	fineBits  [bands]int // of each channel's energy
	fineFirst [bands]bool
	coded     int // bands before this one have shapes
	balance   int // bits left over
	intensity int // from this band on, stereo is one shape with two energies
	dual      bool

	collapseBit bool // a bit is kept for what anti-collapse needs
}

// boostsAndTrim are what is coded of the allocation before it is worked out.
type boostsAndTrim struct {
	boosts [bands]int
	trim   int
}

// caps are the most bits of use to each band.
func (f *frame) caps() (caps [bands]int) {
	for i := range caps {
		caps[i] = (int(capTable[f.log][f.channels-1][i]) + 64) * f.channels * f.width(i) >> 2
	}
	return caps
}

// readBoosts reads boosts and trim.
func (f *frame) readBoosts(rc *rangecoder.Decoder, caps *[bands]int) (b boostsAndTrim) {
	total := 8 * rc.Size() << 3
	log := 6
	for i := f.start; i < f.end; i++ {
		width := f.channels * f.width(i)
		step := min(width<<3, max(6<<3, width))
		for l := log; rc.TellEighths()+l<<3 < total && b.boosts[i] < caps[i]; l = 1 {
			if rc.Bit(l) == 0 {
				break
			}
			b.boosts[i] += step
			total -= step
		}
		if b.boosts[i] > 0 {
			log = max(2, log-1)
		}
	}
	b.trim = 5
	if rc.TellEighths()+6<<3 <= total {
		b.trim = rc.Symbol(trimCode[:], 7)
	}
	return b
}

// allocate works the allocation out and reads the rest of it.
func (f *frame) allocate(rc *rangecoder.Decoder) {
	caps := f.caps()
	boosts := f.readBoosts(rc, &caps)
	total := 8*rc.Size()<<3 - rc.TellEighths() - 1
	if f.transient && f.log >= 2 && total >= (f.log+2)<<3 {
		f.collapseBit = true
		total -= 8
	}
	a := allocator{f: f, rc: rc, caps: caps, boosts: boosts.boosts, skipStart: f.start}
	a.reserve(max(total, 0))
	a.search(boosts.trim)
	a.interpolate()
	a.skip()
	a.readStereo()
	a.share()
	a.divide()
}

// allocator is the allocation under way.
type allocator struct {
	f      *frame
	rc     *rangecoder.Decoder
	caps   [bands]int
	boosts [bands]int

	total         int // bits for the bands
	skipBit       int // kept for the end of skipping
	intensityBits int // kept for where intensity stereo begins
	dualBit       int
	skipStart     int // the last band that cannot be skipped

	least      [bands]int // with less, a band gets no shape
	low, extra [bands]int // at the quality that fits; how much more at the next one
	bits       [bands]int
	sum        int // of bits
}

// reserve keeps bits for what is coded later on.
func (a *allocator) reserve(total int) {
	if total >= 8 {
		a.skipBit = 8
		total -= 8
	}
	if a.f.channels == 2 {
		if n := log2Eighths[a.f.end-a.f.start]; n <= total {
			a.intensityBits = n
			total -= n
			if total >= 8 {
				a.dualBit = 8
				total -= 8
			}
		}
	}
	a.total = total
}

// search finds the highest quality that fits.
func (a *allocator) search(trim int) {
	f := a.f
	var tilt [bands]int
	for i := f.start; i < f.end; i++ {
		width := bandEdges[i+1] - bandEdges[i]
		a.least[i] = max(f.channels<<3, 3*f.width(i)<<3>>4)
		tilt[i] = f.channels * width * (trim - 5 - f.log) * (f.end - i - 1) << (f.log + 3) >> 6
		if f.width(i) == 1 {
			tilt[i] -= f.channels << 3
		}
	}
	at := func(quality, i int) int {
		v := f.channels * f.width(i) * int(allocation57[quality][i]) >> 2
		if v > 0 {
			v = max(0, v+tilt[i])
		}
		return v
	}
	low, high := 1, len(allocation57)-1
	for low <= high {
		mid := (low + high) / 2
		sum := a.fit(func(i int) int { return at(mid, i) + a.boosts[i] })
		if sum > a.total {
			high = mid - 1
		} else {
			low = mid + 1
		}
	}
	low--
	for i := f.start; i < f.end; i++ {
		v, next := at(low, i), 0
		if low+1 < len(allocation57) {
			next = at(low+1, i)
		} else if next = a.caps[i]; next > 0 {
			next = max(0, next+tilt[i])
		}
		if low > 0 {
			v += a.boosts[i]
		}
		if a.boosts[i] > 0 {
			a.skipStart = i
		}
		a.low[i], a.extra[i] = v, max(0, next+a.boosts[i]-v)
	}
}

// fit is what all bands get together if each would get so many bits: below the last
// band that gets a shape all are served.
func (a *allocator) fit(bits func(i int) int) (sum int) {
	floor := a.f.channels << 3
	done := false
	for i := a.f.end - 1; i >= a.f.start; i-- {
		v := bits(i)
		if v >= a.least[i] || done {
			done = true
			sum += min(v, a.caps[i])
		} else if v >= floor {
			sum += floor
		}
	}
	return sum
}

// interpolate goes as far towards the next quality as fits, in 64 steps.
func (a *allocator) interpolate() {
	const steps = 6
	low, high := 0, 1<<steps
	for range steps {
		mid := (low + high) / 2
		if a.fit(func(i int) int { return a.low[i] + mid*a.extra[i]>>steps }) > a.total {
			high = mid
		} else {
			low = mid
		}
	}
	floor := a.f.channels << 3
	done := false
	for i := a.f.end - 1; i >= a.f.start; i-- {
		v := a.low[i] + low*a.extra[i]>>steps
		if v < a.least[i] && !done {
			if v >= floor {
				v = floor
			} else {
				v = 0
			}
		} else {
			done = true
		}
		a.bits[i] = min(v, a.caps[i])
		a.sum += a.bits[i]
	}
}

// skip takes the shapes of the highest bands away, as far as is coded, or where they would
// get too little.
func (a *allocator) skip() {
	f := a.f
	floor := f.channels << 3
	for f.coded = f.end; ; f.coded-- {
		i := f.coded - 1
		if i <= a.skipStart {
			a.total += a.skipBit
			return
		}
		left := a.total - a.sum
		all := bandEdges[f.coded] - bandEdges[f.start]
		each := left / all
		left -= all * each
		rest := max(left-(bandEdges[i]-bandEdges[f.start]), 0)
		v := a.bits[i] + each*(bandEdges[f.coded]-bandEdges[i]) + rest
		if v >= max(a.least[i], floor+8) {
			if a.rc.Bit(1) == 1 {
				return
			}
			a.sum += 8
			v -= 8
		}
		a.sum -= a.bits[i] + a.intensityBits
		if a.intensityBits > 0 {
			a.intensityBits = log2Eighths[i-f.start]
		}
		a.sum += a.intensityBits
		a.bits[i] = 0
		if v >= floor { // for a bit of fine energy
			a.bits[i] = floor
			a.sum += floor
		}
	}
}

// readStereo reads how stereo is coded.
func (a *allocator) readStereo() {
	f := a.f
	if a.intensityBits > 0 {
		f.intensity = f.start + int(a.rc.Uint(uint32(f.coded+1-f.start)))
	}
	if f.intensity <= f.start {
		a.total += a.dualBit
		a.dualBit = 0
	}
	f.dual = a.dualBit > 0 && a.rc.Bit(1) == 1
}

// share gives what is left to the bands by their width.
func (a *allocator) share() {
	f := a.f
	left := a.total - a.sum
	all := bandEdges[f.coded] - bandEdges[f.start]
	each := left / all
	left -= all * each
	for i := f.start; i < f.coded; i++ {
		width := bandEdges[i+1] - bandEdges[i]
		more := min(left, width)
		a.bits[i] += each*width + more
		left -= more
	}
}

// divide divides each band's bits into those for its energy and those for its shape.
func (a *allocator) divide() {
	f := a.f
	stereo := f.channels - 1
	balance := 0
	for i := f.start; i < f.coded; i++ {
		n := f.width(i)
		v := a.bits[i] + balance
		excess := 0
		if n == 1 { // a bit for the sign
			excess = max(0, v-f.channels<<3)
			f.shapeBits[i] = v - excess
			f.fineBits[i], f.fineFirst[i] = 0, false
		} else {
			excess = max(v-a.caps[i], 0)
			a.divideBand(i, v-excess)
		}
		if excess > 0 { // shapes may get it back later, energies not
			more := min(excess>>(stereo+3), maxFineBits-f.fineBits[i])
			f.fineBits[i] += more
			more = more * f.channels << 3
			f.fineFirst[i] = more < excess-balance
			excess -= more
		}
		balance = excess
	}
	f.balance = balance
	for i := f.coded; i < f.end; i++ {
		f.fineBits[i] = a.bits[i] >> stereo >> 3
		f.shapeBits[i] = 0
		f.fineFirst[i] = f.fineBits[i] >= 1
	}
}

// divideBand divides a band's bits by the degrees of freedom.
func (a *allocator) divideBand(i, bits int) {
	const fineOffset = 21
	f := a.f
	n := f.width(i)
	freedom := f.channels * n
	if f.channels == 2 && n > 2 && !f.dual && i < f.intensity {
		freedom++
	}
	log := freedom * (widthLog2[i] + f.log<<3)
	offset := log>>1 - freedom*fineOffset
	if n == 2 {
		offset += freedom << 3 >> 2
	}
	if bits+offset < freedom*2<<3 {
		offset += log >> 2
	} else if bits+offset < freedom*3<<3 {
		offset += log >> 3
	}
	fine := max(0, bits+offset+freedom<<2) / freedom >> 3
	if f.channels*fine > bits>>3 {
		fine = bits >> (f.channels - 1) >> 3
	}
	fine = min(fine, maxFineBits)
	f.fineFirst[i] = fine*freedom<<3 < bits+offset
	f.fineBits[i] = fine
	f.shapeBits[i] = bits - f.channels*fine<<3
}
