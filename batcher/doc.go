// Package batcher decides what a device runs next, so that short clips never wait for long recordings and no
// recording starves behind clips.
//
// It knows no audio, no model and no device: a request is a lane, a cost and a [Work] that hands out windows; a
// [Runner] runs windows; time comes from a [Clock].
//
// # Terms
//
//   - window: what the device runs as one row of a batch, at most 30 s of audio. Its type W belongs to the caller.
//   - cost: prepared audio in milliseconds, all windows of a request together.
//   - clip, recording: a request of at most 30 s, a longer one. Each kind waits in a [Lane] of its own.
//   - turn: what one lane is given before the other has its go; one batch or several.
//   - batch: the windows that run together, at most [Config].MaxBatch.
//   - budget: a model's max_batch_tokens, in ms of audio.
//   - cost cap: the most that the clips of one turn may cost together.
//   - owed: a clip that a turn could not fit is owed its place in a later one.
//   - batch wait: how long a lone clip may be held for company.
//
// # Flow
//
//	Do ─► admission ─► lane ─► turn ─► batch ─► Runner ─► Do returns
//	                    ▲        ▲        ▲ │
//	 who hangs up leaves┴────────┘        │ └─ the rest of a chain, or of a recording, goes on in a later batch
//	                                      └─── windows of the same turn take the places of those that end early
//
// [Former] holds the lanes and forms turns and batches. It is deterministic, starts no goroutine and reads no clock,
// so that a simulator can drive it. [Batcher] adds the clock, admission and one goroutine that runs one batch after
// the other.
//
// # Rules of policy lanes
//
//  1. Clips and recordings wait in two lanes. While both have work the lanes alternate, turn by turn: the lane not
//     served last goes next, and at first the one with the older head.
//  2. A recording's turn is one recording, alone, in arrival order. No clip shares a batch with a recording. Its
//     windows run in groups of at most MaxBatch inside the turn.
//  3. A clip turn serves clips that were pending when the turn began, in batches of at most MaxBatch clips. The turn's
//     clips together cost at most the cost cap; a batch's audio never exceeds MaxBatchAudioMillis (recordings are
//     exempt). Order: what is owed, by arrival; then the rest by (cost, arrival); filling stops at the first that does
//     not fit. A turn always serves one clip, even one that alone exceeds the cap. A clip that arrives during a turn
//     waits for the next.
//  4. What a clip turn could not fit is owed. Every later clip turn serves the oldest owed clip, whatever it costs,
//     then more owed ones, oldest first, while they fit the cap together, and only then newer clips. So a clip is
//     served within the first n + 1 clip turns after it arrives, where n counts it and the older clips still pending
//     when the first of those turns ended: each later turn serves at least the oldest of these, and no later arrival
//     joins them.
//  5. Aging. While no recording is pending, turns are single batches by plain packing: what is still owed; then the
//     oldest request, if it has waited past the batch wait; then the cheapest. While a recording is pending nothing is
//     promoted, since what is owed bounds all waiting, and that holds for one more clip turn after the last recording
//     has its turn or leaves.
//  6. Budgets. The cost cap starts at the budget b: [Config].MaxBatchCostMillis if set, else what the model reports,
//     else DefaultBudgetMillis. It stays between min(max(256, b/4), b) and 4b, unless MinCostMillis and MaxCostMillis
//     say otherwise. A model that reports another budget later moves the range, and nobody loses his place.
//  7. Adaptation, from clip batches. Every 10 batches the cap moves by 0.15 of the relative headroom, (target − p50) /
//     target, at most 15 %, while batches are at least 0.7 full; a batch wait of 10 ms, 1 to 50, follows the same
//     headroom through a PI controller. p50 is queue plus run time of the last 200 clips, the target
//     [Config].TargetP50 or 1.5 times the median run time of the first 10 batches.
//  8. Depth. While the last batch of a turn runs, the next turn is bound already. A clip that comes after waits for the
//     turn after that. Depth 1 binds a turn when it begins.
//
// # Rules of policy windowed
//
// The default. Rules 1, 6 and 7 hold, but for what rule 9 says of turns; the others give way to these.
//
//  9. Quantum. A turn of recordings is so much device time: share / (1 − share) × what the clip turn before it took, in
//     whole windows; what that gives too much or too little is settled in the next. Where one more window costs next to
//     nothing (rule 13) a batch is filled up. A lane without work gives its turn away: while no clips compete a turn is
//     one batch, no larger than the device needs to be used well, since a clip may come. Where one window after each
//     clip turn is more than that, recordings leave turns to the clips until their quanta afford one: clips take no
//     more than (1 − share) / share × what that window and the recordings' turn before took, and one turn. Where
//     windows cost less in the batch that one more quantum affords, recordings leave their turn to the clips and have
//     both quanta in the next: after three clip turns at the latest, and for no more than 2 s. Two of three clips then
//     meet no recording.
//  10. A turn goes on with the next recording when one is finished. A recording keeps the lane for 30 windows, then
//     goes to its tail, so that a short one never waits for a long one.
//  11. A clip turn is one batch: owed first, then cheapest. It is formed when the device is free, never earlier. A clip
//     that a batch can't finish (a chain) goes on first in the next clip turn.
//  12. A window that ends early frees its place for what its own turn has left, and for nothing else. One that has
//     had its time and leaves before its end goes on in a later batch, and counts as a further window there.
//  13. Free places of a batch go to the other lane only where the device has been measured to take less than 5 % longer
//     for one more window, and only as long as batches filled that way bear it out.
//  14. Callers share a lane by their weights. Who has been served least, by cost and weight, goes next. What is owed is
//     owed to a caller: each clip turn begins with the oldest owed clip of each caller in rotation, so that the bound
//     of rule 4 becomes n + 1 clip turns for each caller that waits, with n counted among the caller's own clips.
//  15. Who hangs up leaves the lane, and his windows the next batch.
//  16. Admission. A request that finds the queue full, by count, bytes or predicted wait, or whose predicted wait
//     exceeds its deadline, is refused at once with the predicted wait ([BusyError]). One whose deadline passes leaves.
//
// # Company
//
// Clients that were answered together tend to ask again together. So a clip that is alone when the device has nothing
// to do is held until the batch wait after its arrival is over, and whoever comes meanwhile shares its turn. The hold
// ends early when a batch or the turn is full, or a recording comes. Clips that already have company when a turn ends
// are not held.
//
// # Several models
//
// Each model has a batcher of its own, with its lanes and its budget. Those that compute on one
// [Device] run one batch at a time between them, and who has had the least device time goes next. A
// batch is formed when the device is granted.
//
// # Clips of several windows
//
// Most clips are one window. One that hands out more counts as its windows: they share a batch when they fit one, and
// wait for the turn's next batch (windowed: the next clip turn) when the places left are too few. Under policy lanes a
// clip that is a chain (or has more windows than a batch has places) stays inside its turn: after each batch its next
// windows go first in the turn's next batch, and the turn ends when all its clips are done. In every batch that holds a
// part of it, a clip counts with its whole cost towards MaxBatchAudioMillis.
package batcher
