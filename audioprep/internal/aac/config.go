package aac

import "hark/audioprep/internal/bits"

// Config is the form of a stream.
type Config struct {
	Rate     int // of the decoded samples, in Hz
	Channels int // 1 to MaxChannels; 0: see the first packet
	// SBR says that the stream claims to be HE-AAC: what is decoded here is its core, of
	// half the rate; PS that it claims parametric stereo: the core is mono.
	SBR, PS bool
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
	if object == objectSBR || object == objectPS {
		c.SBR, c.PS = true, object == objectPS
		readRate(r) // with the extension
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
	c.readExtension(r)
	return c, nil
}

// readExtension looks for the sync word behind which old decoders don't look
// (table 1.15, syncExtensionType).
func (c *Config) readExtension(r *bits.Reader) {
	if r.At+16 > r.End || r.Take(11) != 0x2b7 {
		return
	}
	if readObject(r) != objectSBR || !r.Flag() {
		return
	}
	c.SBR = true
	readRate(r)
	if r.At+12 <= r.End && r.Take(11) == 0x548 {
		c.PS = r.Flag()
	}
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
