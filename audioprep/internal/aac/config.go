package aac

import (
	"hark/audioprep/internal/aac/sbr"
	"hark/audioprep/internal/bits"
)

// Config is the form of a stream.
type Config struct {
	Rate     int // of the decoded samples, in Hz
	Channels int // likewise, 1 to MaxChannels
	// SBR says that spectral band replication makes twice the rate of the core's, PS that
	// parametric stereo makes two channels of one.
	SBR, PS bool
	// Low asks to leave out what lies above a quarter of the rate, so that every other sample
	// says all.
	Low bool
}

// Frame is how many samples of each channel a packet makes.
func (c Config) Frame() int {
	if c.SBR {
		return sbr.Frame
	}
	return frameLines
}

func (c Config) coreRate() int {
	if c.SBR {
		return c.Rate / 2
	}
	return c.Rate
}

func (c Config) coreChannels() int {
	if c.PS {
		return 1
	}
	return c.Channels
}

// replicate sets what SBR makes of the form.
func (c *Config) replicate() {
	if !c.SBR {
		c.SBR, c.Rate = true, 2*c.Rate
	}
}

// parametric sets what PS makes of the form.
func (c *Config) parametric() {
	if c.SBR && c.Channels == 1 {
		c.PS, c.Channels = true, 2
	}
}

// maxReplicated is the highest rate of a core that has SBR.
const maxReplicated = 48000

// Discover returns the form as the first packet of the stream shows it: that there is
// SBR or parametric stereo need not be said anywhere else.
func (c Config) Discover(packet []byte) Config {
	whole := c
	if whole.coreRate() > maxReplicated {
		return c
	}
	whole.replicate()
	whole.parametric()
	d := NewDecoder(whole)
	r, _ := bits.Padded(nil, packet)
	if d.elements(&r) != nil {
		return c
	}
	for _, e := range d.sbr {
		if e != nil && e.Present() {
			c.replicate()
			if e.Stereo() {
				c.parametric()
			}
		}
	}
	return c
}

// Audio object types (table 1.17).
const (
	objectMain = 1
	objectLC   = 2
	objectLTP  = 4
	objectSBR  = 5
	objectPS   = 29
)

// channelCounts is the number of channels of each configuration (table 1.19, and
// those that ISO/IEC 23001-8 added).
var channelCounts = [16]int{1: 1, 2, 3, 4, 5, 6, 8, 11: 7, 12: 8, 14: 8}

// ParseConfig reads an AudioSpecificConfig (section 1.6.2.1), as MP4 keeps it in its
// elementary stream descriptor. ErrUnsupported: another kind of AAC than is decoded.
func ParseConfig(b []byte) (Config, error) {
	reader, _ := bits.Padded(nil, b)
	r := &reader
	var c Config
	object := readObject(r)
	c.Rate = readRate(r)
	channels := r.Take(4)
	extended, extendedRate := object, 0
	if object == objectSBR || object == objectPS {
		extendedRate = readRate(r)
		object = readObject(r)
	}
	if r.Past() || c.Rate <= 0 {
		return c, ErrPacket
	}
	// Streams of the main and LTP profiles often do without their tools.
	if object != objectMain && object != objectLC && object != objectLTP {
		return c, ErrUnsupported
	}
	if r.Flag() {
		return c, ErrUnsupported // frames of 960
	}
	if r.Flag() {
		r.Take(14) // delay of a core coder
	}
	r.Flag() // extension
	c.Channels = channelCounts[channels]
	switch {
	case channels == 0:
		n, err := parsePCE(r)
		if err != nil {
			return c, err
		}
		c.Channels = n
	case c.Channels == 0:
		return c, ErrUnsupported
	}
	if extended == object {
		extended, extendedRate = readExtension(r)
	}
	// With the rate of the core SBR adds nothing below half of it.
	if extendedRate == 2*c.Rate && c.Rate <= maxReplicated {
		c.replicate()
		if extended == objectPS {
			c.parametric()
		}
	}
	return c, nil
}

// readExtension looks for the sync word behind which old decoders don't look, and returns
// the type and the rate that stand there (table 1.15, syncExtensionType).
func readExtension(r *bits.Reader) (object, rate int) {
	const syncSBR, syncPS = 0x2b7, 0x548
	if r.At+16 > r.End || r.Take(11) != syncSBR {
		return 0, 0
	}
	if object = readObject(r); object != objectSBR || !r.Flag() {
		return 0, 0
	}
	rate = readRate(r)
	if r.At+12 <= r.End && r.Take(11) == syncPS && r.Flag() {
		object = objectPS
	}
	return object, rate
}

func readObject(r *bits.Reader) int {
	if t := r.Take(5); t != 31 {
		return t
	}
	return 32 + r.Take(6)
}

func readRate(r *bits.Reader) int {
	i := r.Take(4)
	if i == 15 {
		return r.Take(24)
	}
	if i >= len(Rates) {
		return 0
	}
	return Rates[i]
}

// parsePCE reads a program configuration element (table 4.2) and returns the number of
// its channels.
func parsePCE(r *bits.Reader) (channels int, err error) {
	r.Take(4 + 2 + 4) // tag, object type, rate
	var counts [4]int // front, side, back, low frequencies
	for i, bits := range [4]int{4, 4, 4, 2} {
		counts[i] = r.Take(bits)
	}
	data, coupled := r.Take(3), r.Take(4)
	for _, bits := range [3]int{4, 4, 3} { // mixdowns
		if r.Flag() {
			r.Take(bits)
		}
	}
	for i, n := range counts {
		for range n {
			channels++
			if i < 3 && r.Flag() {
				channels++ // a pair
			}
			r.Take(4)
		}
	}
	r.Skip(4*data + 5*coupled)
	r.Align()
	r.Skip(8 * r.Take(8)) // comment
	if r.Past() || channels == 0 {
		return 0, ErrPacket
	}
	if channels > MaxChannels {
		return 0, ErrUnsupported
	}
	return channels, nil
}
