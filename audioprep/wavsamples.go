package audioprep

import (
	"encoding/binary"
	"math"
)

// decoder returns the function that turns raw samples into floats in [-1, 1);
// len(raw) is len(dst) times sampleBytes. Floats are passed on as they are,
// NaN and all: the sink deals with those.
func (f *wavFormat) decoder(order binary.ByteOrder) func(dst []float32, raw []byte) {
	switch {
	case f.tag == tagALaw:
		return tableDecoder(&aLawTable)
	case f.tag == tagMuLaw:
		return tableDecoder(&muLawTable)
	case f.tag == tagFloat && f.sampleBytes == 4:
		return func(dst []float32, raw []byte) {
			for i := range dst {
				dst[i] = math.Float32frombits(order.Uint32(raw[4*i:]))
			}
		}
	case f.tag == tagFloat:
		return func(dst []float32, raw []byte) {
			for i := range dst {
				dst[i] = float32(math.Float64frombits(order.Uint64(raw[8*i:])))
			}
		}
	case f.sampleBytes == 1: // the one unsigned width
		return func(dst []float32, raw []byte) {
			for i := range dst {
				dst[i] = (float32(raw[i]) - 128) / 128
			}
		}
	case f.sampleBytes == 2:
		return func(dst []float32, raw []byte) {
			for i := range dst {
				dst[i] = float32(int16(order.Uint16(raw[2*i:]))) / (1 << 15)
			}
		}
	case f.sampleBytes == 3:
		lo, hi := 0, 2
		if order == binary.BigEndian {
			lo, hi = 2, 0
		}
		return func(dst []float32, raw []byte) {
			for i := range dst {
				b := raw[3*i : 3*i+3]
				v := int32(b[hi])<<24 | int32(b[1])<<16 | int32(b[lo])<<8
				dst[i] = float32(v>>8) / (1 << 23)
			}
		}
	default:
		return func(dst []float32, raw []byte) {
			for i := range dst {
				dst[i] = float32(int32(order.Uint32(raw[4*i:]))) / (1 << 31)
			}
		}
	}
}

func tableDecoder(table *[256]float32) func(dst []float32, raw []byte) {
	return func(dst []float32, raw []byte) {
		for i := range dst {
			dst[i] = table[raw[i]]
		}
	}
}

// aLawTable and muLawTable hold the 256 values of ITU-T G.711 at 16-bit scale,
// divided by 32768.
var aLawTable, muLawTable = g711Tables()

func g711Tables() (a, mu [256]float32) {
	for i := range 256 {
		// A-law: even bits inverted, sign bit set for positive; 13-bit values.
		c := i ^ 0x55
		exp, man := c>>4&7, c&15
		v := man<<4 + 8
		if exp > 0 {
			v = (v + 0x100) << (exp - 1)
		}
		if c&0x80 == 0 {
			v = -v
		}
		a[i] = float32(v) / (1 << 15)
		// µ-law: all bits inverted, sign bit set for negative; bias 33 of 14-bit
		// values, hence 132 here.
		c = ^i & 0xff
		v = (c&15<<3+132)<<(c>>4&7) - 132
		if c&0x80 != 0 {
			v = -v
		}
		mu[i] = float32(v) / (1 << 15)
	}
	return a, mu
}
