// Package server is hark's HTTP face, and the path from an upload to a transcript that the command line shares with it.
//
// # The way of a request
//
//	admission ─ upload (spooled beyond 8 MiB) ─ fields ─► [Transcriber]: decode ─ windows ─ lane ─ batcher ─ result
//	response ◄─ render (json, verbose_json, text, srt, vtt, tsv) ◄──────────────────────────────────────────┘
//
// Admission comes before the body is read: a full or stopping server, and a body that says it is too long, are
// answered at once. The fields of a form may stand before or after the file, so the file is stored first and the
// fields are judged when all are there.
//
// # Two dialects
//
// /v1/audio/transcriptions and /v1/audio/translations are OpenAI's calls, down to their shapes: the language of
// verbose_json is its English name ("english"), segments come with "segment" and words with "word" in
// timestamp_granularities[] ("segment" if none is given). /v1/transcribe is hark's own: every field is optional and may
// be a query parameter, the body may be the bare audio, the language is a code ("en"), and an object "hark" tells
// which model and device did the work and what it waited for.
//
// /v1/explain takes the same upload and fields and says what the file is, what is wrong with it and
// what it would cost and wait, without transcribing it: a [FileReport]. What /v1/transcribe would
// refuse is refused there in the same words.
//
// # What is heard of a file
//
// A file is decoded while it arrives, by the fields that came before it. One that can't be used ends its upload as soon
// as that is known, with the answer that it would have got at its end. A file that is too long is decoded up to the
// limit and no further, and not transcribed: its 413 says what was found until then.
//
// track is the number of an audio track, from 1; 0 or nothing is the one that players take. channels is mix,
// or separate: then each of up to eight channels is heard by itself, and "speaker" in segments and words of
// verbose_json is the channel's number, "0", "1"…, segments in order of their start. Text and SRT have
// "Speaker 0: " before what it says (text a line for each time that one of them speaks), VTT a voice span, "<v
// Speaker 0>". Silent channels cost nothing.
//
// diarized_json names the same speakers "A", "B"….
//
// # Streams
//
// stream=true answers with events while the audio is still heard: see stream.go. What becomes final is told by
// [Input.Heard], window after window, and never taken back; [Input.Kept] and [Input.Resume] let an interrupted
// request go on without running a window again.
//
// # Live
//
// /v1/realtime is a WebSocket that speaks OpenAI's Realtime API, as far as it transcribes. Package live does the work:
//
//	message ─ realtimeclient ─► settings, sound ─► [live.Session] ─ a piece at a time ─► [Transcriber], in the clip lane
//	message ◄─ realtimeevents ◄─ events ◄──────────────┘
//
// realtimelink keeps each session's bounds: its time, its silences, the messages that its client doesn't
// read. When the server stops, what was said by then is transcribed, the client is told, and the link closed
// with 1001. Where a session's settings are ignored, session.updated names them; where a message is wrong, an
// error event says so, and the session goes on.
//
// # Jobs
//
// Prefer: respond-async on any of the three calls, or POST /v1/jobs with the fields of /v1/transcribe, makes the
// request a job: 202 comes once the upload has been received, its fields and the beginning of its audio have been
// found good, and both are on disk. A job runs through the same batchers as everything else, for the same caller; it
// has no link that could be cut. Each window that is done is kept (see package jobs), so that after a crash only what
// was running runs again. Prefer: wait=N has the answer be the result if that comes within N seconds. GET
// /v1/jobs/{id} says how it stands, .../events streams that with the text as it becomes final, .../result answers as
// the call itself would have, in any format, until the job expires. Its webhook is called when it's over.
// Idempotency-Key keeps a job that is sent again from being two.
//
// # URLs
//
// url names the audio instead of a file, in a form, a query or a JSON object, under the rules of package fetch. A job's
// file is got when the job runs, and kept then; all that is known before is that its address may be called.
//
// # Headers
//
// Every answer has x-request-id (the client's own, if it sent a plain one). Transcripts also have X-Hark-Model,
// X-Hark-Device and X-Hark-Lane, Server-Timing, and an X-Hark-Warning for each wish that was ignored and each fault
// that was found in the audio. X-Hark-Deadline-Ms on a request is the field deadline_ms.
//
// # Who may call
//
// Where Config.Keys is set, a request needs one of these keys, in Authorization as Bearer or Token, in X-Api-Key,
// or in the subprotocol openai-insecure-api-key.KEY of a WebSocket. It's looked at before the body is read. The
// name of its owner is what callers share the device by; package access holds him to his limits, of which
// x-ratelimit-… headers tell what is left.
//
// # Other servers' calls
//
// /inference is whisper.cpp's call and /v1/listen is Deepgram's, in a file each: an adapter turns their fields
// into those above and the transcript into their shapes, with their errors. openapi/openapi.yaml describes
// every call; tests hold it to the handlers.
//
// # Errors
//
// Every error has OpenAI's form, {"error": {message, type, param, code}}; errors.go maps causes to statuses and to
// texts that say what to do. Where a file is refused for what it is (400, 413 for its length, 415), an object "file"
// beside "error" holds as much of its FileReport as was found. Retry-After never exceeds 8 s, the most that all
// official clients obey; x-should-retry: false goes out where another try can't help.
//
// A hang-up ends its request, and the link without an answer; the log and the metrics say 499. A client that closes its
// half of the link behind a whole body is answered; one that breaks its body off may still read, and is told.
//
// # What it does not do
//
// It decodes no audio (audioprep), decides no order (batcher) and knows no model
// (engine). It logs no audio and no text.
package server
