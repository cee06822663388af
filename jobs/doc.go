// Package jobs keeps work that was accepted until it is done and its result has been fetched, whatever
// becomes of the process meanwhile. It knows no audio and no model: a request, the pieces of what is done of
// it, its events and its result are bytes to it.
//
// # What is promised
//
//   - When [Store.Accept] has returned, the job and its audio are on disk, and will be there after a crash, once.
//   - When [Store.AddPiece] has returned, so is the piece. Who goes on with a job begins where its pieces end.
//   - Events of a job are numbered from 1 without gaps. What has been handed out with a number never changes.
//   - One process at a time uses a folder.
//
// # What lies where
//
//	FOLDER/jobs.db        bbolt: jobs, requests, pieces, events, results
//	FOLDER/audio/ID       the audio of a job that is not over
//	FOLDER/incoming/ID    audio that is being received; swept at the next start
//
// A file gets its place in audio/ by being renamed, after it has been written through to the disk and before its job
// is; so a job has its audio, and audio without a job is left from a crash and goes at the next start.
//
// # The database
//
// bbolt (https://github.com/etcd-io/bbolt) is a B+tree in one mapped file. A transaction writes the pages that changed
// to free places, then one of two meta pages, which has a checksum: after a crash the newer whole one counts. Each
// commit waits for the disk, so changes that come together share one. What bbolt doesn't guard, the pages of data, it
// trusts, and panics or worse where they are damaged: every value here has a checksum of its own, all are read when the
// folder is opened, and what panics in the tree is caught and told as a *[CorruptError].
//
// Everything of a job but its bytes is also held in memory, some 500 bytes each.
//
// # What it does not do
//
// It runs nothing: its user takes queued jobs and says how they go. [Deliverer] calls webhooks.
package jobs
