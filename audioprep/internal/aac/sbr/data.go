package sbr

import "hark/audioprep/internal/bits"

// data is what the encoder measured of one channel, as it stands in the payload. What has an
// index for envelopes or noise floors has that of the packet before at 0.
type data struct {
	coarse     bool // levels in steps of 3 dB, not 1.5
	alongTime  [maxEnvelopes]bool
	noiseAlong [2]bool
	inverse    [2][maxNoiseBands]int // how much copied bands are flattened; before, and now
	level      [maxEnvelopes + 1][maxBands]int
	levelFine  bool // bands of level[0] are of high resolution
	floor      [3][maxNoiseBands]int
	tones      bool
	tone       [maxBands]bool // in each band of high resolution

	// What level and floor stand for.
	energy [maxEnvelopes][maxBands]float32
	noise  [2][maxNoiseBands]float32
}

// readData reads a payload behind the header (tables 4.65 to 4.67).
func (e *Element) readData(r *bits.Reader) error {
	reserved := r.Flag()
	if reserved {
		r.Skip(4 * len(e.ch))
	}
	e.coupled = len(e.ch) == 2 && r.Flag()
	first := e.ch[0]
	for i, c := range e.ch {
		c.carry()
		if i == 1 && e.coupled {
			c.grid, c.coarse = first.grid, first.coarse
			continue
		}
		g, single, err := readGrid(r)
		if err != nil {
			return err
		}
		c.grid, c.coarse = g, e.header.coarse && !single
	}
	for _, c := range e.ch {
		c.readDirections(r)
	}
	for i, c := range e.ch {
		if i == 1 && e.coupled {
			c.inverse[1] = first.inverse[1]
			continue
		}
		for b := range len(e.f.noise) - 1 {
			c.inverse[1][b] = r.Take(2)
		}
	}
	if err := e.readMeasures(r); err != nil {
		return err
	}
	for _, c := range e.ch {
		c.tone = [maxBands]bool{}
		if c.tones = r.Flag(); c.tones {
			for b := range len(e.f.high) - 1 {
				c.tone[b] = r.Flag()
			}
		}
	}
	if r.Past() {
		return ErrPayload
	}
	e.readExtensions(r)
	e.dequantise()
	return nil
}

// carry makes what was read last that of the packet before.
func (c *channel) carry() {
	if n := c.envelopes; n > 0 {
		c.level[0], c.levelFine = c.level[n], c.fine[n-1]
		c.floor[0] = c.floor[c.noises]
	}
	c.inverse[0] = c.inverse[1]
	c.inverse[1] = [maxNoiseBands]int{}
}

// readDirections reads which differences run along time (table 4.70).
func (c *channel) readDirections(r *bits.Reader) {
	for i := range c.envelopes {
		c.alongTime[i] = r.Flag()
	}
	for i := range c.noises {
		c.noiseAlong[i] = r.Flag()
	}
}

// readMeasures reads envelopes and noise floors: those of each channel together, when
// coupled first of the sum and then of the balance.
func (e *Element) readMeasures(r *bits.Reader) error {
	readers := [2]func(*bits.Reader, *channel, bool) error{e.readEnvelopes, e.readNoise}
	if len(e.ch) == 2 && !e.coupled {
		for _, read := range readers {
			for _, c := range e.ch {
				if err := read(r, c, false); err != nil {
					return err
				}
			}
		}
		return nil
	}
	for i, c := range e.ch {
		for _, read := range readers {
			if err := read(r, c, i == 1); err != nil {
				return err
			}
		}
	}
	return nil
}

// readEnvelopes reads levels as differences from the band below or from the envelope
// before (table 4.72).
func (e *Element) readEnvelopes(r *bits.Reader, c *channel, balance bool) error {
	step, start := 1, 7
	if balance {
		step, start = 2, 6
	}
	if c.coarse {
		start--
	}
	books := &levelBooks[index(balance)][index(c.coarse)]
	beforeFine := c.levelFine
	for i := range c.envelopes {
		before, now := &c.level[i], &c.level[i+1]
		fine := c.fine[i]
		n := e.f.resolution(fine)
		book := books[index(c.alongTime[i])]
		for b := range n {
			switch {
			case c.alongTime[i]:
				now[b] = before[e.f.sameBand(b, fine, beforeFine)] + step*difference(r, book)
			case b == 0:
				now[b] = step * r.Take(start)
			default:
				now[b] = now[b-1] + step*difference(r, book)
			}
			if now[b] < 0 || now[b] > 127 {
				return ErrPayload
			}
		}
		beforeFine = fine
	}
	if r.Past() {
		return ErrPayload
	}
	return nil
}

// resolution is how many bands an envelope has.
func (f *bandTables) resolution(fine bool) int {
	if fine {
		return len(f.high) - 1
	}
	return len(f.low) - 1
}

// sameBand returns the band, in an envelope of the other resolution if need be, that
// band b begins in.
func (f *bandTables) sameBand(b int, fine, beforeFine bool) int {
	odd := (len(f.high) - 1) & 1
	switch {
	case fine == beforeFine:
		return b
	case fine:
		return (b + odd) / 2
	case b == 0:
		return 0
	}
	return 2*b - odd
}

// readNoise reads noise floors, likewise (table 4.73).
func (e *Element) readNoise(r *bits.Reader, c *channel, balance bool) error {
	step := 1
	if balance {
		step = 2
	}
	const start, most = 5, 30
	along := noiseBooks[index(balance)]
	up := levelBooks[index(balance)][1][0]
	for i := range c.noises {
		before, now := &c.floor[i], &c.floor[i+1]
		for b := range len(e.f.noise) - 1 {
			switch {
			case c.noiseAlong[i]:
				now[b] = before[b] + step*difference(r, along)
			case b == 0:
				now[b] = step * r.Take(start)
			default:
				now[b] = now[b-1] + step*difference(r, up)
			}
			if now[b] < 0 || now[b] > most {
				return ErrPayload
			}
		}
	}
	if r.Past() {
		return ErrPayload
	}
	return nil
}

// readExtensions reads what may follow, of which parametric stereo is the only one in use
// (table 4.112).
func (e *Element) readExtensions(r *bits.Reader) {
	if !r.Flag() {
		return
	}
	n := r.Take(4)
	if n == 15 {
		n += r.Take(8)
	}
	end := r.At + 8*n
	if end > r.End {
		return
	}
	const parametricStereo = 2
	if n > 0 && r.Take(2) == parametricStereo && e.stereo != nil {
		e.stereo.Read(bits.Reader{Data: r.Data, At: r.At, End: end})
	}
}
