package mpeg

import (
	"math"
	mathbits "math/bits"

	"hark/audioprep/internal/bits"
)

// Layers I and II: each subband of a channel has a number of levels that its samples are
// quantised to, and a scale factor, in layer II up to three for thirds of the frame. ISO/IEC
// 11172-3, sections 2.4.1.5, 2.4.1.6 and 2.4.3.3.

// stretch is subbands, up to one, whose levels are chosen from the same list. A list has as many
// as the bits that choose count.
type stretch struct {
	to     int
	levels []int
}

var (
	levels1      = []int{0, 3, 7, 15, 31, 63, 127, 255, 511, 1023, 2047, 4095, 8191, 16383, 32767, 0}
	levelsLow    = []int{0, 3, 7, 15, 31, 63, 127, 255, 511, 1023, 2047, 4095, 8191, 16383, 32767, 65535}
	levelsMiddle = []int{0, 3, 5, 7, 9, 15, 31, 63, 127, 255, 511, 1023, 2047, 4095, 8191, 65535}
	levelsUpper  = []int{0, 3, 5, 7, 9, 15, 31, 65535}
	levelsTop    = []int{0, 3, 5, 65535}
	levelsSparse = []int{0, 3, 5, 9, 15, 31, 63, 127, 255, 511, 1023, 2047, 4095, 8191, 16383, 32767}
	levelsFew    = []int{0, 3, 5, 9, 15, 31, 63, 127}
	levelsHalf   = []int{0, 3, 5, 7, 9, 15, 31, 63, 127, 255, 511, 1023, 2047, 4095, 8191, 16383}
	levelsLast   = []int{0, 3, 5, 9}
)

// allocations are layer I's, layer II's by rate and bit rate (ISO/IEC 11172-3, tables B.2a to
// B.2d) and that of MPEG-2 (ISO/IEC 13818-3, table B.1).
var (
	allocation1 = []stretch{{32, levels1}}
	allocationA = []stretch{{3, levelsLow}, {11, levelsMiddle}, {23, levelsUpper}, {27, levelsTop}}
	allocationB = []stretch{{3, levelsLow}, {11, levelsMiddle}, {23, levelsUpper}, {30, levelsTop}}
	allocationC = []stretch{{2, levelsSparse}, {8, levelsFew}}
	allocationD = []stretch{{2, levelsSparse}, {12, levelsFew}}
	allocation2 = []stretch{{4, levelsHalf}, {11, levelsFew}, {30, levelsLast}}
)

func (h Header) allocation() []stretch {
	rate := h.bitRate / h.Channels
	switch {
	case h.Layer == 1:
		return allocation1
	case h.Version != 1:
		return allocation2
	case rate >= 56 && (h.Rate == 48000 || rate <= 80):
		return allocationA
	case rate >= 96:
		return allocationB
	case h.Rate != 32000 && rate <= 48:
		return allocationC
	}
	return allocationD
}

// scaleFactors is 2^(1-i/3) (table B.1). The last one is not in use.
var scaleFactors = func() (t [64]float32) {
	for i := range 63 {
		t[i] = float32(math.Exp2(1 - float64(i)/3))
	}
	return t
}()

// subbandFrame is how the samples of a frame are coded.
type subbandFrame struct {
	subbands int                     // that are coded
	own      int                     // of them that each channel has for itself
	levels   [2][subbands]int        // 0: nothing
	step     [2][subbands][3]float32 // between levels, by third
	out      [2][3][subbands]float32 // samples of a granule
	choice   [2][subbands]int        // layer II: which thirds share scale factors
}

// samples decodes a frame of layer I or II.
func (d *Decoder) samples(dst []float32, h Header, frame []byte) error {
	var r bits.Reader
	r, d.data = bits.Padded(d.data, frame)
	r.At = 8 * h.SideInfoAt()
	f := &d.frame
	f.read(&r, h)
	granules, rows := 12, 3
	if h.Layer == 1 {
		rows = 1
	}
	if r.Past() {
		return ErrFrame
	}
	top := d.top(h)
	for g := range granules {
		f.readGranule(&r, h.Channels, g/4, rows)
		for c := range h.Channels {
			for t := range rows {
				clear(f.out[c][t][min(top, f.subbands):])
				d.write(dst, h.Channels, c, g*rows+t, &f.out[c][t])
			}
		}
	}
	if r.Past() {
		return ErrFrame
	}
	return nil
}

// read reads all that stands before the samples.
func (f *subbandFrame) read(r *bits.Reader, h Header) {
	allocation := h.allocation()
	f.subbands = allocation[len(allocation)-1].to
	f.own = f.subbands
	if h.joint > 0 {
		f.own = min(h.joint, f.subbands)
	}
	f.levels = [2][subbands]int{}
	sb := 0
	for _, s := range allocation {
		for ; sb < s.to; sb++ {
			for c := range h.Channels {
				if c == 0 || sb < f.own {
					f.levels[c][sb] = s.levels[r.Take(mathbits.Len(uint(len(s.levels)-1)))]
				} else {
					f.levels[c][sb] = f.levels[0][sb]
				}
			}
		}
	}
	if h.Layer == 2 {
		f.each(h.Channels, func(c, sb int) { f.choice[c][sb] = r.Take(2) })
	}
	f.each(h.Channels, func(c, sb int) { f.readFactors(r, h.Layer, c, sb) })
}

// each calls do for everything that has samples.
func (f *subbandFrame) each(channels int, do func(c, sb int)) {
	for sb := range f.subbands {
		for c := range channels {
			if f.levels[c][sb] > 0 {
				do(c, sb)
			}
		}
	}
}

// readFactors reads the scale factors of a subband: one, or those of the thirds, of which two or
// all may be the same.
func (f *subbandFrame) readFactors(r *bits.Reader, layer, c, sb int) {
	var factor [3]int
	factor[0] = r.Take(6)
	factor[1], factor[2] = factor[0], factor[0]
	if layer == 2 {
		switch f.choice[c][sb] {
		case 0:
			factor[1], factor[2] = r.Take(6), r.Take(6)
		case 1:
			factor[2] = r.Take(6)
		case 3:
			factor[1] = r.Take(6)
			factor[2] = factor[1]
		}
	}
	for i, v := range factor {
		f.step[c][sb][i] = scaleFactors[v] / float32(f.levels[c][sb])
	}
}

// readGranule reads the next samples of all subbands, in layer II three of each.
func (f *subbandFrame) readGranule(r *bits.Reader, channels, third, rows int) {
	for sb := range f.subbands {
		var quantised [3]int
		for c := range channels {
			levels := f.levels[c][sb]
			if levels == 0 {
				for t := range rows {
					f.out[c][t][sb] = 0
				}
				continue
			}
			if c == 0 || sb < f.own {
				quantised = readSamples(r, levels, rows)
			}
			step := f.step[c][sb][third]
			for t := range rows {
				f.out[c][t][sb] = float32(2*quantised[t]-levels+1) * step
			}
		}
	}
}

// readSamples reads samples of one subband. Those of few levels are written as one number for
// three.
func readSamples(r *bits.Reader, levels, rows int) (q [3]int) {
	if rows == 3 && (levels == 3 || levels == 5 || levels == 9) {
		v := r.Take([10]int{3: 5, 5: 7, 9: 10}[levels])
		return [3]int{v % levels, v / levels % levels, v / levels / levels % levels}
	}
	n := mathbits.Len(uint(levels))
	for t := range rows {
		q[t] = r.Take(n)
	}
	return q
}
