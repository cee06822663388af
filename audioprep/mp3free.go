package audioprep

import "hark/audioprep/internal/mpeg"

// maxFreeBytes is the longest frame of free format that is looked for: 640 kbit/s at 32 kHz, the
// most that LAME writes.
const maxFreeBytes = 2880

// leastFreeRate is the lowest rate, in bytes a second, that is believed: the lowest that has a
// number.
const leastFreeRate = 1000

// freeBytes returns how long frames of free format are that begin with b, padding aside: as
// far as the next header is that another follows at the same distance. 0 if there is none.
func freeBytes(b []byte) int {
	h, ok := mpeg.ParseHeader(b)
	if !ok || !h.Free() {
		return 0
	}
	at := func(i int) (mpeg.Header, bool) {
		if i+mpeg.HeaderBytes > len(b) {
			return mpeg.Header{}, false
		}
		n, ok := mpeg.ParseHeader(b[i:])
		return n, ok && n.Free() && n.SameStream(h)
	}
	for i := max(mpeg.HeaderBytes, h.Samples*leastFreeRate/h.Rate); i <= maxFreeBytes; i++ {
		second, ok := at(i)
		if !ok {
			continue
		}
		bytes := i - h.WithBytes(0).Bytes
		if _, ok := at(i + second.WithBytes(bytes).Bytes); ok {
			return bytes
		}
	}
	return 0
}
