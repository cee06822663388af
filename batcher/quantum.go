package batcher

const (
	// savedTurns is how many turns in a row recordings may leave to the clips for a better price.
	savedTurns = 2
	// longestSaved is the most that a saved quantum comes to, in seconds, since clips wait that long.
	longestSaved = 2.0
	// worthSaving is how much cheaper windows must become for it, as a part: a little, since clips gain more by it. In
	// a closed loop their mean wait stays the same, whatever is saved, but two of three then meet no recording.
	worthSaving = 0.01
)

// quantum is the device time that recordings get after a clip turn (rule 9), in seconds.
type quantum struct {
	ratio    float64 // share / (1 - share)
	clipTurn float64 // what the last clip turn took; 0 before the first
	timed    bool    // the turn under way has a quantum; else it is one batch
	balance  float64 // what is left of that turn's
	carry    float64 // what the turn before left over or took too much
	planned  int     // windows that the running batch may still take from the turn
	saved    float64 // of clip turns after which recordings had none
	passed   int     // how many these were
	passes   float64 // the same, smoothed over the turns of recordings
}

// begin starts a turn of recordings. Its quantum counts only where clips compete: if they wait now, or had the turn
// before.
func (q *quantum) begin(contested bool) {
	q.timed = contested && q.clipTurn > 0
	q.balance = q.due()
	q.passes += smoothing * (float64(q.passed) - q.passes)
	q.saved, q.passed = 0, 0
}

// each is what a clip turn like the last one gives recordings.
func (q *quantum) each() float64 { return q.ratio * q.clipTurn }

// due is what a turn of recordings would have now.
func (q *quantum) due() float64 {
	size := q.saved + q.each()
	return size + min(max(q.carry, -size), size)
}

// save leaves the turn that is due to the clips and keeps its quantum.
func (q *quantum) save() {
	q.saved += q.each()
	q.passed++
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
