package audioprep

import "sync"

// usualRates are those of the filter banks that are kept once made: designing
// one takes some milliseconds, as long as resampling a second of audio. Any
// other rate is designed anew, so that no client can fill the memory with them.
var usualRates = map[int]bool{
	8000: true, 11025: true, 12000: true, 22050: true, 24000: true, 32000: true,
	44100: true, 48000: true, 88200: true, 96000: true, 176400: true, 192000: true,
}

var bankCache sync.Map // rate in Hz → *filterBank to SampleRate

// bankFor returns the filter bank for a pair of rates.
func bankFor(from, to int) *filterBank {
	if to != SampleRate || !usualRates[from] {
		return newFilterBank(from, to)
	}
	if f, ok := bankCache.Load(from); ok {
		return f.(*filterBank)
	}
	f, _ := bankCache.LoadOrStore(from, newFilterBank(from, to))
	return f.(*filterBank)
}
