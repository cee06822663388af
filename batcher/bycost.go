package batcher

// byCost is a heap: the cheapest item first, of equal ones the oldest.
type byCost[W any] []*Item[W]

func (h byCost[W]) Len() int { return len(h) }

func (h byCost[W]) Less(i, j int) bool {
	if h[i].CostMillis != h[j].CostMillis {
		return h[i].CostMillis < h[j].CostMillis
	}
	return h[i].seq < h[j].seq
}

func (h byCost[W]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].heapIndex, h[j].heapIndex = i, j
}

func (h *byCost[W]) Push(x any) {
	it := x.(*Item[W])
	it.heapIndex = len(*h)
	*h = append(*h, it)
}

func (h *byCost[W]) Pop() any {
	last := len(*h) - 1
	it := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return it
}
