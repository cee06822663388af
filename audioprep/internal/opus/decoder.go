// Package opus decodes Opus packets to samples at 48 kHz.
//
// # The format
//
// A packet has a byte that tells mode, band and duration, and one or more frames. A frame
// is coded by one or both of two layers, which read the same stream of symbols one after
// the other:
//
//	          ┌─ SILK, speech up to 8 kHz ─ 48 kHz ─┐
//	frame ────┤                                     ├─ sum ─► samples
//	          └─ CELT, music, or above 8 kHz ───────┘
//
// Where the mode changes, one of the frames has 5 ms of the signal once more at its end, by
// CELT, to fade from one to the other; if it has not, what would have followed in the old
// mode is made up for it.
//
// RFC 6716, changed by RFC 8251; what they leave open, such as lost frames, is as in the
// reference implementation. Packages rangecoder, silk and celt hold the parts.
//
// # What it does not do
//
// Copies of frames for the case of loss (FEC) are passed over. Containers, channel maps and
// gains are the caller's. No input makes it panic; memory is fixed, and time bounded by
// the samples that come out.
package opus

import (
	"hark/audioprep/internal/opus/celt"
	"hark/audioprep/internal/opus/rangecoder"
	"hark/audioprep/internal/opus/silk"
)

const (
	ms      = 48         // samples
	fadeFor = 5 * ms / 2 // how long one mode fades to another, also the shortest frame
)

// Decoder decodes the packets of one stream. Not for concurrent use.
type Decoder struct {
	channels int
	silk     *silk.Decoder
	celt     *celt.Decoder
	rc       rangecoder.Decoder
	spare    rangecoder.Decoder // for frames inside a frame

	header    header // of the packet before
	mode      mode   // of the frame before
	bands     int    // of CELT, likewise
	redundant bool   // the frame before ended with a copy by CELT

	frames [][]byte
	out    [2][]float32 // a packet
	low    [2][]int16   // a frame of SILK
	fade   [2][]float32 // 5 ms to fade from or to
}

// NewDecoder returns a decoder for one or two channels. Packets may have either number,
// whatever is asked for here.
func NewDecoder(channels int) *Decoder {
	d := &Decoder{channels: channels, silk: silk.NewDecoder(channels), celt: celt.NewDecoder(channels)}
	for c := range channels {
		d.out[c] = make([]float32, MaxSamples)
		d.low[c] = make([]int16, silk.MaxMillis*ms)
		d.fade[c] = make([]float32, 5*ms)
	}
	return d
}

// Decode decodes a packet. It returns the samples of each channel, which hold until the
// next call and may be changed; full scale is ±1, which loud signals exceed. On an error,
// ErrPacket, nothing has changed.
func (d *Decoder) Decode(packet []byte) ([][]float32, error) {
	h, frames, err := split(d.frames[:0], packet)
	if err != nil {
		return nil, err
	}
	d.header, d.frames = h, frames
	at := 0
	for _, f := range frames {
		out := d.slices(&d.out, at, h.samples)
		if len(f) <= 1 { // nothing was sent, or it was lost
			d.conceal(out)
		} else {
			d.frame(f, out)
		}
		at += h.samples
	}
	return d.slices(&d.out, 0, at), nil
}

// slices returns n samples of each channel of a buffer.
func (d *Decoder) slices(b *[2][]float32, at, n int) [][]float32 {
	var s [2][]float32
	for c := range d.channels {
		s[c] = b[c][at:][:n]
	}
	return s[:d.channels]
}
