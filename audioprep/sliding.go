package audioprep

// maxFrameBytes bounds how much of a stream is held to decode one frame. The
// largest FLAC frame that can be written, 65535 samples of 8 channels with 24
// bits, has 1.6 MB.
const maxFrameBytes = 4 << 20

// sliding is a stretch of the upload held in memory, so that a decoder can run
// into damaged data and start again behind it without reading twice.
type sliding struct {
	in   *input
	b    []byte // from the cursor's buffer on
	at   int    // the cursor in b
	done bool   // nothing follows b
}

// fill makes at least n bytes available from the cursor, unless the upload ends
// before; it returns what is available.
func (s *sliding) fill(n int) []byte {
	for len(s.b)-s.at < n && !s.done {
		if s.at > 64<<10 && s.at > len(s.b)/2 {
			s.b = s.b[:copy(s.b, s.b[s.at:])]
			s.at = 0
		}
		old := len(s.b)
		grow := max(32<<10, min(n, maxFrameBytes))
		s.b = append(s.b, make([]byte, grow)...)
		got, err := s.in.readFull(s.b[old:])
		s.b = s.b[:old+got]
		s.done = err != nil
	}
	return s.b[s.at:]
}

// has reports whether n bytes follow the cursor, if need be once they have arrived.
func (s *sliding) has(n int64) bool {
	have := int64(len(s.b) - s.at)
	return n <= have || s.in.has(n-have)
}

// skip moves the cursor over n bytes that are available.
func (s *sliding) skip(n int) { s.at += min(n, len(s.b)-s.at) }

// jump moves the cursor over n bytes that need not be available: what is far is
// not read.
func (s *sliding) jump(n int64) {
	if have := int64(len(s.b) - s.at); n > have {
		s.b, s.at = s.b[:0], 0
		if err := s.in.seek(s.in.pos + n - have); err != nil {
			s.done = true
		}
		return
	}
	s.at += int(n)
}
