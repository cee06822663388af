// Package mpeg decodes MPEG audio: layer III ("MP3") and the layers I and II that old
// broadcast recordings are, of MPEG-1, MPEG-2 and the unofficial MPEG-2.5 with its
// rates of 8 to 12 kHz.
//
// # The format
//
// A stream is a chain of frames. A frame is a header (which see), side
// information, and main data; the main data of a frame may begin in the frames
// before it, up to 511 bytes back, where an encoder had bits to spare: the bit
// reservoir. It holds one or two granules of 576 frequency lines for each
// channel, each line quantised by a power law and Huffman coded:
//
//	bits ─ scale factors, Huffman codes ─► quantised lines ─ requantise ─► lines
//	  ─ stereo ─► left, right ─ reorder, alias reduction ─ hybrid filter bank ─►
//	  subband samples ─ polyphase filter ─► PCM
//
// Layers I and II have no reservoir and no lines: a frame holds samples of the
// subbands as they are, with fewer or more bits for each subband.
//
// ISO/IEC 11172-3:1993 (MPEG-1), ISO/IEC 13818-3:1998 (MPEG-2).
//
// # What it does not do
//
// Finding frames, tags and lengths in a file is the caller's, and so is finding
// the length of frames of free format. CRCs are passed over. No input makes it
// panic: bits that make no sense make noise, as with every decoder of a format
// that cannot tell.
package mpeg

import (
	"errors"

	"hark/audioprep/internal/bits"
)

// Errors of Decode. After each the decoder can go on with the next frame.
var (
	// ErrFrame: not a frame, or cut short.
	ErrFrame = errors.New("not a whole frame of MPEG audio")
	// ErrReservoir: the frame's data begins in frames that were not there.
	ErrReservoir = errors.New("the frame's data begins in a frame that is missing")
)

// reservoirBytes is how far back a frame's data may begin.
const reservoirBytes = 511

// Decoder holds what one frame leaves to the next. The zero value is ready for
// a stream's first frame. Not for concurrent use.
type Decoder struct {
	// MaxHz leaves out what lies above, in whole subbands: who resamples to a
	// lower rate need not pay for it. 0: nothing is left out.
	MaxHz int
	// Half writes every other sample of each channel only, from the first of each frame or with
	// Odd from the second. What lies above a quarter of the rate is left out.
	Half, Odd bool

	reservoir []byte
	data      []byte
	side      sideInfo
	values    [granuleLines]int16
	overlap   [2]overlap
	synthesis [2]synthesis
	half      [2]synthesisHalf
	sub       [bandLines][subbands]float32
	frame     subbandFrame
}

// MaxSamples is the most that Decode writes.
const MaxSamples = 2 * 2 * granuleLines

// Decode decodes one whole frame into interleaved samples of about [-1, 1]
// (lossy coding overshoots) and returns how many it wrote: h.Samples times
// h.Channels of the frame's header h, or half of it. dst must have room for MaxSamples. A frame of
// free format must end where frame does.
func (d *Decoder) Decode(dst []float32, frame []byte) (int, error) {
	h, ok := ParseHeader(frame)
	if h.Free() {
		h.Bytes = len(frame)
		h.bitRate = 8 * h.Bytes * h.Rate / max(h.Samples, 1) / 1000
	}
	if !ok || len(frame) < h.Bytes || h.Bytes < HeaderBytes {
		return 0, ErrFrame
	}
	frame = frame[:h.Bytes]
	var err error
	if h.Layer == 3 {
		err = d.lines(dst, h, frame)
	} else {
		err = d.samples(dst, h, frame)
	}
	if err != nil {
		return 0, err
	}
	n := h.Samples * h.Channels
	if d.Half {
		n /= 2
	}
	return n, nil
}

