package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"hark/engine"
)

// matrix is a matrix of the naive reference: everything in float64, by the definition.
type matrix [][]float64

func newMatrix(rows, cols int) matrix {
	m := make(matrix, rows)
	for i := range m {
		m[i] = make([]float64, cols)
	}
	return m
}

// random is a matrix of numbers around zero that float32 holds exactly.
func random(r *rand.Rand, rows, cols int) matrix {
	m := newMatrix(rows, cols)
	for _, row := range m {
		for j := range row {
			row[j] = float64(float32(r.NormFloat64()))
		}
	}
	return m
}

func (m matrix) flat() []float32 {
	var s []float32
	for _, row := range m {
		for _, v := range row {
			s = append(s, float32(v))
		}
	}
	return s
}

// softmax is that of scores.
func softmax(scores []float64) []float64 {
	best, sum := math.Inf(-1), 0.0
	for _, s := range scores {
		best = max(best, s)
	}
	p := make([]float64, len(scores))
	for i, s := range scores {
		p[i] = math.Exp(s - best)
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}

// attend is one head of one query, columns [off, off+dh) of q, k and v, and its distribution.
func attend(q []float64, k, v matrix, off, dh int) (out, probs []float64) {
	scores := make([]float64, len(k))
	for i := range k {
		for j := off; j < off+dh; j++ {
			scores[i] += q[j] * k[i][j]
		}
		scores[i] /= math.Sqrt(float64(dh))
	}
	probs, out = softmax(scores), make([]float64, dh)
	for i, p := range probs {
		for j := range out {
			out[j] += p * v[i][off+j]
		}
	}
	return out, probs
}

// columns is the columns [from, to) of every row.
func (m matrix) columns(from, to int) matrix {
	c := make(matrix, len(m))
	for i := range m {
		c[i] = m[i][from:to]
	}
	return c
}

func gelu(x float64) float64 { return x / 2 * (1 + math.Erf(x/math.Sqrt2)) }

// moat is what surrounds the tensors of tests, to show writes outside of them.
const moat = -77

// put uploads a matrix to a tensor that has a stride of its own and lies in the midst of a buffer.
func put(t *testing.T, d *Device, m matrix, cols int) engine.Tensor {
	t.Helper()
	stride := cols + 3
	buf, err := d.Alloc(5 + len(m)*stride)
	if err != nil {
		t.Fatal(err)
	}
	data := buf.(*buffer).data
	for i := range data {
		data[i] = moat
	}
	x := engine.Tensor{Buf: buf, Off: 5, Rows: len(m), Cols: cols, Stride: stride}
	d.Upload(x, m.flat())
	return x
}

// get downloads a tensor and sees that its surroundings were left alone.
func get(t *testing.T, d *Device, x engine.Tensor) []float32 {
	t.Helper()
	out := make([]float32, x.Rows*x.Cols)
	if err := d.Download(out, x); err != nil {
		t.Fatal(err)
	}
	for i, v := range x.Buf.(*buffer).data {
		if j := i - x.Off; v != moat && (j < 0 || j%x.Stride >= x.Cols) {
			t.Fatalf("element %d, outside the tensor, was overwritten", i)
		}
	}
	return out
}

// close compares a tensor with a matrix. float32 sums of a few hundred numbers around 1 are
// good to about 1e-5.
func (m matrix) close(t *testing.T, got []float32) {
	t.Helper()
	want := m.flat()
	if len(got) != len(want) {
		t.Fatalf("got %d elements, want %d", len(got), len(want))
	}
	for i := range want {
		g, w := float64(got[i]), float64(want[i])
		if !(math.Abs(g-w) <= 1e-5+2e-5*math.Abs(w)) {
			t.Fatalf("row %d, column %d: got %v, want %v", i/len(m[0]), i%len(m[0]), g, w)
		}
	}
}

// onDevices runs a test on devices with different numbers of threads.
func onDevices(t *testing.T, test func(t *testing.T, d *Device)) {
	for _, threads := range []int{1, 2, 5} {
		t.Run(fmt.Sprintf("threads=%d", threads), func(t *testing.T) {
			test(t, newDevice(t, threads))
		})
	}
}

func newDevice(tb testing.TB, threads int) *Device {
	tb.Helper()
	d, err := New(Config{Threads: threads})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(d.Close)
	return d
}

// must returns v; making a handle of right shapes can't fail.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// panics reports whether f panics.
func panics(f func()) (did bool) {
	defer func() { did = recover() != nil }()
	f()
	return false
}

func rng() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }
