package audioprep

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
)

// An Ogg file holds logical streams: each has a serial number, begins with a
// page that says so and whose only packet tells the codec, and should end with
// a page that says so. Streams side by side (video, subtitles) all begin before
// any goes on; a stream that begins later is chained: the next song of a radio
// programme, the second half of two recordings put one behind the other.

// oggStream is one logical stream: the audio that is decoded. A file has one or,
// chained, several.
type oggStream struct {
	o     *oggPages
	first []byte // its first packet
	kind  string // as oggCodec names it

	serial  uint32
	seq     uint32 // of the next page
	data    bool   // a page after the first was seen
	ended   bool   // no more of its pages come
	last    bool   // the page that is marked as the last was seen
	partial []byte // the beginning of a packet that goes on in the next page
	packets [][]byte
	// lost says that pages are missing before the packets of the current one.
	lost bool
}

// oggCodecs are the beginnings of first packets.
var oggCodecs = []struct{ magic, name string }{
	{"OpusHead", "opus"}, {"\x01vorbis", "vorbis"}, {"\x7fFLAC", "flac"},
	{"Speex   ", "speex"}, {"\x80theora", "theora"}, {"fishead\x00", "skeleton"}, {"\x80kate\x00\x00\x00", "kate"},
	{"PCM     ", "pcm"}, {"\x01video\x00\x00\x00", "ogm video"}, {"BBCD\x00", "dirac"},
}

// oggCodec names the codec of the stream whose first packet is b.
func oggCodec(b []byte) string {
	for _, c := range oggCodecs {
		if bytes.HasPrefix(b, []byte(c.magic)) {
			return c.name
		}
	}
	return "an unknown codec"
}

// maxOggStreams is how many streams are read one after the other: days of songs.
// Setting up a decoder costs more than the few bytes that ask for it.
const maxOggStreams = 1000

func decodeOgg(in *input, s *sink) error {
	o := &oggPages{w: &sliding{in: in}}
	var foreign []string
	for n := 0; ; n++ {
		if n == maxOggStreams {
			s.faults(fmt.Sprintf("only the first %d streams are read", n))
			break
		}
		tracks, found, err := nextOggTracks(o)
		if err != nil {
			return err
		}
		foreign = append(foreign, found...)
		if tracks == nil {
			break
		}
		st, err := chooseOgg(s, tracks)
		if err != nil {
			return err
		}
		if err := st.decode(s); err != nil {
			return err
		}
	}
	o.report(s)
	switch {
	case s.opened():
		return nil
	case s.info.Codec == "" && len(foreign) > 0:
		return unsupported("ogg with "+strings.Join(foreign, " and "), "it has no track of Opus, Vorbis or FLAC")
	}
	return &CorruptError{Container: "ogg", Err: errAbsent}
}

// chooseOgg returns the stream to decode of those that begin together: the one asked
// for, else the first. Only the first ones of a file are listed; of those chained to
// them the one in the same place is taken.
func chooseOgg(s *sink, tracks []*oggStream) (*oggStream, error) {
	if s.info.Track > 0 {
		return tracks[min(s.info.Track, len(tracks))-1], nil
	}
	for i, st := range tracks {
		t := Track{Codec: st.kind, Default: i == 0}
		t.SampleRate, t.Channels = oggForm(st.kind, st.first)
		s.info.Tracks = append(s.info.Tracks, t)
	}
	i, err := s.pick()
	if err != nil {
		return nil, err
	}
	s.info.Codec = tracks[i].kind
	return tracks[i], nil
}

// oggForm reads rate and channels from a stream's first packet, 0 where they are not there.
func oggForm(kind string, first []byte) (rate, channels int) {
	switch {
	case kind == "opus" && len(first) > 9:
		return opusRate, int(first[9])
	case kind == "vorbis" && len(first) > 15:
		return int(binary.LittleEndian.Uint32(first[12:])), int(first[11])
	case kind == "flac" && len(first) > oggFLACMapping:
		if info, err := parseStreamInfo(first[oggFLACMapping:]); err == nil {
			return int(info.SampleRate), int(info.NChannels)
		}
	}
	return 0, 0
}

// decode decodes the stream's audio.
func (st *oggStream) decode(s *sink) error {
	switch st.kind {
	case "opus":
		c, skip, err := newOpusCodec(st.first)
		if err != nil {
			return corrupt("ogg", err)
		}
		return st.decodePackets(&packetTrack{s: s, c: c, skip: int64(skip)}, []string{"OpusTags"})
	case "vorbis":
		return st.decodeVorbis(s)
	case "flac":
		return st.decodeFLAC(s)
	}
	return unsupported("ogg with "+st.kind, "")
}

// report notes what was wrong with the pages.
func (o *oggPages) report(s *sink) {
	if o.unchecked {
		s.faults("the checksums of the pages are wrong")
	}
	if o.damaged > 0 {
		s.faults(fmt.Sprintf("%d damaged pages were left out", o.damaged))
	}
	if o.cut > 0 {
		s.faults(fmt.Sprintf("truncated: the last page has only %d bytes", o.cut))
	} else if o.passed > 0 {
		s.faults(fmt.Sprintf("%d bytes between pages were passed over", o.passed))
	}
}

