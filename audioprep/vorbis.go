package audioprep

import (
	"errors"

	"hark/audioprep/internal/vorbis"
)

// vorbisCodec decodes Vorbis packets.
type vorbisCodec struct{ d *vorbis.Decoder }

func (c vorbisCodec) form() (rate, channels int) { return c.d.Rate(), c.d.Channels() }

func (c vorbisCodec) length(packets [][]byte) int { return c.d.Length(packets) }

func (c vorbisCodec) decode(packet []byte) ([]float32, error) {
	if len(packet) == 0 {
		return nil, nil // by which some writers fill up pages
	}
	return c.d.Decode(packet)
}

func (c vorbisCodec) lost() { c.d.Reset() }

// halve has the decoder leave out what lies above a quarter of the rate, if there is
// nothing wanted there, and reports whether it does.
func (c vorbisCodec) halve() bool {
	c.d.Low = c.d.Rate() >= lowest
	return c.d.Low
}

// decodeVorbis reads the other two header packets and decodes the stream.
func (st *oggStream) decodeVorbis(s *sink) error {
	for {
		_, ok, err := st.page()
		if err != nil {
			return err
		}
		if !ok {
			return &CorruptError{Container: "ogg", Err: errors.New("the setup header of Vorbis is missing")}
		}
		for _, b := range st.packets {
			if len(b) == 0 || b[0] != 5 {
				continue // comments
			}
			d, err := vorbis.NewDecoder(st.first, b)
			if err != nil {
				return &CorruptError{Container: "ogg", Err: err}
			}
			c := vorbisCodec{d}
			return st.decodePackets(&packetTrack{s: s, c: c, out: halver{on: c.halve()}}, nil)
		}
	}
}

// newMatroskaVorbis makes the decoder of a CodecPrivate of Vorbis: the number of
// header packets less one, their lengths but the last as Xiph laces them, and the
// packets.
func newMatroskaVorbis(private []byte) (vorbisCodec, error) {
	lacing := append([]byte{0x80, 0, 0, 1 << 1}, private...)
	_, _, headers, err := parseBlock(lacing, nil)
	if err != nil || len(headers) != 3 {
		return vorbisCodec{}, errors.New("the headers of Vorbis are damaged")
	}
	d, err := vorbis.NewDecoder(headers[0], headers[2])
	return vorbisCodec{d}, err
}
