package batcher

// quantum is the device time that recordings get after a clip turn (rule 9), in seconds.
type quantum struct {
	ratio    float64 // share / (1 - share)
	clipTurn float64 // what the last clip turn took; 0 before the first
	timed    bool    // the turn under way has a quantum; else it is one batch
	size     float64 // q of that turn
	balance  float64 // what is left of it
	carry    float64 // what the turn before left over or took too much
	planned  int     // windows that the running batch may still take from the turn
}

// begin starts a turn of recordings. Its quantum counts only where clips compete: if they wait now, or had the turn
// before.
func (q *quantum) begin(contested bool) {
	q.timed = contested && q.clipTurn > 0
	q.size = q.ratio * q.clipTurn
	q.balance = q.size + min(max(q.carry, -q.size), q.size)
}

// end settles what the turn left over, so that a quantum that is no whole number of windows is met over several turns.
// What was left because nobody was there to use it is given away.
func (q *quantum) end(used bool) {
	q.carry = 0
	if q.timed {
		q.carry = q.balance
	}
	if !used {
		q.carry = min(q.carry, 0)
	}
}