// lines decodes a frame of layer III.
func (d *Decoder) lines(dst []float32, h Header, frame []byte) error {
	sideEnd := h.SideInfoAt() + h.SideInfoBytes()
	if len(frame) < sideEnd {
		return ErrFrame
	}
	side := append(d.data[:0], frame[h.SideInfoAt():sideEnd]...)
	side = append(side, make([]byte, bits.Slack)...)
	d.side.read(h, side)
	d.data = side

	main := frame[sideEnd:]
	begin := d.side.mainBegin
	missing := begin > len(d.reservoir)
	d.data = d.data[:0]
	if !missing {
		d.data = append(d.data, d.reservoir[len(d.reservoir)-begin:]...)
	}
	d.data = append(d.data, main...)
	d.keep(main)
	if missing || d.bits(h) > 8*len(d.data) {
		return ErrReservoir
	}
	r := bits.Reader{End: 8 * len(d.data)}
	d.data = append(d.data, make([]byte, bits.Slack)...)
	r.Data = d.data
	for g := range h.granules() {
		d.granule(h, g, &r, dst)
	}
	return nil
}

// Reset forgets what came before, for a new stream.
func (d *Decoder) Reset() { *d = Decoder{MaxHz: d.MaxHz, Half: d.Half, Odd: d.Odd} }

// keep remembers the end of the main data for the next frame.
func (d *Decoder) keep(main []byte) {
	d.reservoir = append(d.reservoir, main...)
	if n := len(d.reservoir) - reservoirBytes; n > 0 {
		d.reservoir = d.reservoir[:copy(d.reservoir, d.reservoir[n:])]
	}
}

// top is how many subbands are decoded.
func (d *Decoder) top(h Header) int {
	most := subbands
	if d.Half {
		most /= 2
	}
	if d.MaxHz == 0 {
		return most
	}
	// A subband leaks into its neighbours, where what it leaked is taken back: keep two beyond.
	return min(most, d.MaxHz*2*subbands/h.Rate+3)
}

// write makes the samples of a channel of one of each subband, the row-th of a frame.
func (d *Decoder) write(dst []float32, channels, c, row int, s *[subbands]float32) {
	if !d.Half {
		d.synthesis[c].run(s, dst[row*subbands*channels+c:], channels)
		return
	}
	odd := 0
	if d.Odd {
		odd = 1
	}
	d.half[c].run(s, odd, dst[row*subbands/2*channels+c:], channels)
}

// bits is how many bits the side information says the granules have.
func (d *Decoder) bits(h Header) int {
	n := 0
	for g := range h.granules() {
		for c := range h.Channels {
			n += d.side.gr[g][c].bits
		}
	}
	return n
}

// granule decodes granule n of all channels.
func (d *Decoder) granule(h Header, n int, r *bits.Reader, dst []float32) {
	top := d.top(h)
	limit := top * bandLines
	for c := range h.Channels {
		g := &d.side.gr[n][c]
		end := r.At + g.bits
		if h.Version == 1 {
			var first *granule
			if n > 0 {
				first = &d.side.gr[0][c]
			}
			g.readScaleMPEG1(r, d.side.share[c], first)
		} else {
			g.readScaleMPEG2(r, c == 1 && h.intensity)
		}
		g.readLines(r, end, &d.values)
		g.requantise(&d.values, limit)
	}
	if h.Channels == 2 {
		undoStereo(h, &d.side.gr[n][0], &d.side.gr[n][1])
	}
	for c := range h.Channels {
		g := &d.side.gr[n][c]
		g.reorder(limit)
		used := min(top, (g.nonzero+bandLines-1)/bandLines)
		g.antialias(used)
		if g.layout.longSubbands > 0 {
			used = min(top, used+1) // the border may have leaked upwards
		}
		g.hybrid(&d.overlap[c], &d.sub, used, top)
		for t := range bandLines {
			d.write(dst, h.Channels, c, n*bandLines+t, &d.sub[t])
			clear(d.sub[t][top:])
		}
	}
}
