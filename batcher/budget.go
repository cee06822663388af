package batcher

// minFloorMillis is the lowest floor of a cost cap that follows from a budget.
const minFloorMillis = 256

// capRange is where a model's cost cap may be, in ms.
type capRange struct{ floor, ceiling int64 }

// budget returns the budget that counts (rule 6): what the operator says, else what the model reports.
func (c Config) budget() int64 {
	switch {
	case c.MaxBatchCostMillis > 0:
		return c.MaxBatchCostMillis
	case c.CostCapMillis > 0:
		return c.CostCapMillis
	}
	return DefaultBudgetMillis
}

// capRange returns the range that follows from the budget b, unless the operator gives another.
func (c Config) capRange() capRange {
	b := c.budget()
	r := capRange{min(max(minFloorMillis, b/4), b), 4 * b}
	if c.MinCostMillis > 0 {
		r.floor = c.MinCostMillis
		r.ceiling = max(r.ceiling, r.floor)
	}
	if c.MaxCostMillis > 0 {
		r.ceiling = c.MaxCostMillis
		r.floor = min(r.floor, r.ceiling)
	}
	return r
}

// startCap returns the cost cap of the first batch.
func (c Config) startCap() int64 { return c.capRange().clamp(c.budget()) }

func (r capRange) clamp(millis int64) int64 { return min(max(millis, r.floor), r.ceiling) }
