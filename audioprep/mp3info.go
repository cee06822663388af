package audioprep

import (
	"encoding/binary"

	"hark/audioprep/internal/mpeg"
)

// An encoder puts its first samples some hundred samples into the stream and
// fills up the last frame; the decoder adds its own delay. LAME and its heirs
// say how much in a frame at the beginning that holds no audio ("Xing" or
// "Info", gabriel.mp3-tech.org/mp3infotag.html).

// decoderDelay is what the filter banks of any decoder add.
const decoderDelay = 529

// mp3Trim takes the padding off both ends of what is decoded.
type mp3Trim struct {
	start  int       // samples yet to drop
	frames int       // that the stream should have, 0 if not said
	end    int       // samples to drop at the end, if it has that many frames
	held   []float32 // the last end samples
}

// halve makes the trim one of every other sample and reports whether those are the odd ones, of
// which the first that is kept is one.
func (t *mp3Trim) halve() (odd bool) {
	odd = t.start%2 == 1
	t.start /= 2
	if odd {
		t.end++
	}
	t.end /= 2
	return odd
}

// parseMP3Info reads the info frame; isInfo says that b is one.
func parseMP3Info(h mpeg.Header, b []byte) (t mp3Trim, isInfo bool) {
	at := h.SideInfoAt() + h.SideInfoBytes()
	if vbri := mpeg.HeaderBytes + 32; len(b) >= vbri+4 && string(b[vbri:vbri+4]) == "VBRI" {
		return t, true
	}
	if len(b) < at+8 {
		return t, false
	}
	if tag := string(b[at : at+4]); tag != "Xing" && tag != "Info" {
		return t, false
	}
	flags := binary.BigEndian.Uint32(b[at+4:])
	at += 8
	if flags&1 != 0 && len(b) >= at+4 {
		t.frames = int(min(binary.BigEndian.Uint32(b[at:]), 1<<30))
	}
	for i, n := range [4]int{4, 4, 100, 4} { // frames, bytes, seek table, quality
		if flags>>i&1 != 0 {
			at += n
		}
	}
	const delayAt = 21
	if len(b) < at+delayAt+3 {
		return t, true
	}
	lame := b[at:]
	if lame[0] == 0 {
		return t, true // no encoder's name: the rest is not there
	}
	delay := int(lame[delayAt])<<4 | int(lame[delayAt+1])>>4
	padding := int(lame[delayAt+1]&15)<<8 | int(lame[delayAt+2])
	if delay > 0 || padding > 0 {
		t.start = delay + decoderDelay
		t.end = max(0, padding-decoderDelay)
	}
	return t, true
}

// write passes samples on to the sink, without those to be trimmed.
func (d *mp3Decoder) write(x []float32) error {
	ch := d.stream.Channels
	t := &d.trim
	if t.start > 0 {
		n := min(t.start, len(x)/ch)
		t.start -= n
		x = x[n*ch:]
	}
	if t.end == 0 {
		return d.s.write(x)
	}
	t.held = append(t.held, x...)
	n := len(t.held) - t.end*ch
	if n <= 0 {
		return nil
	}
	err := d.s.write(t.held[:n])
	t.held = t.held[:copy(t.held, t.held[n:])]
	return err
}

// flush passes on what is held unless it is the padding it was held for. A
// stream that was cut or lengthened has none at its end.
func (d *mp3Decoder) flush() error {
	if len(d.trim.held) == 0 || d.frames == d.trim.frames {
		return nil
	}
	return d.s.write(d.trim.held)
}
