package audioprep

import (
	"encoding/binary"
	"fmt"
	"math"
)

// fixedCodec makes a packetCodec of a decoder whose packets all have as many
// sample frames, but for a last one.
type fixedCodec struct {
	packetDecoder
	rate, channels, frame int
}

func (c fixedCodec) form() (rate, channels int) { return c.rate, c.channels }

func (c fixedCodec) length(packets [][]byte) int { return len(packets) * c.frame }

func (c fixedCodec) lost() {}

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
