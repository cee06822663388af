package kernels

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
)

// matmulShapes covers one and several blocks in each direction, and every remainder of the tiles.
var matmulShapes = []struct{ m, n, k int }{
	{1, 1, 1}, {1, 16, 3}, {2, 17, 4}, {3, 31, 5}, {4, 32, 16}, {5, 33, 17}, {6, 64, 64}, {7, 65, 100}, {8, 100, 80}, {9, 48, 31},
	{10, 96, 33}, {11, 130, 7}, {12, 64, 512}, {13, 40, 257}, {24, 32, 300}, {25, 300, 256}, {31, 513, 64}, {97, 70, 530}, {200, 129, 515},
	{3, 70, 2050}, {1, 64, 4100}, {5, 0, 9}, {0, 5, 9}, {4, 33, 0},
}

// matmulRef computes the product in float64, and the sum of the terms' sizes, which bounds its rounding error.
func matmulRef(x []float32, ldx, m int, w []float32, n, k int, ep Epilogue) (want, size []float64) {
	want, size = make([]float64, m*n), make([]float64, m*n)
	for i := range m {
		for j := range n {
			var s, a float64
			for c := range k {
				p := float64(x[i*ldx+c]) * float64(w[j*k+c])
				s, a = s+p, a+math.Abs(p)
			}
			if ep.Bias != nil {
				s, a = s+float64(ep.Bias[j]), a+math.Abs(float64(ep.Bias[j]))
			}
			switch ep.Act {
			case ActGELU:
				s = 0.5 * s * (1 + math.Erf(s/math.Sqrt2))
			case ActReLU:
				s = max(s, 0)
			case ActSiLU:
				s = s / (1 + math.Exp(-s))
			}
			if ep.Residual != nil {
				r := float64(ep.Residual[i*ep.LdResidual+j])
				s, a = s+r, a+math.Abs(r)
			}
			want[i*n+j], size[i*n+j] = s, a
		}
	}
	return want, size
}

// packing is a way to keep weights, and to make numbers such that it loses nothing.
type packing struct {
	name  string
	pack  func(w []float32, n, k int) *PackedF32
	round func(x []float32) []float32
}

var packings = []packing{
	{"f32", PackF32, func(x []float32) []float32 { return x }},
	{"bf16", PackBF16, asBF16},
}

// eachPacking runs f once per tier and packing.
func eachPacking(t *testing.T, f func(t *testing.T, p packing)) {
	t.Helper()
	eachTier(t, func(t *testing.T) {
		for _, p := range packings {
			t.Run(p.name, func(t *testing.T) { f(t, p) })
		}
	})
}

func TestMatMul(t *testing.T) {
	eachPacking(t, func(t *testing.T, p packing) {
		for _, c := range matmulShapes {
			for act := ActNone; act <= ActSiLU; act++ {
				t.Run(fmt.Sprintf("%dx%dx%d/%v", c.m, c.n, c.k, act), func(t *testing.T) { testMatMul(t, p, c.m, c.n, c.k, act) })
			}
		}
	})
}

func testMatMul(t *testing.T, p packing, m, n, k int, act Activation) {
	r := rng(uint64(m*n + k))
	ldx, ldd, ldr := k+3, n+5, n+1
	x := guarded(t, p.round(normals(r, max(0, (m-1)*ldx+k))))
	w := guarded(t, p.round(normals(r, n*k)))
	packed := p.pack(w, n, k)
	bias := guarded(t, normals(r, n))
	res := guarded(t, normals(r, max(0, (m-1)*ldr+n)))
	for _, ep := range []Epilogue{{Act: act}, {Bias: bias, Act: act}, {Bias: bias, Act: act, Residual: res, LdResidual: ldr}} {
		dst := make([]float32, max(0, (m-1)*ldd+n))
		for i := range dst {
			dst[i] = 7
		}
		dst = guarded(t, dst)
		MatMul(dst, ldd, x, ldx, m, packed, 0, n, ep)
		want, size := matmulRef(x, ldx, m, w, n, k, ep)
		for i := range m {
			for j := range n {
				// Each of k additions rounds by at most 2^-24 of the sizes so far; 1e-6 is what the chain shows in
				// practice, the activation adds its own 5e-7 per unit.
				tol := 1e-6*size[i*n+j] + 1e-6
				if got := float64(dst[i*ldd+j]); !(math.Abs(got-want[i*n+j]) <= tol) {
					t.Fatalf("[%d][%d] = %v, want %v +- %.2g", i, j, got, want[i*n+j], tol)
				}
			}
			for j := n; j < ldd && i < m-1; j++ {
				if dst[i*ldd+j] != 7 {
					t.Fatalf("[%d][%d], between rows, was overwritten", i, j)
				}
			}
		}
	}
}

