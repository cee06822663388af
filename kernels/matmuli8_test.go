package kernels

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// quantised returns the rows of x, dense, as integers.
func quantised(x []float32, m, k int, fine bool) *Quantised {
	q := new(Quantised)
	q.Reset(m, k, fine)
	q.Quantise(0, x, k, m)
	return q
}

// matmulI8Ref computes the product of the integers that x and w should be made of, scaled in float64.
func matmulI8Ref(x []float32, m int, w *PackedI8, fine bool, ep Epilogue) []float64 {
	want := make([]float64, m*w.N)
	for i := range m {
		row := x[i*w.K:][:w.K]
		padded := make([]float32, w.kp)
		copy(padded, row)
		scale := stepRef(padded, w.K, fine)
		var inv float32
		if scale >= leastScale {
			inv = 1 / scale
		} else {
			scale = 0
		}
		for j := range w.N {
			var s int64
			for c, v := range row {
				b := w.panels[j/panelCols*panelCols*w.kp+c/groupK*groupK*panelCols+j%panelCols*groupK+c%groupK]
				s += int64(math.RoundToEven(float64(v*inv))) * int64(int8(b-uint8(w.offset)))
			}
			out := float64(float32(s)) * float64(scale*w.scale[j])
			if ep.Bias != nil {
				out += float64(ep.Bias[j])
			}
			want[i*w.N+j] = out
		}
	}
	return want
}

// stepRef is the step that a padded row of k numbers should have.
func stepRef(row []float32, k int, fine bool) float32 {
	most, sum, below := spreadGeneric(row)
	switch {
	case sevenBits():
		means := map[bool]float32{true: sevenReach, false: sevenCoarse}[fine]
		reach := min(most, sum*(means/float32(max(1, k))))
		return max((reach+min(below, reach))/126, most/sevenFar)
	case fine:
		return max(min(most/127, sum*(outlier/(127*float32(max(1, k))))), most/mostI16)
	}
	return most / 127
}

// outliers returns normals of which a few columns are far larger, as a transformer's activations are.
func outliers(seed uint64, m, k int) []float32 {
	x := normals(rng(seed), m*k)
	for i := range x {
		if c := i % k; c%37 == 5 {
			x[i] *= 30
		}
	}
	return x
}

func TestMatMulI8(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		for _, fine := range []bool{false, true} {
			for _, c := range matmulShapes {
				t.Run(fmt.Sprintf("fine=%v/%dx%dx%d", fine, c.m, c.n, c.k), func(t *testing.T) {
					x, w := outliers(7, c.m, c.k), PackI8(guarded(t, normals(rng(8), c.n*c.k)), c.n, c.k, fine, false)
					ep := Epilogue{Bias: guarded(t, normals(rng(9), c.n))}
					ldd := c.n + 3
					dst := guarded(t, make([]float32, max(0, (c.m-1)*ldd+c.n)))
					MatMulI8(dst, ldd, quantised(guarded(t, x), c.m, c.k, fine), 0, c.m, w, 0, c.n, ep)
					want := matmulI8Ref(x, c.m, w, fine, ep)
					for i := range c.m {
						// The integers are exact; what is left are three roundings of the result's float32.
						near(t, fmt.Sprint("row ", i), dst[i*ldd:][:c.n], want[i*c.n:][:c.n], 2e-7, 4e-7)
					}
				})
			}
		}
	})
}

// TestMatMulI8Lists gives each row large numbers in columns of its own, and some rows none, so that the lists of high
// bytes in a strip differ from each other and in length, down to none at all.
func TestMatMulI8Lists(t *testing.T) {
	const n, k = 70, 200
	eachTier(t, func(t *testing.T) {
		w := PackI8(normals(rng(8), n*k), n, k, true, false)
		for rows := 1; rows <= StripRows; rows++ {
			for _, none := range [][2]int{{0, 0}, {0, 6}, {6, StripRows}, {3, 9}} {
				x := normals(rng(7), rows*k)
				for r := range rows {
					for i := range r + 1 {
						if r < none[0] || r >= none[1] {
							x[r*k+(r*61+i*23)%k] = 90
						}
					}
				}
				dst := make([]float32, rows*n)
				MatMulI8(dst, n, quantised(x, rows, k, true), 0, rows, w, 0, n, Epilogue{})
				near(t, fmt.Sprint(rows, " rows, small ones ", none), dst, matmulI8Ref(x, rows, w, true, Epilogue{}), 2e-7, 4e-7)
			}
		}
	})
}

// TestMatMulI8Alike holds all tiers to the same bits where they have the same integers, of seven bits or eight: the
// sums are integers, and what follows is one multiply-add.
func TestMatMulI8Alike(t *testing.T) {
	const m, n, k = 29, 70, 200
	seen := map[bool][]float32{}
	eachTier(t, func(t *testing.T) {
		w := PackI8(normals(rng(1), n*k), n, k, true, false)
		got := make([]float32, m*n)
		MatMulI8(got, n, quantised(outliers(2, m, k), m, k, true), 0, m, w, 0, n, Epilogue{})
		want, ok := seen[sevenBits()]
		if !ok {
			want = got
			seen[sevenBits()] = got
		}
		sameBits(t, "product", got, want)
	})
}

