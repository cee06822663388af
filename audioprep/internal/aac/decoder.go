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
// HE-AAC is this with half the rate, and beside each element what package sbr makes the
// upper half of the spectrum of; HE-AAC v2 is one channel, of which package ps makes two.
//
// # What it does not do
//
// Prediction, long-term prediction, gain control, channel coupling and frames of 960
// lines are refused with ErrUnsupported. No input makes it panic.
package aac

import (
	"errors"

	"hark/audioprep/internal/aac/sbr"

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

// frameLines is how many samples of each channel a packet holds, SBR aside.
const frameLines = sbr.CoreFrame

// MaxChannels is the most channels that a Config can ask for.
const MaxChannels = 8

// MaxSamples is the most that Decode writes.
const MaxSamples = MaxChannels * sbr.Frame

// Decoder holds what one packet leaves to the next. Not for concurrent use.
type Decoder struct {
	cfg    Config
	bands  *bandLayout
	ch     [MaxChannels]channel
	used   int // channels of ch in the packet under way
	parts  []part
	sbr    [MaxChannels]*sbr.Element // of parts
	passed bool                      // SBR that the configuration knows nothing of
	ms     msMask
	random uint32
	coder  transform
	core   [2][frameLines]float32
	input  []byte
}

// part is an element with sound.
type part struct{ first, channels int }

// NewDecoder returns a decoder for a stream of the given form, as ParseConfig or
// ADTSHeader.Config returns it.
func NewDecoder(c Config) *Decoder {
	d := &Decoder{cfg: c, random: noiseSeed, coder: newTransform()}
	d.bands = bandsFor(c.coreRate())
	return d
}

// CoreOnly reports whether packets so far held spectral band replication of which the
// configuration says nothing, so that only the lower half of the spectrum was decoded.
func (d *Decoder) CoreOnly() bool { return d.passed }

// Decode decodes one packet into interleaved samples of about [-1, 1] (lossy
// coding overshoots), Config.Frame times Config.Channels of them, in the order of the
// stream, which for more than two channels begins with the centre. It returns how
// many bytes of the packet were read. dst must have room for the samples; after
// an error it is not changed.
func (d *Decoder) Decode(dst []float32, packet []byte) (read int, err error) {
	var r bits.Reader
	r, d.input = bits.Padded(d.input, packet)
	if err := d.elements(&r); err != nil {
		return 0, err
	}
	if d.used == 0 {
		return 0, ErrPacket
	}
	if d.cfg.SBR {
		d.doubled(dst)
	} else {
		d.plain(dst)
	}
	// A fill element at the end may claim more than there is.
	return min((r.At+7)/8, len(packet)), nil
}

// plain writes the samples of all channels.
func (d *Decoder) plain(dst []float32) {
	n := d.cfg.Channels
	for c := range n {
		if c >= d.used {
			d.ch[c].silence()
		}
		if d.cfg.Low {
			d.ch[c].dropUpper()
		}
		d.coder.run(&d.ch[c], dst[c:], n)
	}
}

// doubled writes the samples that spectral band replication makes of all elements.
func (d *Decoder) doubled(dst []float32) {
	n := d.cfg.Channels
	clear(dst[:n*sbr.Frame])
	at := 0
	for i, p := range d.parts {
		e := d.replication(i)
		if at+e.Outputs() > n {
			break
		}
		for c := range p.channels {
			d.coder.run(&d.ch[p.first+c], d.core[c][:], 1)
		}
		e.Process(d.core[:p.channels], dst[at:], n)
		at += e.Outputs()
	}
}

// replication returns the decoder for the SBR of a part.
func (d *Decoder) replication(i int) *sbr.Element {
	e, channels := d.sbr[i], d.parts[i].channels
	if e == nil || e.Channels() != channels {
		e = sbr.New(d.cfg.coreRate(), channels, d.cfg.PS)
		e.Low = d.cfg.Low
		d.sbr[i] = e
	}
	return e
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
	d.used, d.parts = 0, d.parts[:0]
	for {
		kind := r.Take(3)
		if r.Past() {
			// Some encoders leave out the end element.
			if d.used >= d.cfg.coreChannels() {
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
	d.parts = append(d.parts, part{d.used - 1, 1})
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
	d.parts = append(d.parts, part{d.used - 2, 2})
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

// fill reads a fill element, of which nothing but SBR means anything to us. It belongs to the
// element before it.
func (d *Decoder) fill(r *bits.Reader) {
	n := r.Take(4)
	if n == 15 {
		n += r.Take(8) - 1
	}
	end := r.At + 8*n
	const sbrData, sbrDataCRC = 13, 14 // table 4.121
	if kind := r.Peek(4); n > 0 && (kind == sbrData || kind == sbrDataCRC) {
		if d.cfg.SBR && len(d.parts) > 0 && end <= r.End {
			body := bits.Reader{Data: r.Data, At: r.At + 4, End: end}
			// A payload that is damaged is as good as none.
			_ = d.replication(len(d.parts)-1).Read(body, kind == sbrDataCRC)
		}
		d.passed = d.passed || !d.cfg.SBR
	}
	r.At = end
}
