package audioprep

import (
	"errors"
	"fmt"
	"io"
)

// A Matroska file, and WebM, which is Matroska with fewer codecs, is an EBML
// header and a Segment: descriptions of the file and its tracks, then clusters,
// each with a time and blocks of frames (RFC 9559). Browsers record to a stream:
// segment and clusters have no size, there is no duration and no index.
//
// Here segments and clusters are entered whatever size they claim, and what is
// in them is read one after the other, so that it does not matter where they
// end.

// IDs of elements, marker included (RFC 9559, section 5).
const (
	idEBML           = 0x1a45dfa3
	idSegment        = 0x18538067
	idInfo           = 0x1549a966
	idTracks         = 0x1654ae6b
	idCluster        = 0x1f43b675
	idTimestamp      = 0xe7
	idSimpleBlock    = 0xa3
	idBlockGroup     = 0xa0
	idBlock          = 0xa1
	idDiscard        = 0x75a2
	idTimestampScale = 0x2ad7b1
)

// matroskaOther are elements that may stand between those above.
var matroskaOther = map[uint32]bool{
	0xec: true, 0xbf: true, 0x114d9b74: true, 0x1c53bb6b: true, 0x1043a770: true, 0x1254c367: true,
	0x1941a469: true, 0xab: true, 0xa7: true, 0x5854: true, 0xaf: true,
}

const (
	// maxHeaderBytes is the most of descriptions that is read.
	maxHeaderBytes = 16 << 20
	// maxBlockBytes is the largest block of audio: a second of 64 channels of
	// 192 kHz has less.
	maxBlockBytes = 64 << 20
	// holeNanos is how much later than expected a block must be for a hole:
	// browsers stamp blocks with the time of capture, which jitters.
	holeNanos = 100e6
	// lostHoleNanos is the same where something is known to be missing.
	lostHoleNanos = 5e6
)

// matroska reads the blocks of one track.
type matroska struct {
	w         *sliding
	s         *sink
	container string

	scale   int64 // ns of a unit of time
	track   *matroskaTrack
	cluster int64 // time of the cluster, in units
	frames  [][]byte
	first   bool // the next block is the first of a recording
	again   int  // how often the tracks were described once more
	lost    bool // something is missing before the next block
	damaged int  // places where the elements stopped to make sense
	passed  int64
	cut     bool // the last element is not whole
	other   bool // a second stream, of another form, was left out
}

func decodeMatroska(in *input, s *sink, container string) error {
	m := &matroska{w: &sliding{in: in}, s: s, container: container, scale: 1e6}
	first, ok, err := m.next()
	if err != nil {
		return err
	}
	if m.track == nil {
		_, err := chooseMatroska(container, s, nil)
		return err
	}
	if !ok {
		return &CorruptError{Container: container, Err: errAbsent}
	}
	s.info.Codec = m.track.name()
	switch m.track.codec {
	case "A_FLAC":
		info, e := parseStreamInfo(m.track.private)
		if e != nil {
			return corrupt(container, e)
		}
		r := &packetReader{next: m.reader(first)}
		if err = decodeFLACFrames(nestedInput(in, r), s, info); err == nil {
			err = r.err
		}
	case "A_MPEG/L3", "A_MPEG/L2", "A_MPEG/L1":
		r := &packetReader{next: m.reader(first)}
		if err = decodeMP3(nestedInput(in, r), s); err == nil {
			err = r.err
		}
	default:
		err = m.decodePackets(first)
	}
	m.report()
	return err
}

// report notes what was wrong with the elements.
func (m *matroska) report() {
	if m.damaged > 0 {
		m.s.faults(fmt.Sprintf("damaged in %d places, %d bytes were passed over", m.damaged, m.passed))
	}
	if m.cut {
		m.s.faults("truncated: the last element is not whole")
	}
	if m.other {
		m.s.faults("a second recording of another form follows and was left out")
	}
}

// reader returns the frames of block after block.
func (m *matroska) reader(b matroskaBlock) func() ([][]byte, bool, error) {
	ok := true
	return func() ([][]byte, bool, error) {
		var err error
		if b.frames == nil {
			b, ok, err = m.next()
		}
		if err == nil && !ok {
			err = io.EOF
		}
		frames, lost := b.frames, b.lost
		b.frames = nil
		return frames, lost, err
	}
}

