// Package engine turns windows of sound into tokens, words and segments.
//
// Terms: a window is a stretch of one request, at most as
// long as the model takes at once; a batch is the windows that run together; a
// job is one request as its model sees it. Samples are mono float32 at 16 kHz.
//
// The flow: a [Model] plans a [Job] for the samples and windows of a request;
// whoever schedules takes windows from the job and gives them to [Model.Run], a
// batch at a time, in any mix of jobs of that model; when the job has no more
// windows, [Job.Result] holds the text. Model graphs (engine/whisper, engine/parakeet) are
// written once over [Device], and devices (engine/cpu) know no model.
//
// The package knows no HTTP, no file formats of audio and no scheduling.
package engine
