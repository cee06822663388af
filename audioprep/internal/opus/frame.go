package opus

import (
	"math"

	"hark/audioprep/internal/opus/celt"
	"hark/audioprep/internal/opus/silk"
)

// frame decodes a frame of d.header's kind (RFC 6716, section 4).
func (d *Decoder) frame(b []byte, out [][]float32) {
	h := d.header
	fade := d.slices(&d.fade, 0, min(5*ms, h.samples))
	crossing := d.mode != none && (h.mode == celtOnly) != (d.mode == celtOnly)
	if crossing && h.mode == celtOnly {
		if d.redundant {
			crossing = false
		} else {
			d.conceal(fade)
		}
	}
	d.rc.Init(b)
	if h.mode != celtOnly {
		d.readSILK()
	}
	c := d.readCopy(b)
	if crossing && h.mode != celtOnly && !c.found {
		d.conceal(fade)
	}
	if c.found && c.first {
		d.readRedundant(c.data, fade)
	}
	d.readCELT(len(b)-len(c.data), c, out)
	if h.mode != celtOnly {
		d.addSILK(out)
	}
	switch {
	case c.found && c.first:
		enter(out, fade)
	case c.found:
		d.celt.Reset()
		d.readRedundant(c.data, fade)
		leave(out, fade)
	case crossing:
		enter(out, fade)
	}
	d.mode, d.redundant = h.mode, c.found && !c.first
}

// readSILK reads the SILK layer into d.low.
func (d *Decoder) readSILK() {
	if d.mode == celtOnly {
		d.silk.Reset()
	}
	form := silk.Form{KHz: d.header.kHz, Millis: d.header.samples / ms, Channels: d.header.channels}
	d.silk.Decode(&d.rc, form, d.low[:d.channels])
}

// addSILK adds d.low to out.
func (d *Decoder) addSILK(out [][]float32) {
	for c, x := range out {
		for i, v := range d.low[c][:len(x)] {
			x[i] += float32(v) * (1. / 32768)
		}
	}
}

// redundancy is 5 ms of the signal once more, by CELT, at the end of a frame (section
// 4.5.1).
type redundancy struct {
	found bool
	first bool // it is of the frame's beginning, else of its end
	data  []byte
}

// readCopy finds the redundant frame in b, behind the SILK layer.
func (d *Decoder) readCopy(b []byte) (c redundancy) {
	rc, need := &d.rc, 17
	if d.header.mode == hybrid {
		need += 20
	}
	if d.header.mode == celtOnly || rc.Tell()+need > 8*len(b) {
		return c
	}
	if d.header.mode == hybrid && rc.Bit(12) == 0 {
		return c
	}
	c.found, c.first = true, rc.Bit(1) == 1
	size := 0
	if d.header.mode == hybrid {
		size = int(rc.Uint(256)) + 2
	} else {
		size = len(b) - (rc.Tell()+7)/8
	}
	if 8*(len(b)-size) < rc.Tell() { // damaged: nothing of the CELT layer can be used
		c.found, c.data = false, b
		return c
	}
	c.data = b[len(b)-size:]
	rc.Shrink(size)
	return c
}

// readRedundant decodes a redundant frame.
func (d *Decoder) readRedundant(b []byte, out [][]float32) {
	d.spare.Init(b)
	d.celt.Decode(&d.spare, celt.Form{Log: 1, Channels: d.header.channels, End: d.header.bands}, out)
}

// readCELT reads the CELT layer, for which the frame has so many bytes.
func (d *Decoder) readCELT(size int, c redundancy, out [][]float32) {
	h := d.header
	d.bands = h.bands
	if h.mode == silkOnly {
		for _, x := range out {
			clear(x)
		}
		if d.mode == hybrid && !(c.found && c.first && d.redundant) {
			// The layer dies away.
			d.spare.Init([]byte{255, 255})
			d.celt.Decode(&d.spare, celt.Form{Channels: h.channels, End: h.bands}, out)
		}
		return
	}
	if d.mode != none && d.mode != h.mode && !d.redundant {
		d.celt.Reset()
	}
	form := celt.Form{Log: log2(h.samples), Channels: h.channels, Start: firstBand(h.mode), End: h.bands}
	if size <= 1 {
		d.celt.Conceal(form.Log, form.Start, form.End, out)
		return
	}
	d.celt.Decode(&d.rc, form, out)
}

// firstBand is the first that CELT codes.
func firstBand(m mode) int {
	if m == celtOnly {
		return 0
	}
	return 17 // 8 kHz
}

// log2 is how often 2.5 ms are doubled in so many samples.
func log2(samples int) (n int) {
	for samples > fadeFor<<n {
		n++
	}
	return n
}

// conceal makes up what was lost, as the frames before would have gone on.
func (d *Decoder) conceal(out [][]float32) {
	piece := make([][]float32, len(out))
	for at, end := 0, len(out[0]); at < end; {
		n := end - at
		switch {
		case n > 20*ms:
			n = 20 * ms
		case n > 10*ms && n < 20*ms:
			n = 10 * ms
		case n > 5*ms && n < 10*ms && d.mode != silkOnly:
			n = 5 * ms
		}
		for c, x := range out {
			piece[c] = x[at:][:n]
		}
		d.concealFrame(piece)
		at += n
	}
	d.redundant = false
}

func (d *Decoder) concealFrame(out [][]float32) {
	n := len(out[0])
	if d.mode == hybrid || d.mode == celtOnly {
		d.celt.Conceal(log2(n), firstBand(d.mode), d.bands, out)
	} else {
		for _, x := range out {
			clear(x)
		}
	}
	if d.mode == hybrid || d.mode == silkOnly {
		d.silk.Conceal(max(10, n/ms), d.low[:d.channels])
		d.addSILK(out)
	}
}

// enter replaces the beginning of out by that of old, 2.5 ms as they are and as much
// fading.
func enter(out, old [][]float32) {
	for c, x := range out {
		if len(x) >= 2*fadeFor {
			copy(x[:fadeFor], old[c])
			crossfade(x[fadeFor:2*fadeFor], old[c][fadeFor:], x[fadeFor:])
		} else {
			crossfade(x[:fadeFor], old[c], x)
		}
	}
}

// leave lets the end of out fade to that of next.
func leave(out, next [][]float32) {
	for c, x := range out {
		end := x[len(x)-fadeFor:]
		crossfade(end, end, next[c][fadeFor:])
	}
}

// crossfade writes to dst what fades from a to b.
func crossfade(dst, a, b []float32) {
	for i, w := range slope[:len(dst)] {
		dst[i] = w*b[i] + (1-w)*a[i]
	}
}

// slope is the square of the window of CELT's blocks.
var slope = func() (w [fadeFor]float32) {
	for i := range w {
		s := math.Sin(math.Pi / 2 * (float64(i) + 0.5) / fadeFor)
		s = math.Sin(math.Pi / 2 * s * s)
		w[i] = float32(s * s)
	}
	return w
}()
