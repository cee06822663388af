package sbr

import (
	"math/bits"

	bitio "hark/audioprep/internal/bits"
)

const maxEnvelopes = 5

// grid divides a packet into envelopes, stretches of time that have one energy in each
// band, and into one or two noise floors (section 4.6.18.3.3). Times are in slots and may
// reach into the next packet.
type grid struct {
	envelopes   int
	border      [maxEnvelopes + 1]int
	fine        [maxEnvelopes]bool // bands of high resolution
	noises      int
	noiseBorder [3]int
	transient   int // envelope that begins with a sudden sound; -1: none
}

// Classes of grids: are the borders at the beginning and the end where a packet's are?
const (
	fixFix = iota
	fixVar
	varFix
	varVar
)

// readGrid reads a grid (table 4.69). single says that there is but one envelope, which
// has levels in fine steps.
func readGrid(r *bitio.Reader) (g grid, single bool, err error) {
	class := r.Take(2)
	pointer := 0
	switch class {
	case fixFix:
		g.envelopes = 1 << r.Take(2)
		if g.envelopes > maxEnvelopes-1 {
			return g, false, ErrPayload
		}
		fine := r.Flag()
		for i := range g.envelopes {
			g.border[i+1] = (i + 1) * slots / g.envelopes
			g.fine[i] = fine
		}
		single = g.envelopes == 1
	default:
		end, leading, trailing := slots, 0, 0
		if class != fixVar {
			g.border[0] = r.Take(2)
		}
		if class != varFix {
			end += r.Take(2)
		}
		if class != fixVar {
			leading = r.Take(2)
		}
		if class != varFix {
			trailing = r.Take(2)
		}
		g.envelopes = leading + trailing + 1
		if g.envelopes > maxEnvelopes {
			return g, false, ErrPayload
		}
		g.border[g.envelopes] = end
		for i := range leading {
			g.border[i+1] = g.border[i] + 2*r.Take(2) + 2
		}
		for i := g.envelopes; i > g.envelopes-trailing; i-- {
			g.border[i-1] = g.border[i] - 2*r.Take(2) - 2
		}
		// As many bits as envelopes+1 has, if that counts from 0.
		pointer = r.Take(bits.Len(uint(g.envelopes)))
		for i := range g.envelopes {
			if class == fixVar {
				i = g.envelopes - 1 - i
			}
			g.fine[i] = r.Flag()
		}
	}
	if pointer > g.envelopes+1 || r.Past() {
		return g, false, ErrPayload
	}
	for i := range g.envelopes {
		if g.border[i] >= g.border[i+1] {
			return g, false, ErrPayload
		}
	}
	g.place(class, pointer)
	return g, single, nil
}

// place finds the transient and the border between two noise floors, which the pointer
// says for some classes (tables 4.180 and 4.181).
func (g *grid) place(class, pointer int) {
	n := g.envelopes
	g.transient = -1
	middle := n / 2
	switch class {
	case fixVar, varVar:
		if pointer > 0 {
			g.transient = n + 1 - pointer
		}
		middle = n - max(pointer-1, 1)
	case varFix:
		if pointer > 1 {
			g.transient = pointer - 1
		}
		switch pointer {
		case 0:
			middle = 1
		case 1:
			middle = n - 1
		default:
			middle = pointer - 1
		}
	}
	g.noises = 1
	g.noiseBorder = [3]int{g.border[0], g.border[n]}
	if n > 1 {
		g.noises = 2
		g.noiseBorder = [3]int{g.border[0], g.border[max(0, min(middle, n))], g.border[n]}
	}
}
