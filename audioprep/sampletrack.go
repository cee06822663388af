package audioprep

import "fmt"

// packetDecoder decodes the packets of one codec, which MP4, CAF and WAV files keep apart by
// their places.
type packetDecoder interface {
	// decode returns the interleaved samples of a packet, good until the next call.
	// After an error it can go on with the next packet.
	decode(packet []byte) ([]float32, error)
}

// sampleTrack takes a track's packets from the upload, decodes them and hands on what
// the container keeps of them.
type sampleTrack struct {
	in    *input
	s     *sink
	dec   packetDecoder
	frame int // sample frames of a packet: as many become silence where one is damaged
	keep  keeper

	buf       []byte
	spent     int64 // bytes of packets so far
	good, bad int
	first     error // of the packets that were bad
	short     bool  // a packet was not there, or not whole
	overlap   bool  // packets have more bytes together than the upload
}

// packet decodes the packet at d; false when there is no sense in going on, or no need.
func (t *sampleTrack) packet(d span) (more bool, err error) {
	if d.size <= 0 {
		return true, t.s.ctx.Err()
	}
	if d.pos < 0 || !t.in.reaches(d.pos+d.size) {
		t.short = true
		return false, nil
	}
	// Real packets don't overlap. Where they do, a small file could be read without end.
	if t.spent += d.size; t.spent > t.in.size {
		t.overlap = true
		return false, nil
	}
	var x []float32
	if d.size <= maxFrameBytes {
		if err := t.in.seek(d.pos); err != nil {
			return false, err
		}
		if int64(cap(t.buf)) < d.size {
			t.buf = make([]byte, d.size)
		}
		b := t.buf[:d.size]
		if _, err := t.in.readFull(b); err != nil {
			t.short = true
			return false, t.in.err
		}
		x, err = t.dec.decode(b)
	} else {
		err = fmt.Errorf("a packet of %d bytes", d.size)
	}
	if err != nil {
		t.bad++
		if t.first == nil {
			t.first = err
		}
		x = make([]float32, t.frame*t.s.info.Channels)
	} else {
		t.good++
	}
	err = t.keep.write(t.s, x)
	return !t.keep.done(), err
}

// note says what was wrong with the packets.
func (t *sampleTrack) note() {
	if t.bad > 0 {
		t.s.faults(fmt.Sprintf("%d damaged packets were replaced by silence", t.bad))
	}
	if t.overlap {
		t.s.faults("the index says more than the file holds: packets overlap")
	}
	if t.short {
		t.s.faults("truncated: the index has more packets than the file")
	}
}

// keeper passes on the stretches of a stream that its container keeps, such as all but
// the encoder's delay.
type keeper struct {
	keep []span // in sample frames, in order, without overlap; nil: everything
	at   int64  // sample frames seen
	out  halver
}

// write takes interleaved samples and hands the kept ones to s.
func (k *keeper) write(s *sink, x []float32) error {
	if k.keep == nil {
		return k.out.write(s, x)
	}
	ch := int64(s.info.Channels)
	from := k.at
	to := from + int64(len(x))/ch
	k.at = to
	for len(k.keep) > 0 {
		d := k.keep[0]
		lo, hi := max(from, d.pos), min(to, d.pos+d.size)
		if lo < hi {
			if err := k.out.write(s, x[(lo-from)*ch:(hi-from)*ch]); err != nil {
				return err
			}
		}
		if d.pos+d.size > to {
			break
		}
		k.keep = k.keep[1:]
	}
	return nil
}

// done reports that nothing of what follows is kept.
func (k *keeper) done() bool { return k.keep != nil && len(k.keep) == 0 }
