package audioprep

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
)

// matroskaTrack is a TrackEntry (RFC 9559, section 5.1.4).
type matroskaTrack struct {
	number   uint64
	kind     uint64 // 2: audio
	fallback bool   // not to be taken unless nothing else is there
	codec    string // CodecID
	private  []byte
	rate     float64
	channels int
	bits     int
	delay    uint64 // ns of the beginning that are not to be heard
	stripped []byte // that every frame begins with and that is not written
	encoded  string // how its frames are compressed or encrypted, "" if not
}

const matroskaAudio = 2

// parseMatroskaTracks reads the body of a Tracks element.
func parseMatroskaTracks(b []byte) (tracks []*matroskaTrack) {
	ebmlChildren(b, func(id uint32, body []byte) {
		const most = 256
		if id == 0xae && len(tracks) < most {
			tracks = append(tracks, parseMatroskaTrack(body))
		}
	})
	return tracks
}

func parseMatroskaTrack(b []byte) *matroskaTrack {
	t := &matroskaTrack{rate: 8000, channels: 1} // RFC 9559's defaults
	ebmlChildren(b, func(id uint32, body []byte) {
		switch id {
		case 0xd7:
			t.number = ebmlUint(body)
		case 0x83:
			t.kind = ebmlUint(body)
		case 0x88:
			t.fallback = ebmlUint(body) == 0
		case 0x86:
			t.codec = strings.TrimRight(string(body[:min(len(body), 64)]), "\x00")
		case 0x63a2:
			t.private = append([]byte(nil), body...)
		case 0x56aa:
			t.delay = ebmlUint(body)
		case 0xe1:
			ebmlChildren(body, t.parseAudio)
		case 0x6d80:
			ebmlChildren(body, func(id uint32, body []byte) {
				if id == 0x6240 {
					t.parseEncoding(body)
				}
			})
		}
	})
	return t
}

func (t *matroskaTrack) parseAudio(id uint32, body []byte) {
	switch id {
	case 0xb5:
		t.rate = ebmlFloat(body)
	case 0x9f:
		t.channels = int(min(ebmlUint(body), math.MaxInt32))
	case 0x6264:
		t.bits = int(min(ebmlUint(body), math.MaxInt32))
	}
}

// parseEncoding reads a ContentEncoding: of the four kinds of compression only
// the leaving out of a common beginning is met in audio.
func (t *matroskaTrack) parseEncoding(b []byte) {
	compression := false
	ebmlChildren(b, func(id uint32, body []byte) {
		switch id {
		case 0x5035:
			t.encoded = "encrypted"
		case 0x5034:
			compression = true
			algorithm := uint64(0)
			ebmlChildren(body, func(id uint32, body []byte) {
				switch id {
				case 0x4254:
					algorithm = ebmlUint(body)
				case 0x4255:
					t.stripped = append([]byte(nil), body...)
				}
			})
			if algorithm != 3 {
				t.encoded = "compressed"
			}
		}
	})
	if !compression && t.encoded == "" {
		t.encoded = "compressed" // zlib is what is not written
	}
}

// supported reports whether the track's codec is decoded.
func (t *matroskaTrack) supported() bool {
	switch t.codec {
	case "A_OPUS", "A_VORBIS", "A_FLAC", "A_MPEG/L3", "A_PCM/INT/LIT", "A_PCM/INT/BIG", "A_PCM/FLOAT/IEEE":
		return t.encoded == ""
	}
	return false
}

// chooseMatroska takes the audio track that players take: the first that is
// marked as a default, of those that can be decoded.
func chooseMatroska(container string, tracks []*matroskaTrack) (*matroskaTrack, error) {
	var best *matroskaTrack
	var foreign []string
	for _, t := range tracks {
		switch {
		case t.kind != matroskaAudio:
		case !t.supported():
			name := strings.TrimPrefix(t.codec, "A_")
			if t.encoded != "" {
				name = t.encoded + " " + name
			}
			foreign = append(foreign, name)
		case best == nil, best.fallback && !t.fallback:
			best = t
		}
	}
	switch {
	case best != nil:
		return best, nil
	case len(foreign) > 0:
		return nil, unsupported(container+" with "+strings.Join(foreign, " and "), "")
	case len(tracks) > 0:
		return nil, &CorruptError{Container: container, Err: errors.New("there is no audio track")}
	}
	return nil, &CorruptError{Container: container, Err: errors.New("no track is described")}
}

// packetTrack makes the decoder of a track whose frames are packets.
func (t *matroskaTrack) packetTrack(s *sink) (*packetTrack, error) {
	switch t.codec {
	case "A_OPUS":
		head := t.private
		if len(head) == 0 {
			head = t.opusHead()
		}
		c, skip, err := newOpusCodec(head)
		return &packetTrack{s: s, c: c, skip: int64(skip)}, err
	case "A_VORBIS":
		c, err := newMatroskaVorbis(t.private)
		return &packetTrack{s: s, c: c}, err
	case "A_PCM/INT/LIT", "A_PCM/INT/BIG", "A_PCM/FLOAT/IEEE":
		c, err := newMatroskaPCM(t)
		return &packetTrack{s: s, c: c}, err
	}
	return nil, fmt.Errorf("codec %q", t.codec)
}

// opusHead is the header of a stream whose writer left it out.
func (t *matroskaTrack) opusHead() []byte {
	skip := min(t.delay, 1e9) * opusRate / 1e9
	head := append([]byte("OpusHead\x01"), byte(min(t.channels, 255)))
	head = binary.LittleEndian.AppendUint16(head, uint16(min(skip, math.MaxUint16)))
	return append(head, 0x80, 0xbb, 0, 0, 0, 0, 0) // 48 kHz, no gain, family 0
}

// matroskaPCM takes blocks of plain samples for packets.
type matroskaPCM struct {
	format        wavFormat
	decodeSamples func(dst []float32, raw []byte)
	block         []float32
}

func newMatroskaPCM(t *matroskaTrack) (*matroskaPCM, error) {
	f := wavFormat{tag: tagPCM, channels: t.channels, rate: int64(t.rate), bits: t.bits, sampleBytes: (t.bits + 7) / 8}
	ok := f.bits >= 8 && f.bits <= 32
	if t.codec == "A_PCM/FLOAT/IEEE" {
		f.tag, ok = tagFloat, f.bits == 32 || f.bits == 64
	}
	if !ok {
		return nil, unsupported(fmt.Sprintf("matroska with samples of %d bits", f.bits), "")
	}
	if f.channels < 1 || f.channels > maxChannels {
		return nil, fmt.Errorf("%d channels: 1 to %d are taken", f.channels, maxChannels)
	}
	var order binary.ByteOrder = binary.LittleEndian
	if t.codec == "A_PCM/INT/BIG" {
		order = binary.BigEndian
	}
	return &matroskaPCM{format: f, decodeSamples: f.decoder(order)}, nil
}

func (c *matroskaPCM) form() (rate, channels int) {
	return int(min(c.format.rate, math.MaxInt32)), c.format.channels
}

func (c *matroskaPCM) length(packets [][]byte) (n int) {
	for _, b := range packets {
		n += len(b) / c.format.sampleBytes / c.format.channels
	}
	return n
}

func (c *matroskaPCM) decode(b []byte) ([]float32, error) {
	n := c.length([][]byte{b}) * c.format.channels
	if cap(c.block) < n {
		c.block = make([]float32, n)
	}
	c.decodeSamples(c.block[:n], b[:n*c.format.sampleBytes])
	return c.block[:n], nil
}

func (c *matroskaPCM) lost() {}
