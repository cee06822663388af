package audioprep

// line takes the samples of one channel of the result: resamples them and keeps
// them.
type line struct {
	rs   *resampler
	full [][]float32 // pieces of pieceSamples and more
	out  []float32   // and what follows them
}

// pieceSamples is how long the result grows in one piece, 17 minutes. A longer one of
// unknown length goes on in another: to grow by copying would take its size twice
// over, and leave what it outgrew to be collected.
const pieceSamples = 1 << 24

// expect makes room for samples to come, unless that was done before.
func (l *line) expect(samples int) {
	if l.out == nil && l.full == nil {
		l.out = make([]float32, 0, samples)
	}
}

func (l *line) write(x []float32) {
	l.makeRoom(len(x))
	l.out = l.rs.write(l.out, x)
}

// makeRoom begins another piece where this one would have to be copied to grow.
func (l *line) makeRoom(n int) {
	most := n*SampleRate/l.rs.from + 1024 // what the resampler still holds included
	if len(l.out) >= pieceSamples && len(l.out)+most > cap(l.out) {
		l.full = append(l.full, l.out)
		l.out = make([]float32, 0, pieceSamples+most)
	}
}

// flush takes out what the resampler holds.
func (l *line) flush() { l.out = l.rs.flush(l.out) }

// samples is how long the result is by now.
func (l *line) samples() int {
	n := len(l.out)
	for _, piece := range l.full {
		n += len(piece)
	}
	return n
}

// whole puts the pieces together.
func (l *line) whole() []float32 {
	if l.full != nil {
		whole := make([]float32, 0, l.samples())
		for _, piece := range l.full {
			whole = append(whole, piece...)
		}
		l.out, l.full = append(whole, l.out...), nil
	}
	// The filter rings beyond full scale beside clipped peaks.
	for i, v := range l.out {
		l.out[i] = max(-1, min(v, 1))
	}
	return l.out
}