// nextOggTracks reads the first pages of the streams that begin together next, and
// returns those of them that are audio we know, nil at the end of the upload. found
// names the others.
func nextOggTracks(o *oggPages) (tracks []*oggStream, found []string, err error) {
	for {
		p, ok, err := o.next()
		if err != nil || !ok {
			return tracks, found, err
		}
		if p.flags&oggFirst == 0 {
			if tracks == nil {
				continue // of a stream that is not ours
			}
			o.unread(p)
			return tracks, found, nil
		}
		name := oggCodec(p.body)
		switch known := name == "opus" || name == "vorbis" || name == "flac"; {
		case known && len(tracks) < maxListed:
			tracks = append(tracks, &oggStream{
				o: o, kind: name, serial: p.serial, seq: p.seq + 1,
				first: append([]byte(nil), p.body...),
			})
		case !known && len(found) < 4:
			found = append(found, name)
		}
	}
}

// page reads the stream's next page that ends a packet, and leaves the packets
// that end there in st.packets. It returns false at the stream's end.
func (st *oggStream) page() (p oggPage, ok bool, err error) {
	st.packets = st.packets[:0]
	st.lost = false
	for !st.ended {
		p, ok, err = st.o.next()
		if err != nil || !ok {
			st.ended = true
			return p, false, err
		}
		if p.flags&oggFirst != 0 && st.data {
			st.o.unread(p) // of a stream chained to this one
			st.ended = true
			return p, false, nil
		}
		if p.serial != st.serial || p.flags&oggFirst != 0 {
			continue
		}
		st.data = true
		st.last = p.flags&oggLast != 0
		st.ended = st.last
		if st.split(p); len(st.packets) > 0 || st.ended {
			return p, true, nil
		}
	}
	return p, false, nil
}

// split cuts the page into packets.
func (st *oggStream) split(p oggPage) {
	if p.seq != st.seq {
		st.lost = true
		st.partial = st.partial[:0]
	}
	st.seq = p.seq + 1
	lacing, body := p.lacing, p.body
	if p.flags&oggContinued != 0 && len(st.partial) == 0 {
		// The rest of a packet whose beginning is lost.
		n, k := 0, 0
		for k < len(lacing) {
			n += int(lacing[k])
			k++
			if lacing[k-1] < 255 {
				break
			}
		}
		lacing, body = lacing[k:], body[n:]
	} else if p.flags&oggContinued == 0 && len(st.partial) > 0 {
		st.lost = true
		st.partial = st.partial[:0]
	}
	n := 0
	for _, v := range lacing {
		n += int(v)
		if v == 255 {
			continue
		}
		packet := body[:n]
		if len(st.partial) > 0 {
			packet = append(st.partial, packet...)
			st.partial = nil
		}
		st.packets = append(st.packets, packet)
		body, n = body[n:], 0
	}
	st.partial = append(st.partial, body[:n]...)
}

// decodePackets decodes a stream whose pages count sample frames. headers are
// the beginnings of the packets between the first and the audio.
func (st *oggStream) decodePackets(t *packetTrack, headers []string) error {
	pos, placed := int64(0), false
	for {
		p, ok, err := st.page()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		packets := st.packets
		for len(headers) > 0 && len(packets) > 0 {
			if !bytes.HasPrefix(packets[0], []byte(headers[0])) {
				break
			}
			packets, headers = packets[1:], headers[1:]
		}
		if len(packets) == 0 {
			continue
		}
		headers = nil
		if !t.opened {
			if err := t.open("ogg"); err != nil {
				return err
			}
		}
		if st.lost && placed {
			t.c.lost()
		}
		n := int64(t.c.length(packets))
		keep := n
		switch start := p.granule - n; {
		case p.granule < 0:
			pos += n // no position: as if it followed
		case !placed:
			pos = start
			if start < 0 && p.flags&oggLast != 0 {
				pos, keep = 0, p.granule
			}
			if start < 0 && st.kind == "vorbis" {
				t.skip -= pos // the first samples are not to be heard
			}
			pos += n
			placed = true
		case p.flags&oggLast != 0 && start < pos:
			keep = max(0, p.granule-pos) // the end is padding
			pos = p.granule
		default:
			rate, _ := t.c.form()
			// Less than 20 ms is an encoder's error in counting.
			if hole := start - pos; hole > 0 && (st.lost || hole >= int64(rate/50)) {
				if err := t.gap(hole); err != nil {
					return err
				}
			}
			pos = p.granule
		}
		for _, b := range packets {
			k := int64(t.c.length([][]byte{b}))
			if err := t.packet(b, min(k, keep)); err != nil {
				return err
			}
			keep = max(0, keep-k)
		}
	}
	if t.opened && st.o.held == nil && st.o.cut == 0 && !st.last {
		t.s.faults("truncated: no page is marked as the last")
	}
	t.report()
	return nil
}
