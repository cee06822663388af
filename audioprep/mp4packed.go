package audioprep

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/mewkiz/flac/meta"

	"hark/audioprep/internal/mpeg"
)

// Codecs that are at home in other containers and met in MP4 files too.

// openOpus reads the OpusSpecificBox, which is the header of Ogg streams in big-endian and
// without its magic ("Encapsulation of Opus in ISO Base Media File Format", section 4.3.2).
func (t *mp4Track) openOpus(b []byte) error {
	if len(b) < 11 {
		return &CorruptError{Container: "mp4", Err: errors.New("the Opus header is cut short")}
	}
	head := append([]byte("OpusHead\x01"), b[1])
	head = binary.LittleEndian.AppendUint16(head, uint16(be16(b, 2)))
	head = binary.LittleEndian.AppendUint32(head, uint32(be32(b, 4)))
	head = binary.LittleEndian.AppendUint16(head, uint16(be16(b, 8)))
	c, skip, err := newOpusCodec(append(head, b[10:]...))
	if err != nil {
		return corrupt("mp4", err)
	}
	if len(t.edits) == 0 {
		t.edits = []mp4Edit{{media: scaleTime(int64(skip), opusRate, t.timescale)}}
	}
	t.codec, t.rate, t.channels, t.dec = "opus", opusRate, c.channels, c
	t.frame = opusRate / 50 // the usual 20 ms
	return nil
}

// openMP3 takes packets that are frames of MPEG-1, -2 or -2.5 layer III.
func (t *mp4Track) openMP3() {
	t.channels = max(1, min(t.channels, 2)) // some writers are wrong about it
	d := &mp3Packets{channels: t.channels, block: make([]float32, mpeg.MaxSamples)}
	d.dec.MaxHz = SampleRate / 2
	t.codec, t.dec, t.frame = "mp3", d, 1152
	if t.rate < 32000 {
		t.frame = 576 // MPEG-2
	}
}

// mp3Packets makes a packetDecoder of the MP3 decoder.
type mp3Packets struct {
	dec      mpeg.Decoder
	channels int
	block    []float32
}

func (d *mp3Packets) decode(packet []byte) ([]float32, error) {
	h, ok := mpeg.ParseHeader(packet)
	if !ok {
		return nil, mpeg.ErrFrame
	}
	n, err := d.dec.Decode(d.block, packet)
	if err != nil {
		return nil, err
	}
	return matchChannels(d.block[:n], h.Channels, d.channels), nil
}

// openFLAC reads the FLACSpecificBox: metadata blocks behind a version.
func (t *mp4Track) openFLAC(b []byte) error {
	info, err := parseStreamInfo(append([]byte("fLaC"), b[min(4, len(b)):]...))
	if err != nil {
		return &CorruptError{Container: "mp4", Err: err}
	}
	t.codec, t.rate, t.channels = "flac", int64(info.SampleRate), int(info.NChannels)
	t.frame = int(info.BlockSizeMax)
	t.dec = &flacPackets{info: info}
	return nil
}

// flacPackets makes a packetDecoder of the FLAC decoder.
type flacPackets struct {
	info  *meta.StreamInfo
	one   flacDecoder
	block []float32
}

func (d *flacPackets) decode(packet []byte) ([]float32, error) {
	h, ok := parseFlacHeader(packet)
	if h.bits == 0 {
		h.bits = int(d.info.BitsPerSample)
	}
	if !ok || h.channels != int(d.info.NChannels) || h.bits > 24 && h.paired {
		return nil, fmt.Errorf("no FLAC frame of %d channels", d.info.NChannels)
	}
	d.one.w = &sliding{b: packet, done: true}
	x, _ := d.one.decode(h)
	if x == nil {
		return nil, errors.New("a damaged FLAC frame")
	}
	d.block = h.interleave(d.block, x)
	return d.block, nil
}
