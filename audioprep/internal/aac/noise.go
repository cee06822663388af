package aac

import "math"

// noise fills bands that are coded as nothing but their energy, 2^(e/2) over the band of each window
// (section 4.6.13). Which noise is not laid down. A right channel (left not nil) has the same noise as
// the left where the middle/side bit is set.
func (d *Decoder) noise(c, left *channel) {
	f := &c.info
	first := 0
	for g := range f.groups {
		for b := range f.maxBand {
			if c.book[g][b] != bookNoise {
				continue
			}
			same := left != nil && d.ms.used[g][b] && left.book[g][b] == bookNoise
			for w := first; w < first+f.length[g]; w++ {
				from, to := w*shortLines+f.bands[b], w*shortLines+f.bands[b+1]
				coef := c.coef[from:to]
				if same {
					copy(coef, left.coef[from:to])
				} else {
					d.fillNoise(coef)
				}
				energy := 0.0
				for _, v := range coef {
					energy += float64(v) * float64(v)
				}
				if energy == 0 {
					continue
				}
				scale := float32(math.Exp2(float64(c.scale[g][b])/4) / math.Sqrt(energy))
				for i := range coef {
					coef[i] *= scale
				}
			}
		}
		first += f.length[g]
	}
}

// noiseSeed could be any number; with this one the noise is that of libavcodec
// (aacdec_template.c), and decoders can be compared.
const noiseSeed = 0x1f2e3d4c

// fillNoise writes numbers of a linear congruential generator (Knuth, The Art of
// Computer Programming, volume 2, section 3.3.4, table 1, line 16).
func (d *Decoder) fillNoise(x []float32) {
	for i := range x {
		d.random = d.random*1664525 + 1013904223
		x[i] = float32(int32(d.random)) / (1 << 31)
	}
}
