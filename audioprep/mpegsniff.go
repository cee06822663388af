package audioprep

import "hark/audioprep/internal/mpeg"

// mpegChain is how many headers in a row make a stream believable. Two occur in
// random bytes once in some megabytes; three do not within what is searched.
const mpegChain = 3

// chainAt reports whether a chain of frames starts at b. atEnd says that
// nothing follows b: then a chain that ends with it is good, however short.
func chainAt(b []byte, atEnd bool) (h mpeg.Header, ok bool) {
	h, ok = mpeg.ParseHeader(b)
	h = h.WithBytes(freeBytes(b))
	if !ok || h.Bytes == 0 {
		return h, false
	}
	next := h
	for i := 1; i < mpegChain; i++ {
		if next.Bytes > len(b) {
			return h, false
		}
		b = b[next.Bytes:]
		if len(b) < 4 {
			return h, atEnd
		}
		n, ok := mpeg.ParseHeader(b)
		n = n.WithBytes(h.Unpadded())
		if !ok || n.Free() != h.Free() || !n.SameStream(h) {
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
		if _, ok := chainAt(head[i:], atEnd); ok {
			return "mp3"
		}
		if adtsChainAt(head[i:], atEnd) {
			return "aac"
		}
	}
	// A lone sync word at the very start: a stream too short or too broken to
	// chain. Let the decoder find out.
	if h, ok := mpeg.ParseHeader(head); ok && h.Layer == 3 {
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
