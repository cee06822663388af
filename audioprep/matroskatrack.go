package audioprep

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"

	"hark/audioprep/internal/aac"
)

// matroskaTrack is a TrackEntry (RFC 9559, section 5.1.4).
type matroskaTrack struct {
	number   uint64
	kind     uint64 // 2: audio
	fallback bool   // not to be taken unless nothing else is there
	language string
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
		case 0x22b59c, 0x22b59d: // the latter, of BCP 47, comes behind the former and beats it
			if name := strings.TrimRight(string(body[:min(len(body), 64)]), "\x00"); name != "und" {
				t.language = strings.ToValidUTF8(name, "")
			}
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
	case "A_OPUS", "A_VORBIS", "A_AAC", "A_ALAC", "A_FLAC", "A_MPEG/L3", "A_MPEG/L2", "A_MPEG/L1",
		"A_PCM/INT/LIT", "A_PCM/INT/BIG", "A_PCM/FLOAT/IEEE":
		return t.encoded == ""
	}
	return false
}

// name is the codec as Info gives it.
func (t *matroskaTrack) name() string {
	switch t.codec {
	case "A_OPUS", "A_VORBIS", "A_AAC", "A_ALAC", "A_FLAC":
		return strings.ToLower(t.codec[2:])
	case "A_MPEG/L3", "A_MPEG/L2", "A_MPEG/L1":
		return "mp" + t.codec[len("A_MPEG/L"):]
	}
	if c, err := newMatroskaPCM(t); err == nil {
		return c.format.codec()
	}
	return t.codec
}

// chooseMatroska lists the audio tracks in s and returns the one to decode: the one
// asked for, else the one that players take, the first that is marked as a default of
// those that can be decoded.
func chooseMatroska(container string, s *sink, tracks []*matroskaTrack) (*matroskaTrack, error) {
	var audio []*matroskaTrack
	var foreign []string
	best := -1
	s.info.Tracks = nil
	for _, t := range tracks {
		if t.kind != matroskaAudio || len(audio) == maxListed {
			continue
		}
		if !t.supported() {
			foreign = append(foreign, t.foreignName())
		} else if best < 0 || audio[best].fallback && !t.fallback {
			best = len(audio)
		}
		audio = append(audio, t)
		s.info.Tracks = append(s.info.Tracks, t.listed())
	}
	switch {
	case len(tracks) == 0:
		return nil, &CorruptError{Container: container,
			Err: errors.New("no track is described: the beginning of the recording is missing")}
	case len(audio) == 0:
		return nil, &CorruptError{Container: container, Err: errors.New("there is no audio track")}
	}
	s.info.Tracks[max(best, 0)].Default = true
	i, err := s.pick()
	switch t := audio[i]; {
	case err != nil:
		return nil, err
	case t.supported():
		return t, nil
	case s.opt.Track > 0:
		return nil, unsupported(container+" with "+t.foreignName(), "")
	}
	return nil, unsupported(container+" with "+strings.Join(foreign, " and "), "")
}

// foreignName names a codec that isn't decoded.
func (t *matroskaTrack) foreignName() string {
	name := strings.TrimPrefix(t.codec, "A_")
	if t.encoded != "" {
		name = t.encoded + " " + name
	}
	return name
}

// listed is the track as Info lists it.
func (t *matroskaTrack) listed() Track {
	l := Track{Codec: t.foreignName(), Channels: t.channels, Language: t.language}
	if t.supported() {
		l.Codec = t.name()
	}
	if t.rate >= 1 && t.rate <= maxRate {
		l.SampleRate = int(t.rate)
	}
	return l
}

// packetTrack makes the decoder of a track whose frames are packets; first are some of them.
func (t *matroskaTrack) packetTrack(s *sink, first [][]byte) (*packetTrack, error) {
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
		if err != nil {
			return nil, err
		}
		return &packetTrack{s: s, c: c, out: halver{on: c.halve()}}, nil
	case "A_AAC":
		cfg, err := aac.ParseConfig(t.private)
		if err != nil || cfg.Channels == 0 {
			return nil, noAAC("matroska", err)
		}
		if len(first) > 0 {
			cfg = cfg.Discover(first[0])
		}
		d := newAACDecoder(cfg)
		c := fixedCodec{d, cfg.Rate, cfg.Channels, cfg.Frame()}
		return &packetTrack{s: s, c: c, out: halver{on: d.halve()}, skip: t.delaySamples(cfg.Rate)}, nil
	case "A_ALAC":
		d, err := newALAC(t.private)
		if err != nil {
			return nil, err
		}
		return &packetTrack{s: s, c: fixedCodec{d, d.cfg.Rate, d.cfg.Channels, d.cfg.FrameLength}}, nil
	case "A_PCM/INT/LIT", "A_PCM/INT/BIG", "A_PCM/FLOAT/IEEE":
		c, err := newMatroskaPCM(t)
		return &packetTrack{s: s, c: c}, err
	}
	return nil, fmt.Errorf("codec %q", t.codec)
}

// delaySamples is the delay in sample frames.
func (t *matroskaTrack) delaySamples(rate int) int64 {
	return (int64(min(t.delay, 1e9))*int64(rate) + 5e8) / 1e9
}

// opusHead is the header of a stream whose writer left it out.
func (t *matroskaTrack) opusHead() []byte {
	skip := t.delaySamples(opusRate)
	head := append([]byte("OpusHead\x01"), byte(min(t.channels, 255)))
	head = binary.LittleEndian.AppendUint16(head, uint16(min(skip, math.MaxUint16)))
	return append(head, 0x80, 0xbb, 0, 0, 0, 0, 0) // 48 kHz, no gain, family 0
}
