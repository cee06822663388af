package aac

import "hark/audioprep/internal/bits"

// ADTSHeaderBytes is the length of a header without CRC.
const ADTSHeaderBytes = 7

// ADTSHeader is the header of a frame in the transport stream that .aac files are
// (section 1.A.2.2).
type ADTSHeader struct {
	Rate          int // Hz
	Configuration int // of channels; 0: the packet says
	Bytes         int // of the frame, header included
	HeaderBytes   int // 7, or 9 and more with CRCs
	Packets       int // in the frame, 1 to 4
	Object        int // audio object type
	protected     bool
}

// ParseADTS reads the header at the start of b; not ok if there is none.
func ParseADTS(b []byte) (h ADTSHeader, ok bool) {
	if len(b) < ADTSHeaderBytes || b[0] != 0xff || b[1]&0xf6 != 0xf0 {
		return h, false
	}
	rate := int(b[2] >> 2 & 15)
	if rate >= len(Rates) {
		return h, false
	}
	h = ADTSHeader{
		Rate:          Rates[rate],
		Configuration: int(b[2]&1)<<2 | int(b[3]>>6),
		Bytes:         int(b[3]&3)<<11 | int(b[4])<<3 | int(b[5])>>5,
		HeaderBytes:   ADTSHeaderBytes,
		Packets:       int(b[6]&3) + 1,
		Object:        int(b[2]>>6) + 1,
		protected:     b[1]&1 == 0,
	}
	if h.protected {
		h.HeaderBytes += 2 * h.Packets // places of the packets but the first, and a CRC
	}
	return h, h.Bytes > h.HeaderBytes
}

// SameStream reports whether a frame with header h can follow one with header o.
func (h ADTSHeader) SameStream(o ADTSHeader) bool {
	return h.Rate == o.Rate && h.Configuration == o.Configuration && h.Object == o.Object
}

// Config returns the form of the stream. first is the first frame, which says how many
// channels there are where the header does not.
func (h ADTSHeader) Config(first []byte) (Config, error) {
	c := Config{Rate: h.Rate, Channels: channelCounts[h.Configuration]}
	if h.Configuration != 0 {
		return c, nil
	}
	if len(first) <= h.HeaderBytes {
		return c, ErrPacket
	}
	r, _ := bits.Padded(nil, first[h.HeaderBytes:])
	if r.Take(3) != elementPCE {
		return c, ErrUnsupported
	}
	var err error
	c.Channels, err = parsePCE(&r)
	return c, err
}

// PacketTrailer is how many bytes of CRC follow each packet.
func (h ADTSHeader) PacketTrailer() int {
	if h.protected && h.Packets > 1 {
		return 2
	}
	return 0
}
