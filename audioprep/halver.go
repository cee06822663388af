package audioprep

// halver passes every other sample frame on to the sink, of a stream that holds nothing above
// a quarter of its rate. Mixing and resampling then have half as much to do.
type halver struct {
	on    bool
	odd   bool // the next sample frame is one that is left out
	block []float32
}

// open opens the sink for a stream of the given rate.
func (h *halver) open(s *sink, rate int64, channels int) error {
	if !h.on {
		return s.open(rate, channels)
	}
	first := !s.opened()
	err := s.open(rate/2, channels)
	if first {
		s.info.SampleRate = int(rate)
	}
	return err
}

// write takes interleaved samples, whole sample frames of them.
func (h *halver) write(s *sink, x []float32) error {
	if !h.on {
		return s.write(x)
	}
	step, first := s.channels, 0
	if h.odd {
		first = step
	}
	frames := len(x) / step
	h.odd = h.odd != (frames%2 == 1)
	kept := (frames*step - first + step) / (2 * step)
	if cap(h.block) < kept*step {
		h.block = make([]float32, kept*step)
	}
	h.block = h.block[:kept*step]
	for c := range step {
		in := first + c
		for out := c; out < len(h.block); out += step {
			h.block[out] = x[in]
			in += 2 * step
		}
	}
	return s.write(h.block)
}