// unpack returns the [N][K] weights that p holds.
func unpack(p *PackedF32) []float32 {
	w := make([]float32, p.N*p.K)
	for j := range p.N {
		for i := range p.K {
			at := j/panelCols*panelCols*p.K + i*panelCols + j%panelCols
			if p.halves != nil {
				w[j*p.K+i] = halfToFloat(p.halves[at])
			} else {
				w[j*p.K+i] = p.panels[at]
			}
		}
	}
	return w
}

func TestPackF32(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		for _, n := range []int{0, 1, 7, 15, 16, 17, 32, 33, 100} {
			for _, k := range []int{0, 1, 3, 7, 8, 9, 15, 16, 17, 33, 80} {
				w := normals(rng(1), n*k)
				testPackF32(t, w, n, k, false)
				testPackF32(t, asHalves(w), n, k, true)
			}
		}
	})
}

func testPackF32(t *testing.T, w []float32, n, k int, halves bool) {
	t.Helper()
	what := fmt.Sprintf("%dx%d, halves: %v", n, k, halves)
	p := PackF32(guarded(t, w), n, k)
	sameBits(t, what, unpack(p), w)
	for j := n; j < roundUp(n, tileCols); j++ {
		for i := range k {
			at := j/panelCols*panelCols*k + i*panelCols + j%panelCols
			if halves && p.halves[at] != 0 || !halves && p.panels[at] != 0 {
				t.Fatalf("%s: padding of column %d is not zero", what, j)
			}
		}
	}
	size := 4 * n * k
	if halves {
		size /= 2
		if n*k > 0 && p.panels != nil {
			t.Errorf("%s: kept as float32", what)
		}
	}
	if p.Bytes() < size || n == 100 && p.Bytes() > 2*size {
		t.Errorf("%s: Bytes() = %d", what, p.Bytes())
	}
}

// TestMatMulHalves holds weights that are kept as halves to the bits that they have as float32.
func TestMatMulHalves(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		for _, c := range matmulShapes {
			r := rng(uint64(c.m*c.n + c.k))
			x, w := guarded(t, normals(r, c.m*c.k)), asHalves(normals(r, c.n*c.k))
			halves := PackF32(w, c.n, c.k)
			floats := &PackedF32{N: c.n, K: c.k, panels: alignedFloats(roundUp(c.n, tileCols) * c.k)}
			packColumns(floats.panels, w, c.k, c.n, c.k)
			got, want := make([]float32, c.m*c.n), make([]float32, c.m*c.n)
			MatMul(got, c.n, x, c.k, c.m, halves, 0, c.n, Epilogue{})
			MatMul(want, c.n, x, c.k, c.m, floats, 0, c.n, Epilogue{})
			sameBits(t, fmt.Sprintf("%dx%dx%d", c.m, c.n, c.k), got, want)
		}
	})
}

// TestMatMulSplit holds MatMul to its promise: a row has the same bits alone, among any number of others, and however
// the columns are split.
func TestMatMulSplit(t *testing.T) {
	eachPacking(t, func(t *testing.T, p packing) {
		for _, c := range []struct{ n, k int }{{64, 64}, {200, 257}, {96, 530}, {65, 80}, {128, 2100}} {
			const m = 120
			r := rng(uint64(c.k))
			x, w := normals(r, m*c.k), p.pack(normals(r, c.n*c.k), c.n, c.k)
			ep := Epilogue{Bias: normals(r, c.n), Act: ActGELU, Residual: normals(r, m*c.n), LdResidual: c.n}
			want := make([]float32, m*c.n)
			MatMul(want, c.n, x, c.k, m, w, 0, c.n, ep)
			for batch := 1; batch <= 40; batch++ {
				got := make([]float32, m*c.n)
				for i := 0; i < m; i += batch {
					b := min(batch, m-i)
					e := ep
					e.Residual = ep.Residual[i*c.n:]
					for n0 := 0; n0 < c.n; n0 += NBlock * (1 + batch%2) {
						n1 := min(c.n, n0+NBlock*(1+batch%2))
						MatMul(got[i*c.n:], c.n, x[i*c.k:], c.k, b, w, n0, n1, e)
					}
				}
				sameBits(t, fmt.Sprintf("n %d k %d in batches of %d", c.n, c.k, batch), got, want)
			}
		}
	})
}

