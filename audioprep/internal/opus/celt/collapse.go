package celt

import "math"

// anticollapse fills short blocks of a band that got no pulses with noise, as loud as the
// quieter of the two frames before (section 4.3.5).
func (d *Decoder) anticollapse(f *frame) {
	for i := f.start; i < f.end; i++ {
		width := bandEdges[i+1] - bandEdges[i]
		depth := (1 + f.shapeBits[i]) / width >> f.log
		most := 0.5 * power2(-0.125*float32(depth))
		scale := 1 / float32(math.Sqrt(float64(f.width(i))))
		for c := range f.channels {
			before, twice := d.before[c][i], d.twice[c][i]
			if f.channels == 1 {
				before, twice = max(before, d.before[1][i]), max(twice, d.twice[1][i])
			}
			rise := max(0, d.energies[c][i]-min(before, twice))
			level := 2 * power2(-rise)
			if f.log == maxLog {
				level *= math.Sqrt2
			}
			level = min(most, level) * scale
			x := d.spectrum[c][bandEdges[i]<<f.log:][:f.width(i)]
			if d.fillBlocks(x, f.log, d.reader.masks[c][i], level) {
				normalize(x, 1)
			}
		}
	}
}

// fillBlocks fills the blocks that are not in mask.
func (d *Decoder) fillBlocks(x []float32, log int, mask uint, level float32) (filled bool) {
	for b := range 1 << log {
		if mask>>b&1 == 1 {
			continue
		}
		for at := b; at < len(x); at += 1 << log {
			d.seed = random(d.seed)
			x[at] = -level
			if d.seed&0x8000 != 0 {
				x[at] = level
			}
		}
		filled = true
	}
	return filled
}

func power2(x float32) float32 { return float32(math.Exp2(float64(x))) }
