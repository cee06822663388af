package silk

import "hark/audioprep/internal/opus/rangecoder"

// taps is the length of the long-term filter.
const taps = 5

// contours are the codes and the contours of pitch over a frame with so many subframes.
func (c *channel) contours() (code []uint8, contours [][]int8) {
	switch narrow, short := c.kHz == 8, c.subframes == 2; {
	case narrow && short:
		return contourCodeNarrow10, contoursNarrow10
	case narrow:
		return contourCodeNarrow20, contoursNarrow20
	case short:
		return contourCodeWide10, contoursWide10
	}
	return contourCodeWide20, contoursWide20
}

// lowLagCode is the code of the low part of a lag, in steps of a sample (table 30).
func (c *channel) lowLagCode() []uint8 {
	switch c.kHz {
	case 8:
		return uniform4[:]
	case 12:
		return uniform6[:]
	}
	return uniform8[:]
}

// readPitch reads lags and filters of a voiced frame (sections 4.2.7.6.1 to
// 4.2.7.6.3).
func (c *channel) readPitch(rc *rangecoder.Decoder, mode coding) {
	x := &c.indices
	delta := 0
	if mode == conditional && c.wasVoiced {
		delta = rc.Symbol(lagDelta[:], 8)
	}
	if delta > 0 {
		x.lag = c.previousLag + delta - 9
	} else {
		x.lag = rc.Symbol(lagHigh[:], 8) * (c.kHz / 2)
		x.lag += rc.Symbol(c.lowLagCode(), 8)
	}
	c.previousLag = x.lag
	contourCode, _ := c.contours()
	x.contour = rc.Symbol(contourCode, 8)

	x.periodicity = rc.Symbol(periodicityCode[:], 8)
	code := filterCodes[x.periodicity]
	for i := range c.subframes {
		x.filters[i] = rc.Symbol(code, 8)
	}
	x.scaling = 0
	if mode == independent {
		x.scaling = rc.Symbol(scalingCode[:], 8)
	}
}

// setPitch puts lags and filters into f.
func (c *channel) setPitch(f *parameters) {
	x := &c.indices
	shortest, longest := 2*c.kHz, 18*c.kHz
	_, contours := c.contours()
	for i := range c.subframes {
		lag := shortest + x.lag + int(contours[x.contour][i])
		f.lags[i] = min(max(lag, shortest), longest)
		for j, v := range filters[x.periodicity][x.filters[i]] {
			f.filtersQ14[i][j] = int32(v) << 7
		}
	}
	f.scalingQ14 = scalings[x.scaling]
}
