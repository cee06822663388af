// Package vorbis decodes the packets of Vorbis I.
//
// # The format
//
// A stream begins with three header packets: identification, comments, and
// setup, which holds all that is a constant in other codecs: the Huffman codes
// and their vectors (codebooks), and how they are used. Then each packet is one
// block of one of two sizes, which overlaps the blocks before and behind it by
// half:
//
//	bits ─ floor ─► the spectrum's envelope, a curve for each channel ─┐
//	     ─ residue ─► lines ─ inverse coupling ─► lines ── product ──► spectrum
//	     ─ inverse MDCT, window, overlap ─► samples
//
// A packet gives the samples from the middle of the block before to the middle of
// its own: the first one gives none.
//
// Vorbis I specification, xiph.org, 2020.
//
// # What it does not do
//
// Pages, positions and the trimming of ends are the container's. No input makes it
// panic; the memory that a setup header can ask for is bounded.
package vorbis

import (
	"errors"

	"hark/audioprep/internal/mdct"
)

// Errors of Decode. After each the decoder can go on with the next packet.
var (
	// ErrPacket: not an audio packet.
	ErrPacket = errors.New("not a Vorbis audio packet")
)

// Decoder holds a stream's setup and what one packet leaves to the next. Not for
// concurrent use.
type Decoder struct {
	// Low leaves out what lies above a quarter of the rate, so that every other sample says
	// all.
	Low bool

	rate     int
	channels int
	blocks   [2]block
	setup    *setup
	modeBits int

	previous int         // size of the block before, 0: none
	tail     [][]float32 // of each channel its right half, windowed
	lines    [][]float32 // of each channel
	floors   []floorCurve
	vectors  [][]float32 // of one submap
	mixed    []float32   // all channels of a residue of type 2
	classes  []int
	out      []float32
}

// block is one of the two sizes of blocks.
type block struct {
	size  int
	slope []float32 // the rising half of its window
	dct   *mdct.DCT4
}

// NewDecoder reads the first and the third header packet of a stream.
func NewDecoder(identification, setupHeader []byte) (*Decoder, error) {
	d := &Decoder{}
	if err := d.readIdentification(identification); err != nil {
		return nil, err
	}
	s, err := d.readSetup(setupHeader)
	if err != nil {
		return nil, err
	}
	d.setup = s
	d.modeBits = bitsFor(len(s.modes) - 1)
	d.tail, d.lines, d.vectors = make([][]float32, d.channels), make([][]float32, d.channels),
		make([][]float32, 0, d.channels)
	d.floors = make([]floorCurve, d.channels)
	long := d.blocks[1].size
	for c := range d.channels {
		d.tail[c] = make([]float32, long/2)
		d.lines[c] = make([]float32, long/2)
	}
	d.out = make([]float32, long*d.channels)
	return d, nil
}

// Rate is the sample rate in Hz.
func (d *Decoder) Rate() int { return d.rate }

// Channels is the number of channels, in the order of the specification's
// section 4.3.9.
func (d *Decoder) Channels() int { return d.channels }

// Reset forgets the block before: the next packet gives no samples.
func (d *Decoder) Reset() { d.previous = 0 }

// Length is how many sample frames packets give if they are decoded next.
func (d *Decoder) Length(packets [][]byte) (n int) {
	previous := d.previous
	for _, b := range packets {
		r := bitReader{b: b}
		size := d.blocks[d.readMode(&r).long].size
		if r.failed {
			continue
		}
		if previous > 0 {
			n += previous/4 + size/4
		}
		previous = size
	}
	return n
}

// readMode reads the beginning of a packet; r fails if it is none.
func (d *Decoder) readMode(r *bitReader) mode {
	isHeader := r.read(1) == 1
	n := int(r.read(d.modeBits))
	if isHeader || n >= len(d.setup.modes) {
		r.failed = true
		return mode{}
	}
	return d.setup.modes[n]
}

// Decode decodes a packet into interleaved samples of about [-1, 1] (lossy coding
// overshoots), which hold until the next call and may be changed. Packets that
// end too soon are what the specification makes of them.
func (d *Decoder) Decode(packet []byte) ([]float32, error) {
	r := bitReader{b: packet}
	m := d.readMode(&r)
	if r.failed {
		return nil, ErrPacket
	}
	left, right := d.blocks[m.long].size, d.blocks[m.long].size // of the overlaps
	if m.long == 1 {
		if r.read(1) == 0 {
			left = d.blocks[0].size
		}
		if r.read(1) == 0 {
			right = d.blocks[0].size
		}
	}
	d.spectrum(&r, &d.setup.mappings[m.mapping], d.blocks[m.long].size/2)
	return d.overlap(m.long, left, right), nil
}

