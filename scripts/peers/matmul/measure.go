//go:build linux && (amd64 || arm64)

package main

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

const (
	// least is how long a side computes in a round, and settle how long it's quiet before: threads that another side left spinning are
	// asleep then (OpenBLAS's take 2^26 cycles).
	least  = 40 * time.Millisecond
	settle = 60 * time.Millisecond
)

// product computes y = x Wᵀ once, for the x and the W it was made with.
type product interface {
	multiply() error
	// result is y, [m][n].
	result() ([]float32, error)
}

// contender is one way to compute a product.
type contender struct {
	name      string
	tolerance float64 // of the relative L2 error of a result
	product
}

// Row is what came of one shape.
type Row struct {
	Where string `json:"where"`
	Size  string `json:"size"` // rows x outputs x inputs
	// GFLOPS is a side's median rate, Ratios those of hark to a library, as names of both: [least, median, greatest].
	GFLOPS map[string]float64    `json:"gflops"`
	Ratios map[string][3]float64 `json:"ratios"`
}

// comparisons are the ratios that are told of: hark's way and a library's.
var comparisons = [][2]string{{"hark f32", "OpenBLAS f32"}, {"hark f32", "ORT f32"}, {"hark halves", "ORT f32"}, {"hark int8", "ORT int8"}}

// measure lets all that can compute a shape do so by turns.
func measure(all *sides, s shape, rounds int) (*Row, error) {
	rng := rand.New(rand.NewPCG(1, uint64(s.m*s.n+s.k)))
	x, w := normals(rng, s.m*s.k), normals(rng, s.n*s.k)
	contenders, release, err := all.contenders(s, x, w)
	if err != nil {
		return nil, err
	}
	defer release()
	want := reference(s, x, w)
	for _, c := range contenders {
		if err := check(c, s, want); err != nil {
			return nil, err
		}
	}

	rates := map[string][]float64{}
	for range rounds {
		for _, c := range contenders {
			if all.threads > 1 {
				time.Sleep(settle)
			}
			seconds, err := timeOf(c, all.clock())
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.name, err)
			}
			rates[c.name] = append(rates[c.name], 2*float64(s.m)*float64(s.n)*float64(s.k)/seconds/1e9)
		}
	}
	row := &Row{Where: s.where, Size: s.size(), GFLOPS: map[string]float64{}, Ratios: map[string][3]float64{}}
	for name, r := range rates {
		row.GFLOPS[name] = spread(r)[1]
	}
	for _, c := range comparisons {
		ours, theirs := rates[c[0]], rates[c[1]]
		if len(ours) == 0 || len(theirs) == 0 {
			continue
		}
		ratios := make([]float64, rounds)
		for i := range ratios {
			ratios[i] = ours[i] / theirs[i]
		}
		row.Ratios[c[0]+" / "+c[1]] = spread(ratios)
	}
	return row, nil
}

// timeOf is the seconds of one product, after one that doesn't count.
func timeOf(p product, clock func() time.Duration) (float64, error) {
	if err := p.multiply(); err != nil {
		return 0, err
	}
	begin := clock()
	for n := 1; ; n++ {
		if err := p.multiply(); err != nil {
			return 0, err
		}
		if took := clock() - begin; took >= least {
			return took.Seconds() / float64(n), nil
		}
	}
}

// reference computes the first and the last rows and columns of y, and no more than 64 of each: keys are places in [m][n].
func reference(s shape, x, w []float32) map[int]float64 {
	want := map[int]float64{}
	for _, i := range edges(s.m) {
		for _, j := range edges(s.n) {
			sum := 0.0
			for k := range s.k {
				sum += float64(x[i*s.k+k]) * float64(w[j*s.k+k])
			}
			want[i*s.n+j] = sum
		}
	}
	return want
}

// edges are the first and last 32 of n places.
func edges(n int) []int {
	var at []int
	for i := range n {
		if i < 32 || i >= n-32 {
			at = append(at, i)
		}
	}
	return at
}

// check compares a product with the reference.
func check(c contender, s shape, want map[int]float64) error {
	if err := c.multiply(); err != nil {
		return fmt.Errorf("%s: %w", c.name, err)
	}
	got, err := c.result()
	if err != nil {
		return fmt.Errorf("%s: %w", c.name, err)
	}
	if len(got) != s.m*s.n {
		return fmt.Errorf("%s: %d results", c.name, len(got))
	}
	var off, all float64
	for at, v := range want {
		off += (float64(got[at]) - v) * (float64(got[at]) - v)
		all += v * v
	}
	if e := math.Sqrt(off / all); !(e <= c.tolerance) {
		return fmt.Errorf("%s: %w: relative error %.3g", c.name, errWrong, e)
	}
	return nil
}

var errWrong = errors.New("the product is wrong")

func normals(rng *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(rng.NormFloat64())
	}
	return x
}

// spread is the least, the median and the greatest of x, which is sorted by it.
func spread(x []float64) [3]float64 {
	slices.Sort(x)
	return [3]float64{x[0], x[(len(x)-1)/2], x[len(x)-1]}
}
