package audioprep

// MPEG audio is a chain of frames, each behind a header of four bytes:
//
//	11111111 111vvllp bbbbrrxy mmeeccoo
//
// v version (3: MPEG-1, 2: MPEG-2, 0: MPEG-2.5), l layer (1: III, 2: II, 3: I),
// b bit rate, r sample rate, x padding, m channel mode. Nothing else says where
// a frame starts, and the eleven set bits also occur in the data: only a chain
// of headers, each where the one before it says, can be trusted. ISO/IEC
// 11172-3, section 2.4.1.3; ISO/IEC 13818-3 for MPEG-2; 2.5 is Fraunhofer's.

// mpegHeader is a parsed frame header.
type mpegHeader struct {
	version    int // 1, 2, or 25 for MPEG-2.5
	layer      int // 1, 2, 3
	rate       int // Hz
	channels   int // 1, 2
	frameBytes int // whole frame, header included; 0 for free format
	samples    int // of each channel in a frame
	crc        bool
}

// mpegBitRates is in kbit/s: [MPEG-1 layer I, II, III, MPEG-2 layer I, II and III].
var mpegBitRates = [5][15]int{
	{0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448},
	{0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384},
	{0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320},
	{0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256},
	{0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160},
}

var mpegRates = [3]int{44100, 48000, 32000}

// parseMPEGHeader reads the header at the start of b. Not ok: no header.
func parseMPEGHeader(b []byte) (h mpegHeader, ok bool) {
	if len(b) < 4 || b[0] != 0xff || b[1]&0xe0 != 0xe0 {
		return h, false
	}
	version, layer := b[1]>>3&3, b[1]>>1&3
	bitRate, rate := int(b[2]>>4), int(b[2]>>2&3)
	if version == 1 || layer == 0 || bitRate == 15 || rate == 3 || b[3]&3 == 2 {
		return h, false
	}
	h.layer = 4 - int(layer)
	h.rate = mpegRates[rate]
	h.version = 1
	switch version {
	case 2:
		h.version, h.rate = 2, h.rate/2
	case 0:
		h.version, h.rate = 25, h.rate/4
	}
	h.channels = 2
	if b[3]>>6 == 3 {
		h.channels = 1
	}
	h.crc = b[1]&1 == 0
	row := h.layer - 1
	if h.version != 1 {
		row = min(3+row, 4)
	}
	bits := mpegBitRates[row][bitRate] * 1000
	padding := int(b[2] >> 1 & 1)
	switch {
	case h.layer == 1:
		h.samples = 384
		h.frameBytes = (12*bits/h.rate + padding) * 4
	case h.layer == 3 && h.version != 1:
		h.samples = 576
		h.frameBytes = 72*bits/h.rate + padding
	default:
		h.samples = 1152
		h.frameBytes = 144*bits/h.rate + padding
	}
	if bits == 0 {
		h.frameBytes = 0
	}
	return h, true
}

// sameStream reports whether two headers can be of one stream: bit rate and
// stereo mode may change from frame to frame, the rest may not.
func (h mpegHeader) sameStream(o mpegHeader) bool {
	return h.version == o.version && h.layer == o.layer && h.rate == o.rate
}

// mpegChain is how many headers in a row make a stream believable. Two occur in
// random bytes once in some megabytes; three do not within what is searched.
const mpegChain = 3

// chainAt reports whether a chain of frames starts at b. atEnd says that
// nothing follows b: then a chain that ends with it is good, however short.
func chainAt(b []byte, atEnd bool) (h mpegHeader, ok bool) {
	h, ok = parseMPEGHeader(b)
	if !ok || h.frameBytes == 0 {
		return h, false
	}
	next := h
	for i := 1; i < mpegChain; i++ {
		if next.frameBytes > len(b) {
			return h, false
		}
		b = b[next.frameBytes:]
		if len(b) < 4 {
			return h, atEnd
		}
		n, ok := parseMPEGHeader(b)
		if !ok || n.frameBytes == 0 || !n.sameStream(h) {
			// Tags at the end are what follows a last frame.
			return h, atEnd && isTrailingTag(b)
		}
		next = n
	}
	return h, true
}

// isTrailingTag reports whether b starts with a tag that MP3 files end with.
func isTrailingTag(b []byte) bool {
	for _, t := range []string{"TAG", "APETAGEX", "LYRICSBEGIN", "ID3", "3DI"} {
		if len(b) >= len(t) && string(b[:len(t)]) == t {
			return true
		}
	}
	return false
}

// sniffMPEG looks for a chain of MPEG audio or ADTS frames, past leading
// garbage if need be.
func sniffMPEG(head []byte) string {
	if isADTS(head) {
		return "aac"
	}
	atEnd := len(head) < sniffBytes
	for i := 0; i+4 <= len(head); i++ {
		if head[i] != 0xff {
			continue
		}
		h, ok := chainAt(head[i:], atEnd)
		if !ok {
			continue
		}
		switch h.layer {
		case 3:
			return "mp3"
		case 2:
			return "mp2"
		}
		return "mp1"
	}
	// A lone sync word at the very start: a stream too short or too broken to
	// chain. Let the decoder find out.
	if h, ok := parseMPEGHeader(head); ok && h.layer == 3 {
		return "mp3"
	}
	return ""
}

// isADTS recognises AAC in its transport stream: the same sync word with the
// layer bits 00, and a frame length of 13 bits (ISO/IEC 13818-7, section 6.2).
func isADTS(b []byte) bool {
	for i := 0; i < 2; i++ {
		if len(b) < 7 || b[0] != 0xff || b[1]&0xf6 != 0xf0 {
			return false
		}
		n := int(b[3]&3)<<11 | int(b[4])<<3 | int(b[5])>>5
		if n < 7 {
			return false
		}
		if n >= len(b) {
			return true
		}
		b = b[n:]
	}
	return true
}
