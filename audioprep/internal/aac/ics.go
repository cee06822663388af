package aac

import "hark/audioprep/internal/bits"

// Window sequences (table 4.128). A long window beside short ones has a steep flank.
const (
	sequenceLong = iota
	sequenceStart
	sequenceShort
	sequenceStop
)

const (
	shortWindows = 8
	shortLines   = frameLines / shortWindows
	maxBands     = 51 // of a long window at 32 kHz
)

// icsInfo says how the lines of a channel are laid out (table 4.6). Short windows
// that are alike form groups, which share bands and scale factors.
type icsInfo struct {
	sequence int
	shape    int // of the window's second half: 0 sine, 1 Kaiser-Bessel derived
	before   int // shape in the packet before, for the first half
	maxBand  int // bands that are coded
	groups   int
	length   [shortWindows]int // windows in each group
	windows  int
	bands    []int // where bands begin in a window
	tnsBands int
}

// read reads the layout, which becomes the one of the channel's next packet.
func (f *icsInfo) read(r *bits.Reader, l *bandLayout) error {
	before := f.shape
	*f = icsInfo{before: before, windows: 1, groups: 1, length: [shortWindows]int{1}}
	r.Take(1) // reserved
	f.sequence = r.Take(2)
	f.shape = r.Take(1)
	if f.sequence != sequenceShort {
		f.bands, f.tnsBands = l.long, l.tnsLong
		f.maxBand = r.Take(6)
		if r.Flag() {
			return ErrUnsupported // prediction
		}
	} else {
		f.bands, f.tnsBands = l.short, l.tnsShort
		f.windows = shortWindows
		f.maxBand = r.Take(4)
		grouping := r.Take(7)
		for w := 1; w < shortWindows; w++ {
			if grouping>>(shortWindows-1-w)&1 == 0 {
				f.groups++
			}
			f.length[f.groups-1]++
		}
	}
	if f.maxBand >= len(f.bands) {
		return ErrPacket
	}
	return nil
}

// copyFrom takes over the layout that a pair shares, but not the shape before.
func (f *icsInfo) copyFrom(o *icsInfo) {
	before := f.shape
	*f = *o
	f.before = before
}

// channel is one channel's packet, and what it leaves to the next.
type channel struct {
	info   icsInfo
	gain   int
	book   [shortWindows][maxBands]uint8
	scale  [shortWindows][maxBands]int // scale factor, noise energy or intensity position
	pulses []pulse
	tns    tnsData
	quant  [frameLines]int16
	coef   [frameLines]float32
	behind [frameLines]float32 // second half of the window before
}

// pulse is added to a quantised line to save a larger codebook.
type pulse struct{ line, amount int }

// readStream reads an individual channel stream (table 4.50).
func (c *channel) readStream(r *bits.Reader, l *bandLayout, common bool) error {
	c.gain = r.Take(8)
	if !common {
		if err := c.info.read(r, l); err != nil {
			return err
		}
	}
	if err := c.readSections(r); err != nil {
		return err
	}
	if err := c.readScales(r); err != nil {
		return err
	}
	c.pulses = c.pulses[:0]
	if r.Flag() {
		if err := c.readPulses(r); err != nil {
			return err
		}
	}
	c.tns = tnsData{}
	if r.Flag() {
		if err := c.tns.read(r, &c.info); err != nil {
			return err
		}
	}
	if r.Flag() {
		return ErrUnsupported // gain control
	}
	return c.readLines(r)
}

// readSections reads which codebook each band has (table 4.52).
func (c *channel) readSections(r *bits.Reader) error {
	bits := 5
	if c.info.sequence == sequenceShort {
		bits = 3
	}
	escape := 1<<bits - 1
	for g := range c.info.groups {
		for at := 0; at < c.info.maxBand; {
			book := r.Take(4)
			n := 0
			for {
				more := r.Take(bits)
				n += more
				if more != escape || r.Past() {
					break
				}
			}
			if book == bookReserved || n > c.info.maxBand-at || r.Past() {
				return ErrPacket
			}
			for range n {
				c.book[g][at] = uint8(book)
				at++
			}
		}
	}
	return nil
}

// Scale factors, noise energies and intensity positions are each coded as the
// difference to the one before. The first noise energy is written in full, from
// noiseBase below the gain (sections 4.6.2.3.2, 4.6.13.3).
const (
	noiseBase = 90 + 256
	noiseBits = 9
)

// readScales reads the scale factor data (table 4.53).
func (c *channel) readScales(r *bits.Reader) error {
	scale, position, noise := c.gain, 0, c.gain-noiseBase
	first := true
	for g := range c.info.groups {
		for b := range c.info.maxBand {
			v := &c.scale[g][b]
			switch c.book[g][b] {
			case bookZero:
				*v = 0
			case bookIntensity, bookIntensity2:
				position += int(scaleCode.Read(r).Value) - scaleOffset
				*v = max(-255, min(position, 255))
			case bookNoise:
				if first {
					noise += r.Take(noiseBits)
					first = false
				} else {
					noise += int(scaleCode.Read(r).Value) - scaleOffset
				}
				// Beyond, the energy of a band is past what floats hold.
				*v = max(-200, min(noise, 200))
			default:
				scale += int(scaleCode.Read(r).Value) - scaleOffset
				if scale < 0 || scale > 255 {
					return ErrPacket
				}
				*v = scale
			}
		}
		if r.Past() {
			return ErrPacket
		}
	}
	return nil
}

// readPulses reads pulse data (table 4.7).
func (c *channel) readPulses(r *bits.Reader) error {
	if c.info.sequence == sequenceShort {
		return ErrPacket
	}
	n := r.Take(2) + 1
	band := r.Take(6)
	if band >= len(c.info.bands)-1 {
		return ErrPacket
	}
	line := c.info.bands[band]
	for range n {
		line += r.Take(5)
		if line >= frameLines {
			return ErrPacket
		}
		c.pulses = append(c.pulses, pulse{line, r.Take(4)})
	}
	return nil
}

// dropUpper leaves out the upper half of the lines.
func (c *channel) dropUpper() {
	n := frameLines / c.info.windows
	for w := range c.info.windows {
		clear(c.coef[w*n+n/2 : (w+1)*n])
	}
}

// silence makes the packet of a channel that has none.
func (c *channel) silence() {
	before := c.info.shape
	c.info = icsInfo{shape: before, before: before, windows: 1}
	clear(c.coef[:])
}