func TestMatMulInPlaceResidual(t *testing.T) {
	eachPacking(t, func(t *testing.T, p packing) {
		const m, n, k = 100, 300, 600
		r := rng(3)
		x, w, res := normals(r, m*k), p.pack(normals(r, n*k), n, k), normals(r, m*n)
		want := make([]float32, m*n)
		MatMul(want, n, x, k, m, w, 0, n, Epilogue{Residual: res, LdResidual: n})
		MatMul(res, n, x, k, m, w, 0, n, Epilogue{Residual: res, LdResidual: n})
		sameBits(t, "residual is dst", res, want)
	})
}

// TestMatMulWindows reads overlapping rows, as a convolution with stride 2 over 3 frames of 20 does.
func TestMatMulWindows(t *testing.T) {
	eachPacking(t, func(t *testing.T, p packing) {
		const frames, width, n = 151, 20, 40
		r := rng(4)
		x, w := guarded(t, p.round(normals(r, frames*width))), p.round(normals(r, n*3*width))
		const m = (frames - 1) / 2
		dst := make([]float32, m*n)
		MatMul(dst, n, x, 2*width, m, p.pack(w, n, 3*width), 0, n, Epilogue{})
		want, _ := matmulRef(x, 2*width, m, w, n, 3*width, Epilogue{})
		near(t, "windows", dst, want, 2e-5, 1e-6)
	})
}

// TestMatMulConcurrent splits one product over goroutines by rows and columns.
func TestMatMulConcurrent(t *testing.T) {
	eachPacking(t, func(t *testing.T, p packing) {
		const m, n, k = 150, 192, 300
		r := rng(5)
		x, w := normals(r, m*k), p.pack(normals(r, n*k), n, k)
		want, got := make([]float32, m*n), make([]float32, m*n)
		MatMul(want, n, x, k, m, w, 0, n, Epilogue{})
		var wg sync.WaitGroup
		for i := 0; i < m; i += 50 {
			for n0 := 0; n0 < n; n0 += NBlock {
				wg.Go(func() { MatMul(got[i*n:], n, x[i*k:], k, 50, w, n0, n0+NBlock, Epilogue{}) })
			}
		}
		wg.Wait()
		sameBits(t, "split", got, want)
	})
}

// TestMatMulSpecial lets one infinite and one NaN input reach their own row and no other, and the padding's zeros reach
// nothing.
func TestMatMulSpecial(t *testing.T) {
	eachPacking(t, func(t *testing.T, p packing) {
		const m, n, k = 7, 33, 20
		x, w := make([]float32, m*k), make([]float32, n*k)
		for i := range x {
			x[i] = 1
		}
		for i := range w {
			w[i] = 1
		}
		x[2*k+5], x[4*k+7] = inf, nan
		dst := make([]float32, m*n)
		MatMul(dst, n, x, k, m, p.pack(w, n, k), 0, n, Epilogue{})
		for i := range m {
			want := map[int]float64{2: math.Inf(1), 4: math.NaN()}
			v, ok := want[i]
			if !ok {
				v = k
			}
			near(t, fmt.Sprintf("row %d", i), dst[i*n:][:n], slices.Repeat([]float64{v}, n), 0, 0)
		}
	})
}

func TestMatMulPanics(t *testing.T) {
	w := PackF32(make([]float32, 128*8), 128, 8)
	x, d := make([]float32, 16), make([]float32, 256)
	for name, f := range map[string]func(){
		"n0 off the grain": func() { MatMul(d, 128, x, 8, 2, w, 32, 64, Epilogue{}) },
		"n1 beyond N":      func() { MatMul(d, 128, x, 8, 2, w, 0, 129, Epilogue{}) },
		"short x":          func() { MatMul(d, 128, x[:15], 8, 2, w, 0, 128, Epilogue{}) },
		"short dst":        func() { MatMul(d[:255], 128, x, 8, 2, w, 0, 128, Epilogue{}) },
		"overlapping dst":  func() { MatMul(d, 127, x, 8, 2, w, 0, 128, Epilogue{}) },
		"short bias":       func() { MatMul(d, 128, x, 8, 2, w, 0, 128, Epilogue{Bias: x}) },
		"short residual":   func() { MatMul(d, 128, x, 8, 2, w, 0, 128, Epilogue{Residual: x, LdResidual: 128}) },
		"bad activation":   func() { MatMul(d, 128, x, 8, 2, w, 0, 128, Epilogue{Act: 99}) },
		"short weights":    func() { PackF32(x, 3, 8) },
		"short for bf16":   func() { PackBF16(x, 3, 8) },
		"short halves":     func() { PackBF16Halves(make([]byte, 47), 3, 8) },
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
