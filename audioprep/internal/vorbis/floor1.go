package vorbis

import (
	"math"
	"sort"
)

// floor1 is a floor of type 1: the envelope in dB, drawn in straight lines between
// points (section 7).
type floor1 struct {
	partitions []uint8 // the class of each
	classes    [16]floorClass
	multiplier int
	x          []int // of the points, as they are coded
	order      []int // the points by x
	low, high  []int // for each point its neighbours among those before it
}

type floorClass struct {
	dimensions int
	bits       int // of the choice of books
	master     int
	books      [8]int // -1: none, all zeros
}

func readFloor1(r *bitReader, codebooks int) (*floor1, error) {
	f := new(floor1)
	f.partitions = make([]uint8, r.read(5))
	classes := 0
	for i := range f.partitions {
		f.partitions[i] = uint8(r.read(4))
		classes = max(classes, int(f.partitions[i])+1)
	}
	for i := range classes {
		c := &f.classes[i]
		c.dimensions = int(r.read(3)) + 1
		if c.bits = int(r.read(2)); c.bits > 0 {
			if c.master = int(r.read(8)); c.master >= codebooks {
				return nil, errFloor
			}
		}
		for k := range 1 << c.bits {
			if c.books[k] = int(r.read(8)) - 1; c.books[k] >= codebooks {
				return nil, errFloor
			}
		}
	}
	f.multiplier = int(r.read(2)) + 1
	width := int(r.read(4))
	f.x = append(f.x, 0, 1<<width)
	for _, class := range f.partitions {
		for range f.classes[class].dimensions {
			f.x = append(f.x, int(r.read(width)))
		}
	}
	if r.failed || len(f.x) > maxFloorPoints {
		return nil, errFloor
	}
	return f, f.arrange()
}

// arrange finds the order and the neighbours of the points.
func (f *floor1) arrange() error {
	f.order = make([]int, len(f.x))
	f.low, f.high = make([]int, len(f.x)), make([]int, len(f.x))
	for i, x := range f.x {
		f.order[i] = i
		low, high := 0, 1
		for k := range i {
			if f.x[k] < x && f.x[k] > f.x[low] {
				low = k
			}
			if f.x[k] > x && f.x[k] < f.x[high] {
				high = k
			}
		}
		f.low[i], f.high[i] = low, high
	}
	sort.Slice(f.order, func(i, j int) bool { return f.x[f.order[i]] < f.x[f.order[j]] })
	for i := 1; i < len(f.order); i++ {
		if f.x[f.order[i]] == f.x[f.order[i-1]] {
			return errFloor
		}
	}
	return nil
}

// floorRange is how many values a point has, by multiplier.
var floorRange = [4]int{256, 128, 86, 64}

// read decodes the points of one channel. Where the packet ends too soon, the
// channel is silent.
func (f *floor1) read(r *bitReader, books []*codebook, c *floorCurve) {
	c.used = r.read(1) == 1
	if !c.used {
		return
	}
	limit := floorRange[f.multiplier-1]
	width := bitsFor(limit - 1)
	c.y[0], c.y[1] = int(r.read(width)), int(r.read(width))
	at := 2
	for _, class := range f.partitions {
		p := &f.classes[class]
		choice := 0
		if p.bits > 0 {
			choice = max(0, books[p.master].entry(r))
		}
		for range p.dimensions {
			book := p.books[choice&(1<<p.bits-1)]
			choice >>= p.bits
			c.y[at] = 0
			if book >= 0 {
				c.y[at] = max(0, books[book].entry(r))
			}
			at++
		}
	}
	if r.failed {
		c.used = false
		return
	}
	f.predict(c, limit)
}

// predict turns the coded values into heights: each is a difference from the line
// between its neighbours, folded to be positive (section 7.2.4, step 1).
func (f *floor1) predict(c *floorCurve, limit int) {
	c.drawn[0], c.drawn[1] = true, true
	for i := 2; i < len(f.x); i++ {
		low, high := f.low[i], f.high[i]
		guess := linePoint(f.x[low], c.y[low], f.x[high], c.y[high], f.x[i])
		above, below := limit-guess, guess
		v := c.y[i]
		c.drawn[i] = v != 0
		if v == 0 {
			c.y[i] = guess
			continue
		}
		c.drawn[low], c.drawn[high] = true, true
		switch room := 2 * min(above, below); {
		case v >= room && above > below:
			v = v - below + guess
		case v >= room:
			v = guess - v + above - 1
		case v&1 == 1:
			v = guess - (v+1)/2
		default:
			v = guess + v/2
		}
		c.y[i] = max(0, min(v, limit-1))
	}
}

// linePoint is the height at x of the line between two points, rounded towards
// the first.
func linePoint(x0, y0, x1, y1, x int) int {
	d := (y1 - y0) * (x - x0)
	if d < 0 {
		return y0 - -d/(x1-x0)
	}
	return y0 + d/(x1-x0)
}

// apply multiplies the lines by the floor.
func (f *floor1) apply(c *floorCurve, lines []float32) {
	x0, y0 := 0, c.y[0]*f.multiplier
	for _, i := range f.order[1:] {
		if !c.drawn[i] {
			continue
		}
		x1, y1 := f.x[i], c.y[i]*f.multiplier
		drawLine(x0, y0, x1, y1, lines)
		x0, y0 = x1, y1
	}
	for i := x0; i < len(lines); i++ {
		lines[i] *= decibels[y0&255]
	}
}

// drawLine multiplies lines x0 to x1-1 by the heights of a line in whole numbers
// (section 9.2.7).
func drawLine(x0, y0, x1, y1 int, lines []float32) {
	dy, dx := y1-y0, x1-x0
	step := dy / dx
	rest, sign := dy-step*dx, 1
	if dy < 0 {
		rest, sign = -rest, -1
	}
	sum, y := 0, y0
	for x := x0; x < min(x1, len(lines)); x++ {
		lines[x] *= decibels[y&255]
		y += step
		if sum += rest; sum >= dx {
			sum -= dx
			y += sign
		}
	}
}

// decibels are the heights of a floor: 140 dB in 256 steps up to 1. The table of
// the specification's section 10.1 to the seven digits that it has.
var decibels = func() (t [256]float32) {
	for i := range t {
		t[i] = float32(math.Pow(10, float64(i-255)*7/256))
	}
	return t
}()
