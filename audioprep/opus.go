package audioprep

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"hark/audioprep/internal/opus"
)

// opusRate is the rate that all of Opus counts in: pre-skip, granules and
// durations, whatever the rate of what was encoded.
const opusRate = 48000

// opusCodec decodes Opus packets of one to 255 channels. They are packets for
// one or two channels, side by side, each for a decoder of its own (RFC 7845,
// section 5.1.1).
type opusCodec struct {
	channels int
	coupled  int // the first so many streams have two channels
	gain     float32
	mapping  []byte // for each channel the place among the decoded ones, 255: silent

	streams []*opus.Decoder
	decoded [][]float32 // one packet, each channel of each stream
	block   []float32
}

// newOpusCodec reads the identification header: "OpusHead" and what follows it
// in the first packet of an Ogg stream and in Matroska's CodecPrivate. skip is
// how many sample frames at the start are not to be heard.
func newOpusCodec(head []byte) (c *opusCodec, skip int, err error) {
	bad := func(text string) error {
		return errors.New("the Opus header " + text)
	}
	if len(head) < 19 {
		return nil, 0, bad("is cut short")
	}
	if head[8]&0xf0 != 0 {
		return nil, 0, unsupported(fmt.Sprintf("opus of version %d", head[8]), "")
	}
	c = &opusCodec{channels: int(head[9])}
	skip = int(binary.LittleEndian.Uint16(head[10:]))
	// In 1/256 dB.
	c.gain = float32(math.Pow(10, float64(int16(binary.LittleEndian.Uint16(head[16:])))/256/20))
	streams := 1
	switch family := head[18]; {
	case c.channels < 1:
		return nil, 0, bad("tells of 0 channels")
	case family == 0 && c.channels <= 2:
		c.coupled = c.channels - 1
		c.mapping = []byte{0, 1}[:c.channels]
	case family == 0:
		return nil, 0, bad(fmt.Sprintf("tells of %d channels in a form for two", c.channels))
	case family == 3:
		return nil, 0, unsupported("opus of channel mapping family 3", "its channels are mixed by a matrix")
	case len(head) < 21+c.channels:
		return nil, 0, bad("is cut short")
	default:
		streams, c.coupled = int(head[19]), int(head[20])
		c.mapping = append([]byte(nil), head[21:21+c.channels]...)
	}
	if streams < 1 || streams > maxChannels || c.coupled > streams {
		return nil, 0, bad(fmt.Sprintf("tells of %d streams, %d of them stereo", streams, c.coupled))
	}
	for _, v := range c.mapping {
		if v != 255 && int(v) >= streams+c.coupled {
			return nil, 0, bad("maps a channel to a stream that is not there")
		}
	}
	c.streams = make([]*opus.Decoder, streams)
	return c, skip, nil
}

func (c *opusCodec) form() (rate, channels int) { return opusRate, c.channels }

func (c *opusCodec) length(packets [][]byte) (n int) {
	for _, b := range packets {
		n += opus.PacketSamples(b)
	}
	return n
}

// lost has nothing to do: what is missing does not come back, and the decoder gets by
// within two packets.
func (c *opusCodec) lost() {}

// width is the number of channels of stream i.
func (c *opusCodec) width(i int) int {
	if i < c.coupled {
		return 2
	}
	return 1
}

func (c *opusCodec) decode(packet []byte) ([]float32, error) {
	n := opus.PacketSamples(packet)
	if n == 0 {
		return nil, opus.ErrPacket
	}
	c.decoded = c.decoded[:0]
	for i := range c.streams {
		b := packet
		if i < len(c.streams)-1 {
			var err error
			if b, packet, err = opus.SplitDelimited(packet); err != nil {
				return nil, err
			}
		}
		if opus.PacketSamples(b) != n {
			return nil, opus.ErrPacket
		}
		if c.streams[i] == nil {
			c.streams[i] = opus.NewDecoder(c.width(i))
		}
		x, err := c.streams[i].Decode(b)
		if err != nil {
			return nil, err
		}
		c.decoded = append(c.decoded, x...)
	}
	return c.interleave(n), nil
}

// interleave puts the decoded channels in their order and applies the gain.
func (c *opusCodec) interleave(n int) []float32 {
	if c.block == nil {
		c.block = make([]float32, opus.MaxSamples*c.channels)
	}
	block := c.block[:n*c.channels]
	for ch, v := range c.mapping {
		if v == 255 {
			for i := ch; i < len(block); i += c.channels {
				block[i] = 0
			}
			continue
		}
		for i, x := range c.decoded[v] {
			block[i*c.channels+ch] = x * c.gain
		}
	}
	return block
}