// TestMatMulI8Split is TestMatMulSplit for integers.
func TestMatMulI8Split(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		for _, fine := range []bool{false, true} {
			const m, n, k = 120, 200, 257
			x, w := outliers(3, m, k), PackI8(normals(rng(4), n*k), n, k, fine, false)
			ep := Epilogue{Bias: normals(rng(5), n), Act: ActGELU, Residual: normals(rng(6), m*n), LdResidual: n}
			want := make([]float32, m*n)
			MatMulI8(want, n, quantised(x, m, k, fine), 0, m, w, 0, n, ep)
			for batch := 1; batch <= 40; batch++ {
				got := make([]float32, m*n)
				for i := 0; i < m; i += batch {
					b := min(batch, m-i)
					q := quantised(x[i*k:], b, k, fine)
					e := ep
					e.Residual = ep.Residual[i*n:]
					for n0 := 0; n0 < n; n0 += NBlock {
						MatMulI8(got[i*n:], n, q, 0, b, w, n0, min(n, n0+NBlock), e)
					}
				}
				sameBits(t, fmt.Sprintf("fine %v, batches of %d", fine, batch), got, want)
			}
			q, got := quantised(x, m, k, fine), make([]float32, m*n)
			for i := 0; i < m; i += 2 * StripRows {
				e := ep
				e.Residual = ep.Residual[i*n:]
				MatMulI8(got[i*n:], n, q, i, 2*StripRows, w, 0, n, e)
			}
			sameBits(t, fmt.Sprintf("fine %v, rows in two strips", fine), got, want)
		}
	})
}

// TestMatMulI8Accuracy states what integers cost: the relative L2 error of a product of rows with outliers.
func TestMatMulI8Accuracy(t *testing.T) {
	const m, n, k = 24, 64, 512
	x, w := outliers(1, m, k), normals(rng(2), n*k)
	exact, _ := matmulRef(x, k, m, w, n, k, Epilogue{})
	eachTier(t, func(t *testing.T) {
		for _, c := range []struct {
			fine bool
			most float64
		}{{true, 0.012}, {false, 0.06}} {
			got := make([]float32, m*n)
			MatMulI8(got, n, quantised(x, m, k, c.fine), 0, m, PackI8(w, n, k, c.fine, false), 0, n, Epilogue{})
			if e := relativeError(got, exact); !(e <= c.most) {
				t.Errorf("fine %v: relative error %.4f, want at most %v", c.fine, e, c.most)
			} else {
				t.Logf("fine %v: relative error %.4f", c.fine, e)
			}
		}
	})
}

// TestMatMulI8Special has rows of zeros and of values that no step can tell, and rows that hold what is no number.
func TestMatMulI8Special(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		for _, fine := range []bool{false, true} {
			const m, n, k = 6, 33, 20
			x, w := make([]float32, m*k), slices.Repeat([]float32{0.5}, n*k)
			for i := range k {
				x[1*k+i], x[2*k+i], x[5*k+i] = 1e-40, 1, 3e38
			}
			x[3*k+4], x[4*k+5] = nan, inf
			got := make([]float32, m*n)
			MatMulI8(got, n, quantised(x, m, k, fine), 0, m, PackI8(w, n, k, fine, false), 0, n, Epilogue{})
			for i, v := range []float64{0, 0, k / 2, math.NaN(), math.NaN(), math.Inf(1)} {
				row := got[i*n:][:n]
				if i == 4 && row[0]-row[0] != 0 {
					continue // an infinity may stay one
				}
				near(t, fmt.Sprintf("fine %v, row %d", fine, i), row, slices.Repeat([]float64{v}, n), 1e-6, 1e-6)
			}
		}
	})
}

func TestPackI8(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		for _, form := range []struct {
			fine, rest bool
			steps      float64 // that make one of the bytes
		}{{false, false, 1}, {true, false, 1}, {false, true, restSteps}, {true, true, restSteps}} {
			for _, c := range []struct{ n, k int }{{0, 0}, {1, 1}, {16, 3}, {17, 5}, {33, 1}, {100, 70}} {
				w := normals(rng(1), c.n*c.k)
				p := PackI8(guarded(t, w), c.n, c.k, form.fine, form.rest)
				if p.Fine() != form.fine || p.Bytes() < c.n*c.k {
					t.Errorf("%d x %d: fine %v, %d bytes", c.n, c.k, p.Fine(), p.Bytes())
				}
				for n := range c.n {
					got := make([]float32, c.k)
					p.Row(n, got)
					// The nearest multiple of a step is half a step away at most.
					near(t, fmt.Sprint("row ", n), got, wide(w[n*c.k:][:c.k]), float64(p.scale[n])*0.502/form.steps, 2e-7)
				}
			}
		}
	})
}

func TestMatMulI8Panics(t *testing.T) {
	w := PackI8(make([]float32, 128*8), 128, 8, true, false)
	x, d := quantised(make([]float32, 16*8), 16, 8, true), make([]float32, 16*128)
	for name, f := range map[string]func(){
		"i0 within a strip": func() { MatMulI8(d, 128, x, 6, 2, w, 0, 128, Epilogue{}) },
		"rows beyond m":     func() { MatMulI8(d, 128, x, 12, 5, w, 0, 128, Epilogue{}) },
		"other k":           func() { MatMulI8(d, 128, quantised(nil, 0, 9, true), 0, 0, w, 0, 128, Epilogue{}) },
		"coarse rows":       func() { MatMulI8(d, 128, quantised(make([]float32, 8), 1, 8, false), 0, 1, w, 0, 128, Epilogue{}) },
		"n0 off the grain":  func() { MatMulI8(d, 128, x, 0, 2, w, 32, 64, Epilogue{}) },
		"short dst":         func() { MatMulI8(d[:255], 128, x, 0, 2, w, 0, 128, Epilogue{}) },
		"part of a strip":   func() { x.Quantise(0, make([]float32, 80), 8, 10) },
		"rows in a strip":   func() { x.Quantise(6, make([]float32, 80), 8, 10) },
		"short x":           func() { x.Quantise(12, make([]float32, 31), 8, 4) },
		"no row":            func() { w.Row(128, d) },
		"negative":          func() { x.Reset(-1, 8, true) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		})
	}
}
