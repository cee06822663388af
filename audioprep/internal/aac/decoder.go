// Package aac decodes MPEG-4 AAC, the low-complexity profile ("AAC-LC"), which is
// what phones, browsers and music shops write, and the low-complexity core of
// HE-AAC.
//
// # The format
//
// A packet (raw_data_block) holds 1024 samples of each channel, as a row of
// elements: a single channel, a pair of channels, fill. A channel is 1024
// frequency lines, either of one long window or of eight short ones of 128, cut
// into bands. Each band has a codebook for its lines and a scale factor:
//
//	bits ─ ics_info, sections, scale factors ─► what is coded how
//	     ─ Huffman codes, pulses ─► quantised lines ─ power 4/3, gain, noise ─► lines
//	     ─ mid/side, intensity ─► left, right ─ temporal noise shaping ─►
//	     ─ inverse MDCT, window, overlap with the packet before ─► PCM
//
// ISO/IEC 14496-3:2009, subpart 4; tables and sections are named from it.
//
// # What it does not do
//
// SBR and parametric stereo, which make HE-AAC of AAC-LC, are passed over: what is
// decoded then has half the rate and the lower half of the spectrum. Prediction,
// long-term prediction, gain control, channel coupling and frames of 960 lines
// are refused with ErrUnsupported. No input makes it panic.
package aac

import (
	"errors"

	"hark/audioprep/internal/bits"
)

// Errors of Decode and ParseConfig. After each the decoder can go on with the
// next packet.
var (
	// ErrPacket: bits that cannot be, or fewer than there should be.
	ErrPacket = errors.New("the packet is damaged")
	// ErrUnsupported: a tool of AAC that is not decoded.
	ErrUnsupported = errors.New("a tool of AAC beyond the low-complexity profile")
)

// frameLines is how many samples of each channel a packet holds.
const frameLines = 1024

// MaxChannels is the most channels that a Config can ask for.
const MaxChannels = 8

// MaxSamples is the most that Decode writes.
const MaxSamples = MaxChannels * frameLines

// Frame is how many samples of each channel a packet makes.
const Frame = frameLines

// Decoder holds what one packet leaves to the next. Not for concurrent use.
type Decoder struct {
	cfg    Config
	bands  *bandLayout
	ch     [MaxChannels]channel
	used   int // channels of ch in the packet under way
	ms     msMask
	random uint32
	sbr    bool
	coder  transform
	input  []byte
}

// NewDecoder returns a decoder for a stream of the given form, as ParseConfig or
// ADTSHeader.Config returns it.
func NewDecoder(c Config) *Decoder {
	d := &Decoder{cfg: c, random: 1}
	d.bands = bandsFor(c.Rate)
	return d
}

// SBR reports whether packets so far held spectral band replication, which HE-AAC
// may do without saying so in its configuration.
func (d *Decoder) SBR() bool { return d.sbr }

// Decode decodes one packet into interleaved samples of about [-1, 1] (lossy
// coding overshoots), Frame times Config.Channels of them, in the order of the
// stream, which for more than two channels begins with the centre. It returns how
// many bytes of the packet were read. dst must have room for the samples; after
// an error it is not changed.
func (d *Decoder) Decode(dst []float32, packet []byte) (read int, err error) {
	var r bits.Reader
	r, d.input = bits.Padded(d.input, packet)
	d.used = 0
	if err := d.elements(&r); err != nil {
		return 0, err
	}
	if d.used == 0 {
		return 0, ErrPacket
	}
	n := d.cfg.Channels
	for c := range n {
		if c >= d.used {
			d.ch[c].silence()
		}
		d.coder.run(&d.ch[c], dst[c:], n)
	}
	// A fill element at the end may claim more than there is.
	return min((r.At+7)/8, len(packet)), nil
}

// Types of elements (table 4.85).
const (
	elementSCE = iota // single channel
	elementCPE        // channel pair
	elementCCE        // coupling channel
	elementLFE        // low frequencies
	elementDSE        // data of others
	elementPCE        // program configuration
	elementFIL        // fill and extensions
	elementEND
)

// elements reads all elements of a packet.
func (d *Decoder) elements(r *bits.Reader) error {
	for {
		kind := r.Take(3)
		if r.Past() {
			// Some encoders leave out the end element.
			if d.used >= d.cfg.Channels {
				return nil
			}
			return ErrPacket
		}
		var err error
		switch kind {
		case elementSCE, elementLFE:
			err = d.single(r)
		case elementCPE:
			err = d.pair(r)
		case elementCCE:
			return ErrUnsupported
		case elementDSE:
			skipData(r)
		case elementPCE:
			if d.used > 0 {
				return ErrPacket
			}
			_, err = parsePCE(r)
		case elementFIL:
			d.fill(r)
		case elementEND:
			if r.Past() {
				return ErrPacket
			}
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// next is the channel that the next element decodes into, nil if there are too many. Those
// beyond the configuration are decoded and not heard.
func (d *Decoder) next() *channel {
	if d.used >= MaxChannels {
		return nil
	}
	d.used++
	return &d.ch[d.used-1]
}

func (d *Decoder) single(r *bits.Reader) error {
	c := d.next()
	if c == nil {
		return ErrPacket
	}
	r.Take(4) // instance tag
	if err := c.readStream(r, d.bands, false); err != nil {
		return err
	}
	c.dequantise()
	d.noise(c, nil)
	c.shape()
	return nil
}

func (d *Decoder) pair(r *bits.Reader) error {
	left, right := d.next(), d.next()
	if right == nil {
		return ErrPacket
	}
	r.Take(4) // instance tag
	common := r.Flag()
	d.ms = msMask{}
	if common {
		if err := left.info.read(r, d.bands); err != nil {
			return err
		}
		right.info.copyFrom(&left.info)
		if err := d.ms.read(r, &left.info); err != nil {
			return err
		}
	}
	if err := left.readStream(r, d.bands, common); err != nil {
		return err
	}
	if err := right.readStream(r, d.bands, common); err != nil {
		return err
	}
	left.dequantise()
	right.dequantise()
	if common {
		d.noise(left, nil)
		d.noise(right, left)
		d.ms.undo(left, right)
	} else {
		d.noise(left, nil)
		d.noise(right, nil)
	}
	undoIntensity(left, right, &d.ms)
	left.shape()
	right.shape()
	return nil
}

// skipData passes over a data stream element.
func skipData(r *bits.Reader) {
	r.Take(4) // instance tag
	align := r.Flag()
	n := r.Take(8)
	if n == 255 {
		n += r.Take(8)
	}
	if align {
		r.Align()
	}
	r.Skip(8 * n)
}

// fill passes over a fill element and notes what extension it holds.
func (d *Decoder) fill(r *bits.Reader) {
	n := r.Take(4)
	if n == 15 {
		n += r.Take(8) - 1
	}
	const sbrData, sbrDataCRC = 13, 14 // table 4.121
	if n > 0 {
		if t := r.Peek(4); t == sbrData || t == sbrDataCRC {
			d.sbr = true
		}
	}
	r.Skip(8 * n)
}
