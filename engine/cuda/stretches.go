package cuda

// stretches are runs of rows of single items that blocks take one each, as kernels/cuda/items.h has it.
type stretches struct {
	starts, cuts arg // staged: where items begin, and how many stretches there are before each
	items, count int // count is the most that there can be
}

// stretches stages how a batch is cut in stretches of so many rows, counted from each item's start. Their count depends
// on the shape alone, so that batches of one shape have one graph. The lock is held.
func (d *Device) stretches(lens []int, rows int) stretches {
	cuts := make([]int32, 1, len(lens)+1)
	for _, l := range lens {
		cuts = append(cuts, cuts[len(cuts)-1]+int32(ceilDiv(l, rows)))
	}
	s := stretches{items: len(lens), count: total(lens)/rows + len(lens)}
	all := starts(lens)
	s.starts = d.stage(append(all, cuts...))
	s.cuts = s.starts + arg(4*len(all))
	return s
}
