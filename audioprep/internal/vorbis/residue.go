package vorbis

import "errors"

// residue says how the lines under the floor are coded: in partitions, each of a
// class, whose codebooks refine it in up to eight passes (section 8).
type residue struct {
	kind       int // 0: vectors across the partition, 1: along it, 2: along the channels' lines taken in turn
	begin, end int
	size       int // of a partition
	classes    int
	classBook  *codebook
	books      [64][8]*codebook
	passes     int
}

var errResidue = errors.New("the setup header's residues are damaged")

func readResidue(r *bitReader, codebooks []*codebook) (v residue, err error) {
	v.kind = int(r.read(16))
	v.begin, v.end, v.size = int(r.read(24)), int(r.read(24)), int(r.read(24))+1
	v.classes = int(r.read(6)) + 1
	book := int(r.read(8))
	if r.failed || v.kind > 2 || v.end < v.begin || book >= len(codebooks) {
		return v, errResidue
	}
	if v.classBook = codebooks[book]; v.classBook.dimensions == 0 {
		return v, errResidue
	}
	var cascade [64]uint32
	for i := range v.classes {
		cascade[i] = r.read(3)
		if r.read(1) == 1 {
			cascade[i] |= r.read(5) << 3
		}
	}
	for i := range v.classes {
		for pass := range 8 {
			if cascade[i]>>pass&1 == 0 {
				continue
			}
			n := int(r.read(8))
			if n >= len(codebooks) || codebooks[n].vectors == nil {
				return v, errResidue
			}
			v.books[i][pass] = codebooks[n]
			v.passes = max(v.passes, pass+1)
		}
	}
	if r.failed {
		return v, errResidue
	}
	return v, nil
}

// residue adds the lines of a submap to d.vectors, of which nil ones are not
// coded, n lines each.
func (d *Decoder) residue(r *bitReader, v *residue, n int) {
	if v.kind != 2 || len(d.vectors) == 1 {
		v.decode(r, d.vectors, n, &d.classes)
		return
	}
	channels := len(d.vectors)
	if cap(d.mixed) < n*channels {
		d.mixed = make([]float32, n*channels)
	}
	mixed := d.mixed[:n*channels]
	clear(mixed)
	one := [1][]float32{mixed}
	v.decode(r, one[:], n*channels, &d.classes)
	for c, x := range d.vectors {
		if x == nil {
			continue
		}
		for i := range x {
			x[i] = mixed[i*channels+c]
		}
	}
}

// decode adds to vectors of n lines until the packet ends.
func (v *residue) decode(r *bitReader, vectors [][]float32, n int, room *[]int) {
	begin, end := min(v.begin, n), min(v.end, n)
	partitions := (end - begin) / v.size
	if partitions == 0 {
		return
	}
	perWord := v.classBook.dimensions
	if need := partitions * len(vectors); cap(*room) < need {
		*room = make([]int, need)
	}
	classes := (*room)[:partitions*len(vectors)]
	for pass := range v.passes {
		for at := 0; at < partitions; at += perWord {
			if pass == 0 {
				for c, x := range vectors {
					if x == nil {
						continue
					}
					word := v.classBook.entry(r)
					if word < 0 {
						return
					}
					// A word may go beyond the last partition.
					for i := perWord - 1; i >= 0; i-- {
						if at+i < partitions {
							classes[c*partitions+at+i] = word % v.classes
						}
						word /= v.classes
					}
				}
			}
			for p := at; p < min(at+perWord, partitions); p++ {
				for c, x := range vectors {
					if x == nil {
						continue
					}
					book := v.books[classes[c*partitions+p]][pass]
					if book == nil {
						continue
					}
					if !v.add(r, book, x[begin+p*v.size:][:v.size]) {
						return
					}
				}
			}
		}
	}
}

// add decodes the vectors of one partition; false at the end of the packet.
func (v *residue) add(r *bitReader, book *codebook, x []float32) bool {
	if v.kind == 0 {
		step := len(x) / book.dimensions
		for i := range step {
			y := book.vector(r)
			if y == nil {
				return false
			}
			for k, v := range y {
				x[i+k*step] += v
			}
		}
		return true
	}
	for len(x) > 0 {
		y := book.vector(r)
		if y == nil {
			return false
		}
		k := min(len(x), len(y))
		to := x[:k]
		for i, v := range y[:k] {
			to[i] += v
		}
		x = x[k:]
	}
	return true
}
