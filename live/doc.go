// Package live transcribes speech while it is spoken: sound goes in piece by piece, events come out.
//
// # The way of the sound
//
//	bytes ─ audioprep.RawDecoder ─► samples ─ audioprep.Detector ─► turns ─► pieces ≤ 30 s ─► Transcriber
//	events ◄─ text that is settled ◄─ agreement of hypotheses ◄───────────────────────────────────┘
//
// A turn is what one speaker says between two silences, or what the client says is one. It becomes an item, with a
// transcript of its own. A turn longer than a model takes at once is cut in its pauses, into pieces of the same item.
//
// # Text while somebody speaks
//
// The piece that grows is transcribed again and again. A hypothesis of unfinished speech is wrong at its end and
// often right before it: a word is shown once two hypotheses in a row have it at its place (LocalAgreement-2 of
// Macháček, Dabre and Bojar, "Turning Whisper into Real-Time Transcription System", 2023, section 2). What is
// shown is never taken back. When the piece is whole, it is transcribed once more, with all that the model can do
// for it; the words of that hypothesis behind those that were shown are the rest. So the deltas of an item,
// joined, are its transcript, to the byte.
//
// # Load
//
// A session has one request under way at a time, by the name of its caller, as any other client. Whole
// pieces go first: a partial hypothesis under way is given up when its piece ends. After a partial that took
// t, the next one begins no sooner than t after it has ended, so that a session never asks for more than
// half of a device, and for less the busier it is.
//
// # What it does not do
//
// It knows no HTTP, WebSocket or JSON, no model and no queue. It writes no log.
package live
