package whisper

import (
	"math"
	"slices"
)

// medianWidth is the width of the filter over time that attention goes through (openai/whisper, timing.py).
const medianWidth = 7

// alignTokens finds when each token was said. attention is [heads][tokens][stride]: for each head and token, softmax
// weights over the encoder positions, of which the first frames are sound. The first skip tokens and the last one are
// special. The result is, for each token between them and the end of text, the encoder position where its stretch of
// the cheapest path starts.
//
// The weights are normalised for each head over the tokens, smoothed over time by a median, and averaged over the
// heads; dynamic time warping then finds the monotonic path through them (openai/whisper, timing.py, find_alignment).
func alignTokens(attention []float32, heads, tokens, stride, frames, skip int) []int {
	matrix := attentionMatrix(attention, heads, tokens, stride, frames)
	rows := tokens - skip - 1
	return warp(matrix[skip*frames:(skip+rows)*frames], rows, frames)
}

// attentionMatrix is the [tokens][frames] mean of the heads' normalised, smoothed attention.
func attentionMatrix(attention []float32, heads, tokens, stride, frames int) []float32 {
	matrix := make([]float32, tokens*frames)
	head := make([]float32, tokens*frames)
	smooth := make([]float32, frames)
	for h := range heads {
		for t := range tokens {
			row := attention[(h*tokens+t)*stride:][:frames]
			var sum float64
			for _, w := range row {
				sum += float64(w)
			}
			// The softmax over the frames alone: its scale is all that the others took away.
			scale := float32(0)
			if sum > 0 {
				scale = float32(1 / sum)
			}
			for f, w := range row {
				head[t*frames+f] = w * scale
			}
		}
		standardise(head, tokens, frames)
		for t := range tokens {
			medianFilter(smooth, head[t*frames:(t+1)*frames])
			for f, w := range smooth {
				matrix[t*frames+f] += w / float32(heads)
			}
		}
	}
	return matrix
}

// standardise gives every column of m [rows][cols] mean 0 and standard deviation 1.
func standardise(m []float32, rows, cols int) {
	for c := range cols {
		var sum, squares float64
		for r := range rows {
			sum += float64(m[r*cols+c])
		}
		mean := sum / float64(rows)
		for r := range rows {
			d := float64(m[r*cols+c]) - mean
			squares += d * d
		}
		std := math.Sqrt(squares / float64(rows))
		for r := range rows {
			d := float64(m[r*cols+c]) - mean
			if std > 0 {
				d /= std
			}
			m[r*cols+c] = float32(d)
		}
	}
}

// medianFilter sets dst to the median of src around each place, src reflected at its ends.
// A src that is too short to reflect is copied.
func medianFilter(dst, src []float32) {
	const half = medianWidth / 2
	n := len(src)
	if n <= half {
		copy(dst, src)
		return
	}
	var around [medianWidth]float32
	for i := range src {
		for k := range around {
			j := i + k - half
			if j < 0 {
				j = -j
			} else if j >= n {
				j = 2*(n-1) - j
			}
			around[k] = src[j]
		}
		slices.Sort(around[:])
		dst[i] = around[half]
	}
}

// warp finds the monotonic path through m [rows][cols] with the greatest sum and returns,
// for each row, the column where the path enters it.
func warp(m []float32, rows, cols int) []int {
	path := warpPath(m, rows, cols)
	entries := make([]int, rows)
	last := -1
	for _, p := range path {
		if p[0] != last {
			entries[p[0]] = p[1]
			last = p[0]
		}
	}
	return entries
}

// The steps that lead to a place of the path.
const (
	diagonalStep = iota
	downStep
	rightStep
)

// warpPath is dynamic time warping on -m: the steps (row, column) of the cheapest path from corner to corner.
func warpPath(m []float32, rows, cols int) [][2]int {
	steps := cheapestSteps(m, rows, cols)
	var path [][2]int
	for r, c := rows-1, cols-1; r >= 0 && c >= 0; {
		path = append(path, [2]int{r, c})
		step := steps[r*cols+c]
		if step != rightStep {
			r--
		}
		if step != downStep {
			c--
		}
	}
	slices.Reverse(path)
	return path
}

// cheapestSteps finds the last step of the cheapest path to each place of m, in [rows][cols] as m.
// Costs are single precision and ties go to a column's step, as in the reference.
func cheapestSteps(m []float32, rows, cols int) []uint8 {
	inf := float32(math.Inf(1))
	before, here := make([]float32, rows+1), make([]float32, rows+1) // cost of one column
	steps := make([]uint8, rows*cols)
	for i := range before {
		before[i] = inf
	}
	before[0] = 0
	for c := range cols {
		here[0] = inf
		for r := range rows {
			both, above, left := before[r], here[r], before[r+1]
			cost, step := left, uint8(rightStep)
			switch {
			case both < above && both < left:
				cost, step = both, diagonalStep
			case above < both && above < left:
				cost, step = above, downStep
			}
			here[r+1] = float32(float64(cost) - float64(m[r*cols+c]))
			steps[r*cols+c] = step
		}
		before, here = here, before
	}
	return steps
}
