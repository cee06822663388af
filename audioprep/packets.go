package audioprep

import "fmt"

// packetCodec decodes the packets of one track, whatever container they came in.
// It is made for a track's first packet and keeps what one packet leaves to the
// next.
type packetCodec interface {
	// form is the rate in Hz and the number of channels of all that decode
	// returns.
	form() (rate, channels int)
	// length is how many sample frames packets will give if they are decoded
	// next, one after the other. It looks at their first bits only.
	length(packets [][]byte) int
	// decode returns the interleaved samples of a packet, which hold until the
	// next call and may be changed. After an error the next packet can follow.
	decode(packet []byte) ([]float32, error)
	// lost says that packets are missing before the next one.
	lost()
}

// maxGapSeconds is how much silence is put in at most where a container says
// that there is a hole. Recorders of calls leave out minutes in which somebody
// was silent.
const maxGapSeconds = 600

// packetTrack passes what a codec makes of packets on to the sink: without what
// the encoder put in front and at the end, and with silence for what is lost.
type packetTrack struct {
	s      *sink
	out    halver // on if what c decodes allows it
	c      packetCodec
	skip   int64 // sample frames yet to be dropped
	opened bool
	bad    int   // packets that did not decode
	gaps   int   // that were filled
	filled int64 // sample frames of silence for them
	zeros  []float32
}

// open tells the sink the form of what is to come.
func (t *packetTrack) open(container string) error {
	rate, channels := t.c.form()
	if err := t.out.open(t.s, int64(rate), channels); err != nil {
		return &CorruptError{Container: container, Err: err}
	}
	t.opened = true
	return nil
}

// packet decodes one packet and passes on at most keep sample frames of it.
func (t *packetTrack) packet(data []byte, keep int64) error {
	_, channels := t.c.form()
	n := t.c.length([][]byte{data})
	x, err := t.c.decode(data)
	if err != nil {
		t.bad++
		t.c.lost()
		return t.silence(min(int64(n), keep))
	}
	frames := int64(len(x) / channels)
	if drop := min(t.skip, frames); drop > 0 {
		t.skip -= drop
		x = x[drop*int64(channels):]
		frames -= drop
		keep -= drop
	}
	if frames = min(frames, keep); frames <= 0 {
		return nil
	}
	return t.out.write(t.s, x[:frames*int64(channels)])
}

// gap fills a hole of so many sample frames.
func (t *packetTrack) gap(frames int64) error {
	rate, _ := t.c.form()
	frames = min(frames, int64(rate)*maxGapSeconds)
	if frames <= 0 {
		return nil
	}
	t.gaps++
	t.filled += frames
	return t.silence(frames)
}

// silence passes on zeros.
func (t *packetTrack) silence(frames int64) error {
	drop := min(t.skip, frames)
	t.skip -= drop
	frames -= drop
	_, channels := t.c.form()
	for frames > 0 {
		n := min(frames, 4096)
		if t.zeros == nil {
			t.zeros = make([]float32, 4096*channels)
		}
		if err := t.out.write(t.s, t.zeros[:n*int64(channels)]); err != nil {
			return err
		}
		frames -= n
	}
	return nil
}

// report notes what was wrong with the track.
func (t *packetTrack) report() {
	if t.bad > 0 {
		t.s.faults(fmt.Sprintf("%d damaged packets were replaced by silence", t.bad))
	}
	if t.gaps > 0 {
		rate, _ := t.c.form()
		t.s.faults(fmt.Sprintf("%d holes were filled with %v of silence", t.gaps, durationOf(t.filled, int64(rate))))
	}
}