// spectrum decodes the n lines of each channel.
func (d *Decoder) spectrum(r *bitReader, m *mapping, n int) {
	for c := range d.channels {
		f := d.setup.floors[m.submaps[m.mux[c]].floor]
		f.read(r, d.setup.codebooks, &d.floors[c])
		d.lines[c] = d.lines[c][:n]
		clear(d.lines[c])
	}
	// A silent channel coupled to one that is not has lines too.
	var used [maxChannels]bool
	for c := range d.channels {
		used[c] = d.floors[c].used
	}
	for _, step := range m.coupling {
		if used[step.magnitude] || used[step.angle] {
			used[step.magnitude], used[step.angle] = true, true
		}
	}
	for i, sub := range m.submaps {
		d.vectors = d.vectors[:0]
		any := false
		for c := range d.channels {
			if int(m.mux[c]) != i {
				continue
			}
			v := d.lines[c]
			if !used[c] {
				v = nil
			}
			any = any || used[c]
			d.vectors = append(d.vectors, v)
		}
		if any {
			d.residue(r, &d.setup.residues[sub.residue], n)
		}
	}
	for i := len(m.coupling) - 1; i >= 0; i-- {
		decouple(d.lines[m.coupling[i].magnitude], d.lines[m.coupling[i].angle])
	}
	for c := range d.channels {
		if !d.floors[c].used {
			clear(d.lines[c])
			continue
		}
		d.setup.floors[m.submaps[m.mux[c]].floor].apply(&d.floors[c], d.lines[c])
	}
}

// decouple turns a magnitude and an angle on a square into two channels.
func decouple(magnitude, angle []float32) {
	angle = angle[:len(magnitude)]
	for i, m := range magnitude {
		a := angle[i]
		switch {
		case m > 0 && a > 0:
			angle[i] = m - a
		case m > 0:
			angle[i], magnitude[i] = m, m+a
		case a > 0:
			angle[i] = m + a
		default:
			angle[i], magnitude[i] = m, m-a
		}
	}
}

// overlap transforms the lines and adds the left half of the block to the right
// half of the one before. left and right are the sizes of the smaller blocks of
// the two pairs.
func (d *Decoder) overlap(long, left, right int) []float32 {
	b := &d.blocks[long]
	half := b.size / 2
	n := d.previous/4 + b.size/4
	if d.previous == 0 {
		n = 0
	}
	out := d.out[:n*d.channels]
	for c := range d.channels {
		x := d.lines[c]
		if d.Low {
			clear(x[half/2:])
		}
		b.dct.Transform(x)
		if n > 0 {
			d.addLeft(out[c:], d.tail[c], x, left, n)
		}
		d.keepRight(d.tail[c][:half], x, right)
	}
	d.previous = b.size
	return out
}

// addLeft writes the n samples of a channel: the tail of the block before, which
// begins with the first, and the left half of this one, which ends with the last.
// The latter is x's second half, then its first, backwards and negated, then its
// second (see package mdct).
func (d *Decoder) addLeft(out, tail, x []float32, left, n int) {
	step, half := d.channels, len(x)
	tail = tail[:min(d.previous/2, n)]
	for i, v := range tail {
		out[i*step] = v
	}
	for i := len(tail); i < n; i++ {
		out[i*step] = 0
	}
	slope := d.slope(left)
	from := half/2 - left/4 // where the window rises
	to := from + len(slope)
	// A packet that is wrong about the one before could begin too early.
	first := max(from, half-n)
	at := (n - half + first) * step
	for i := first; i < half/2; i++ {
		out[at] += x[half/2+i] * slope[i-from]
		at += step
	}
	for i := max(first, half/2); i < to; i++ {
		out[at] -= x[half+half/2-1-i] * slope[i-from]
		at += step
	}
	for i := max(first, to); i < half; i++ {
		out[at] -= x[half+half/2-1-i]
		at += step
	}
}

// keepRight windows the right half of a block, for the next one.
func (d *Decoder) keepRight(tail, x []float32, right int) {
	half := len(x)
	slope := d.slope(right)
	from := half/2 - right/4 // where the window falls
	to := from + len(slope)
	for i := range from {
		tail[i] = -x[half/2-1-i]
	}
	for i := from; i < half/2; i++ {
		tail[i] = -x[half/2-1-i] * slope[to-1-i]
	}
	for i := half / 2; i < to; i++ {
		tail[i] = -x[i-half/2] * slope[to-1-i]
	}
	clear(tail[to:])
}

// slope is the rising half of the window of a block of so many samples.
func (d *Decoder) slope(size int) []float32 {
	if size == d.blocks[0].size {
		return d.blocks[0].slope
	}
	return d.blocks[1].slope
}
