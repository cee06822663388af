package vorbis

import "errors"

// floor is the spectrum's envelope, one of two kinds.
type floor interface {
	// read decodes the curve of one channel. Where the packet ends too soon, the channel
	// is silent.
	read(r *bitReader, books []*codebook, c *floorCurve)
	// apply multiplies the lines by the curve.
	apply(c *floorCurve, lines []float32)
}

// floorCurve is the floor of one channel in one block.
type floorCurve struct {
	used bool
	// Of type 1.
	y     [maxFloorPoints]int
	drawn [maxFloorPoints]bool // false: the point is on the line anyway
	// Of type 0.
	amplitude uint32
	cosines   []float64 // of the line spectral frequencies
}

// maxFloorPoints is the most that the specification allows.
const maxFloorPoints = 65

var errFloor = errors.New("the setup header's floors are damaged")

// readFloor reads a floor of a stream with blocks of two sizes.
func readFloor(r *bitReader, books []*codebook, sizes [2]int) (floor, error) {
	switch kind := r.read(16); {
	case r.failed || kind > 1:
		return nil, errFloor
	case kind == 0:
		return readFloor0(r, books, sizes)
	}
	return readFloor1(r, len(books))
}
