package audioprep

import "math"

// A constant offset (DC) comes from cheap converters: the samples swing around some
// other value than zero. It is not heard, but the model's log-mel clamps what lies 80 dB
// below its loudest bin, and would clamp speech under an offset. Speech itself has
// nothing below 50 Hz: its mean over a second is nearly zero.
//
// So the mean of each second is looked at. Where it is beyond offsetLimit it is taken
// out, with a straight line between the middles of neighbouring seconds, so that
// nothing jumps. Everything else passes bit by bit.

const (
	offsetBlock = SampleRate     // samples of which the mean is taken
	offsetLeast = SampleRate / 4 // less say nothing about it
	// offsetLimit is -40 dB of full scale. A second of close, plosive speech stays below.
	offsetLimit = 0.01
)

// offsetFilter takes a constant offset out of a stream of samples.
type offsetFilter struct {
	block  []float32 // the second half of the last block, and what follows it
	out    []float32
	mean   float32 // of the last block, 0 if it is within the limit
	first  bool    // the first block was seen
	blocks int
	marked int     // blocks with an offset
	sum    float64 // of their offsets
}

// held is how many samples were taken and not given yet.
func (f *offsetFilter) held() int { return len(f.block) }

// write takes samples and returns those that are done with, which hold until the next
// call.
func (f *offsetFilter) write(x []float32) []float32 {
	f.block = append(f.block, x...)
	done := 0
	for {
		size := offsetBlock
		if f.first {
			size += offsetBlock / 2 // what is left of the block before comes first
		}
		if len(f.block)-done < size {
			break
		}
		b := f.block[done : done+size]
		mean := f.measure(b[size-offsetBlock:])
		n := size - offsetBlock/2
		if !f.first {
			f.mean = mean
		}
		ramp(b[:n], f.mean, mean)
		f.first, f.mean = true, mean
		done += n
	}
	return f.release(done)
}

// release returns the first n samples that are held.
func (f *offsetFilter) release(n int) []float32 {
	if n == 0 {
		return nil
	}
	f.out = append(f.out[:0], f.block[:n]...)
	f.block = f.block[:copy(f.block, f.block[n:])]
	return f.out
}

// flush returns what is left. It has the offset of the last whole block, unless there
// was none.
func (f *offsetFilter) flush() []float32 {
	if !f.first && len(f.block) >= offsetLeast {
		f.mean = f.measure(f.block)
	}
	ramp(f.block, f.mean, f.mean)
	return f.release(len(f.block))
}

// measure returns the mean of a block, or 0 if it is within the limit.
func (f *offsetFilter) measure(x []float32) float32 {
	sum := 0.0
	for _, v := range x {
		sum += float64(v)
	}
	mean := sum / float64(max(1, len(x)))
	f.blocks++
	if math.Abs(mean) < offsetLimit {
		return 0
	}
	f.marked++
	f.sum += mean
	return float32(mean)
}

// ramp subtracts a line from a to b.
func ramp(x []float32, a, b float32) {
	if a == 0 && b == 0 {
		return
	}
	step := (b - a) / float32(max(1, len(x)))
	for i := range x {
		x[i] -= a + step*float32(i)
	}
}

// offset is the constant offset of most of the stream, 0 if it has none.
func (f *offsetFilter) offset() float64 {
	if 2*f.marked <= f.blocks {
		return 0
	}
	return f.sum / float64(f.marked)
}
