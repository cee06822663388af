package aac

import "hark/audioprep/internal/huffman"

// scaleOffset is what stands for a difference of 0 between scale factors.
const scaleOffset = 60

var scaleCode = huffman.New(scaleLeaves, huffman.Hex)

// Codebooks of a band (table 4.151). 1 to 11 code lines; 1 and 2, 5 and 6 with their
// sign, the others without.
const (
	bookZero       = 0
	bookFirstPair  = 5
	bookEscape     = 11
	bookReserved   = 12
	bookNoise      = 13
	bookIntensity2 = 14 // out of phase
	bookIntensity  = 15 // in phase
)

// spectrumCodes are the codebooks 1 to 11. Signed values are moved up to be
// positive: see bookOffset.
var spectrumCodes = func() (t [12]*huffman.Table) {
	for book, leaves := range spectrumLeaves {
		switch {
		case book == 0:
		case book < bookFirstPair:
			t[book] = huffman.New(leaves, func(hi, lo int) huffman.Code {
				var c huffman.Code
				for i, v := 0, hi<<4|lo; i < 4; i, v = i+1, v/3 {
					c.Value |= uint16(v%3) << (4 * i)
					if v%3 != 0 {
						c.Signs++
					}
				}
				return c
			})
		default:
			t[book] = huffman.New(leaves, func(hi, lo int) huffman.Code {
				c := huffman.Code{Value: uint16(hi<<8 | lo)}
				for _, v := range [2]int{hi, lo} {
					if v != 0 {
						c.Signs++
					}
				}
				return c
			})
		}
	}
	return t
}()

// bookOffset is what the values of the signed books are moved up by.
var bookOffset = [12]int16{1: 1, 2: 1, 5: 4, 6: 4}
