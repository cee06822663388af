package audioprep

// line takes the samples of one channel of the result: resamples them, takes a constant
// offset out and keeps them.
type line struct {
	rs     *resampler
	offset offsetFilter
	store  store
	buf    []float32
}

func (l *line) write(x []float32) error {
	l.buf = l.rs.write(l.buf[:0], x)
	return l.keep()
}

// flush takes out what the resampler holds, before another one takes its place.
func (l *line) flush() error {
	l.buf = l.rs.flush(l.buf[:0])
	return l.keep()
}

// keep stores the samples that came out of the resampler.
func (l *line) keep() error {
	x := l.offset.write(l.buf)
	clampFull(x)
	return l.store.add(x)
}

// whole ends the line and returns all that it took.
func (l *line) whole() (*samples, error) {
	x := l.offset.flush()
	clampFull(x)
	if err := l.store.add(x); err != nil {
		return nil, err
	}
	return l.store.whole()
}

// samples is how long the result is by now.
func (l *line) samples() int { return l.store.count + l.offset.held() }

// clampFull cuts samples to full scale: the filter rings beyond it beside clipped peaks,
// and an offset may have hidden how far they reach.
func clampFull(x []float32) {
	for i, v := range x {
		x[i] = max(-1, min(v, 1))
	}
}
