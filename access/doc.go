// Package access knows who may call and how much: API keys, by the names of those who have them, and what each
// may ask for in a time. It speaks no HTTP.
//
// # Keys
//
// A key is a long random text that its owner sends with each request. [Read] takes a list of them from a file or the
// environment, a line each:
//
//	NAME:KEY [LIMIT=VALUE]...
//
// NAME says who calls: it's what logs show, and callers of different names share the device evenly, or by
// their weights. KEY is the key itself, or
// "sha256:" and the hash of it in hexadecimal, as [HashText] writes it, so that whoever reads the file can't call.
// The same name on two lines is one caller with two keys, which is how a key is replaced without a gap. Empty lines and
// what follows a # at a line's start are passed over.
//
// A key is kept as its SHA-256 and nothing else. A slow hash with salt, as passwords need, would protect
// nothing more: it makes guessing dear where there are few guesses to make, but a key made by [NewKey] is one
// of 2^256, and a plain one has to be long. It would cost each request tens of milliseconds, on a server
// whose callers may send a hundred a second.
//
// # Limits
//
// rpm is how many requests a minute a caller may begin, audio-per-minute and audio-per-hour how much audio he may
// have transcribed, concurrent how many requests may be under way at once. Requests and audio are each a bucket that
// is full at first and fills at the stated rate: bursts are welcome, the long run is held to the rate. How long a
// file is shows when it has been decoded, so a request is let in while there is a second left and what it had is
// owed afterwards: a bucket may be below zero. A file that alone has more than an hour's audio thus still gets
// through, and the next one waits for longer.
//
// weight is no limit: it's how much of the device a caller gets while others wait too. With weight=3
// it is three times as much as one without.
package access
