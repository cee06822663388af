// Package conform replays what broke transcription servers against any server with OpenAI's audio API, and says
// of each case whether the answer was right.
//
// A case is one request, or a few that belong together: a file form that others choke on, a language name in an unusual
// spelling, a client that hangs up. The table (table.go) says for each what is sent, what is right and why. Cases are
// numbered by the groups T1 to T25; those of one group look at the same weakness from several sides.
//
// # Terms
//
//   - S(n) is n seconds of known speech: a recording of 13.3 s, over and over. Its text and the time of each of its
//     words are known.
//   - The clip is the start of it, up to the end of a half-sentence: 5.45 s. The folder audio holds it in forms that
//     take an encoder.
//   - A case is ok, failed, or not run. Not run is neither: something was missing to try it, such as speech in another
//     language.
//
// # What is right
//
// Texts are compared word by word, without case and punctuation; a few words may be misheard, since the model
// is not what is examined. Waits are compared with what the same server takes for the same clip when idle,
// never with a figure from another machine, and with room: a case fails when a server lets one wait for what it
// should not wait for, not when it is slow.
//
// Cases run one after another, so that none disturbs another's waits, and each by itself: what one leaves behind is
// closed before the next. Long uploads are made while they are sent, so that hours of speech take no memory.
package conform