// decodePackets decodes a track whose frames are packets. Its blocks say when
// they are to be heard: a leap forward is a hole.
func (m *matroska) decodePackets(b matroskaBlock) error {
	t, err := m.track.packetTrack(m.s, b.frames)
	if err != nil {
		return corrupt(m.container, err)
	}
	if err := t.open(m.container); err != nil {
		return err
	}
	rate, _ := t.c.form()
	due, started := b.time, false
	for ok := true; ok; b, ok, err = m.next() {
		if b.lost {
			t.c.lost()
		}
		if b.first && started {
			again, err := m.track.packetTrack(m.s, b.frames)
			if err != nil {
				return corrupt(m.container, err)
			}
			t.c, t.skip, due = again.c, again.skip, b.time
		}
		started = true
		hole := b.time - due
		if hole > holeNanos || b.lost && hole > lostHoleNanos {
			hole = min(hole, maxGapSeconds*1e9)
			if err := t.gap(hole / 1000 * int64(rate) / 1e6); err != nil {
				return err
			}
		}
		n := int64(t.c.length(b.frames))
		due = b.time + n*1e9/int64(rate)
		if b.discard > 0 {
			// Rounded: the writer had whole sample frames.
			n -= (min(b.discard, 1e10)*int64(rate) + 5e8) / 1e9
		}
		for _, frame := range b.frames {
			k := int64(t.c.length([][]byte{frame}))
			if err := t.packet(frame, max(0, min(k, n))); err != nil {
				return err
			}
			n -= k
		}
	}
	t.report()
	return err
}

// next reads up to the next block of the chosen track; not ok at the end.
func (m *matroska) next() (b matroskaBlock, ok bool, err error) {
	for {
		head := m.w.fill(maxEBMLHeader)
		if len(head) == 0 || m.other {
			return b, false, nil
		}
		if err := m.w.in.ctx.Err(); err != nil {
			return b, false, err
		}
		id, size, n := ebmlHeader(head)
		if id == idSegment || id == idCluster {
			m.w.skip(n)
			continue
		}
		if n == 0 || size < 0 || !m.w.has(int64(n)+size) {
			m.resync(n > 0 && size > 0)
			continue
		}
		switch id {
		case idTimestamp, idInfo, idTracks:
			if size > maxHeaderBytes {
				return b, false, &CorruptError{Container: m.container,
					Err: errors.New("the description of its tracks is too large")}
			}
			err = m.describe(id, m.body(n, size))
		case idSimpleBlock, idBlockGroup:
			if size <= maxBlockBytes && m.wanted(id, n) {
				b, ok = m.block(id, m.body(n, size))
			}
		case idEBML:
		default:
			if !matroskaOther[id] && !m.plausible(n, size) {
				m.resync(false)
				continue
			}
		}
		m.w.jump(int64(n) + size)
		if err != nil || ok {
			return b, ok, err
		}
	}
}

// body returns the body of the element at the cursor.
func (m *matroska) body(n int, size int64) []byte {
	b := m.w.fill(n + int(size))
	return b[min(n, len(b)):min(n+int(size), len(b))]
}

// describe reads an element that says something about the blocks to come.
func (m *matroska) describe(id uint32, body []byte) error {
	switch id {
	case idTimestamp:
		m.cluster = int64(min(ebmlUint(body), 1<<62/uint64(m.scale)))
	case idInfo:
		ebmlChildren(body, func(id uint32, body []byte) {
			if v := ebmlUint(body); id == idTimestampScale && v > 0 && v <= 1e10 {
				m.scale = int64(v)
			}
		})
	case idTracks:
		listed, number := m.s.info.Tracks, m.s.info.Track
		t, err := chooseMatroska(m.container, m.s, parseMatroskaTracks(body))
		m.first = true
		if m.track == nil {
			m.track = t
			return err
		}
		// A second recording behind the first, as happens where the pieces of
		// several were put together.
		m.again++
		m.s.info.Tracks, m.s.info.Track = listed, number
		if err != nil || m.again > maxOggStreams || t.codec != m.track.codec ||
			string(t.private) != string(m.track.private) {
			m.other = true
			return nil
		}
		m.track = t
	}
	return nil
}

// wanted reports whether the element at the cursor may be a block of the chosen
// track. Those of video are large: they are not read.
func (m *matroska) wanted(id uint32, n int) bool {
	if m.track == nil || id != idSimpleBlock {
		return m.track != nil
	}
	head := m.w.fill(n + 8)
	number, k := ebmlNumber(head[min(n, len(head)):], false)
	return k > 0 && number == m.track.number
}

// block reads a SimpleBlock or a BlockGroup; not ok if it is of another track.
func (m *matroska) block(id uint32, body []byte) (b matroskaBlock, ok bool) {
	if id == idBlockGroup {
		group := body
		body = nil
		ebmlChildren(group, func(id uint32, part []byte) {
			switch id {
			case idBlock:
				body = part
			case idDiscard:
				b.discard = ebmlInt(part)
			}
		})
	}
	if number, n := ebmlNumber(body, false); n == 0 || number != m.track.number {
		return b, false
	}
	_, relative, frames, err := parseBlock(body, m.frames[:0])
	if err != nil {
		m.damaged++
		m.lost = true
		return b, false
	}
	if len(m.track.stripped) > 0 {
		for i, f := range frames {
			frames[i] = append(append([]byte(nil), m.track.stripped...), f...)
		}
	}
	m.frames = frames
	b.frames, b.time = frames, (m.cluster+relative)*m.scale
	b.lost, b.first = m.lost, m.first
	m.lost, m.first = false, false
	return b, true
}
