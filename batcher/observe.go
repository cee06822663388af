package batcher

import "time"

// Stats says what a request waited for and what it got.
type Stats struct {
	// Queue is the time from arrival until its first window began to run, or until it ended without.
	Queue time.Duration

	// Run is how long windows of this request ran: in each batch from when the first joined until the last ended.
	Run time.Duration

	// TurnsWaited counts the turns, of either lane, that it saw before its own: the one under way when it arrived
	// included.
	TurnsWaited int

	// Batches and Windows count the batches it had a part in and its windows in them.
	Batches, Windows int
}

// RequestEvent is the end of one call of Do.
type RequestEvent struct {
	Lane   Lane
	Caller string
	Stats  Stats // zero if the request was not admitted
	Err    error // what Do returns
}

// BatchEvent is one batch that has run.
type BatchEvent struct {
	Lane       Lane  // whose turn it was
	Requests   int   // that shared the batch
	Windows    int   // 1 to MaxBatch, and those that joined while it ran
	Added      int   // windows of these that joined while it ran
	Backfilled int   // windows of these that belong to the other lane
	MaxBatch   int   // the places there were; (Windows - Added) / MaxBatch is the fill
	CostMillis int64 // of its requests, each counted whole
	Failed     int   // windows that ended with an error, those cut short for a client that hung up too
	Run        time.Duration
}

// TurnEvent is one turn that has ended.
type TurnEvent struct {
	Lane       Lane
	Requests   int   // that the turn served
	CostMillis int64 // of these together
	CapMillis  int64 // the cost cap of a clip turn; 0 for a recording's
	Batches    int
	Owed       int           // clips that were owed a later turn when it was bound
	Promoted   int           // clips of it that went before cheaper ones because of their age (rule 5)
	Length     time.Duration // from its first batch's start to its last batch's end
}

// Observer is told what happens, for metrics. Its methods must be quick and safe for concurrent use, and may call the
// batcher's Depth. Those about batches and turns are called between batches.
type Observer interface {
	RequestDone(RequestEvent)
	BatchDone(BatchEvent)
	TurnDone(TurnEvent)
}

type nobody struct{}

func (nobody) RequestDone(RequestEvent) {}
func (nobody) BatchDone(BatchEvent)     {}
func (nobody) TurnDone(TurnEvent)       {}
