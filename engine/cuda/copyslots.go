package cuda

import (
	"fmt"

	"hark/engine"
)

const (
	// copyThreads is how many threads a block of kernels/cuda/copyslots.cu has, and copyBlocks
	// how many blocks share a chain's elements.
	copyThreads = 256
	copyBlocks  = 8
	// copyUnit is how many elements are moved at once where positions are whole units.
	copyUnit = 8
	// aside stands for a slot in a copyStep: what one of the steps before put aside.
	aside = -1
)

// CopySlots copies slots to slots as if all copies were made at once.
func (d *Device) CopySlots(c engine.Cache, to, from []int32, lens []int) {
	cc := c.(*cache)
	if len(from) != len(to) || len(lens) != len(to) {
		panic(fmt.Sprintf("cuda: CopySlots: %d targets, %d sources, %d lengths", len(to), len(from), len(lens)))
	}
	seen := make([]bool, cc.slots)
	var copies []copyStep
	for i := range to {
		s := copyStep{int(to[i]), int(from[i]), lens[i]}
		if min(s.to, s.from, s.positions) < 0 || max(s.to, s.from) >= cc.slots || s.positions > cc.length {
			panic(fmt.Sprintf("cuda: CopySlots: %d positions of slot %d to slot %d, in %d slots of %d", s.positions,
				s.from, s.to, cc.slots, cc.length))
		}
		if seen[s.to] {
			panic(fmt.Sprintf("cuda: CopySlots: two copies to slot %d", s.to))
		}
		seen[s.to] = true
		if s.to != s.from && s.positions > 0 {
			copies = append(copies, s)
		}
	}
	if len(copies) == 0 {
		return
	}
	p := planCopies(copies, cc.slots)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.enter()
	d.boundary()
	numbers, chains := append([]int32(nil), p.chains...), len(p.chains)-1
	for _, s := range p.steps {
		numbers = append(numbers, int32(s.to), int32(s.from), int32(s.positions))
	}
	staged := d.stage(numbers)
	name, width := "copyslots_1", cc.width
	if width%copyUnit == 0 {
		name, width = "copyslots_8", width/copyUnit
	}
	d.launch(name, dim3{X: copyBlocks, Y: 2 * cc.layers, Z: chains}, along(copyThreads), 0,
		at(cc.data.address()), i32(cc.slots), i32(cc.length), i32(width), staged, staged+arg(4*len(p.chains)))
	d.boundary()
}

// copyStep copies the first positions of a slot to another one.
type copyStep struct{ to, from, positions int }

// copyPlan is copies in an order in which no slot is overwritten before it was read. Chains have no slots in common but
// such as nobody writes to; chain i is the steps [chains[i], chains[i+1]).
type copyPlan struct {
	steps  []copyStep
	chains []int32

	copies  []copyStep
	readers [][]int // of each slot, the copies that read it
	state   []copyState
}

type copyState int

const (
	waiting copyState = iota
	underway
	settled
)

// planCopies plans copies, each to a slot of its own. A chain begins at a copy whose source nobody writes to: it's the
// chain's last. What is left after those are circles.
func planCopies(copies []copyStep, slots int) *copyPlan {
	p := &copyPlan{chains: []int32{0}, copies: copies, readers: make([][]int, slots),
		state: make([]copyState, len(copies))}
	written := make([]bool, slots)
	for i, c := range copies {
		p.readers[c.from] = append(p.readers[c.from], i)
		written[c.to] = true
	}
	for _, circles := range []bool{false, true} {
		for i := range copies {
			if p.state[i] == waiting && written[p.copies[i].from] == circles {
				p.add(i)
				p.chains = append(p.chains, int32(len(p.steps)))
			}
		}
	}
	return p
}

// add plans a copy after all that read what it overwrites. One of those that is under way closes a circle: what it is
// to read is put aside, which happens once a chain, since a slot is written once.
func (p *copyPlan) add(i int) {
	p.state[i] = underway
	to := p.copies[i].to
	for _, r := range p.readers[to] {
		switch p.state[r] {
		case waiting:
			p.add(r)
		case underway:
			p.steps = append(p.steps, copyStep{aside, to, p.copies[r].positions})
			p.copies[r].from = aside
		}
	}
	p.steps = append(p.steps, p.copies[i])
	p.state[i] = settled
}
