//go:build linux && amd64 && !nocuda

package cuda

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"hark/engine"
	"hark/engine/cuda/driver"
	"hark/engine/cuda/emu"
)

// TestBLAS holds cuBLASLt's products to our own kernel's.
func TestBLAS(t *testing.T) {
	for _, s := range []Storage{F16, BF16} {
		gpu := emu.New(t)
		with := open(t, Config{Driver: driver.Config{Library: gpu.Library}, CuBLAS: gpu.BLAS, Storage: s})
		without := newDevice(t, Config{Storage: s, CuBLAS: "off"})
		tolerance := 0x1p-9
		if s == BF16 {
			tolerance = 0x1p-6
		}
		const m, n, k = 259, 72, 40
		for _, c := range []struct {
			name           string
			bias, residual bool
			act            engine.Activation
			byBLAS         uint64
		}{
			{"plain", false, false, engine.NoActivation, 1}, {"bias", true, false, engine.NoActivation, 1},
			{"residual", true, true, engine.NoActivation, 1}, {"activation", true, false, engine.GELU, 1},
			{"activation and residual", true, true, engine.SiLU, 0},
		} {
			t.Run(s.String()+"/"+c.name, func(t *testing.T) {
				before := gpu.Counts()
				got, want := productOn(t, with, m, n, k, c.bias, c.residual, c.act), productOn(t, without, m, n, k, c.bias, c.residual, c.act)
				if by := gpu.Counts().Since(before).Matmuls; by != c.byBLAS {
					t.Errorf("%d products by cuBLASLt, want %d", by, c.byBLAS)
				}
				for i := range want {
					if diff := math.Abs(float64(got[i] - want[i])); !(diff <= tolerance*(1+math.Abs(float64(want[i])))) {
						t.Fatalf("element %d is %g, our own kernel says %g", i, got[i], want[i])
					}
				}
			})
		}
	}
}

// productOn is a product of numbers that are the same for all devices.
func productOn(t *testing.T, d *Device, m, n, k int, bias, residual bool, act engine.Activation) []float32 {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	random := func(n int) []float32 {
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(r.NormFloat64()) / 4
		}
		return v
	}
	matrix := func(rows, cols int) engine.Tensor {
		x := engine.NewTensor(must(d.Alloc(rows*cols)), rows, cols)
		d.Upload(x, random(rows*cols))
		return x
	}
	w, b := random(n*k), random(n)
	if !bias {
		b = nil
	}
	linear := must(d.NewLinear(w, b, n, k))
	d.ManyRows(linear)
	x, dst, res := matrix(m, k), matrix(m, n), engine.Tensor{}
	if residual {
		res = dst
	}
	d.Linear(dst, x, linear, act, res)
	out := make([]float32, m*n)
	if err := d.Download(out, dst); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestBLASAlignment: rows of x may start on any multiple of what [driver.OperandAlignment]
// says, whatever cuBLASLt would like best.
func TestBLASAlignment(t *testing.T) {
	gpu := emu.New(t)
	d := open(t, Config{Driver: driver.Config{Library: gpu.Library}, CuBLAS: gpu.BLAS})
	w := must(d.NewLinear(make([]float32, 64), nil, 8, 8))
	d.ManyRows(w)
	x, dst := engine.NewTensor(must(d.Alloc(5*8)), 5, 8), engine.NewTensor(must(d.Alloc(5*8)), 5, 8)
	d.Linear(dst.Slice(1, 4), x.Slice(2, 5), w, engine.NoActivation, engine.Tensor{})
	if err := d.Sync(); err != nil || gpu.Counts().Matmuls != 1 {
		t.Errorf("got %v after %d products", err, gpu.Counts().Matmuls)
	}
}

// TestBLASRows: which weights are cuBLASLt's is said once, and does not depend on how many rows come.
func TestBLASRows(t *testing.T) {
	gpu := emu.New(t)
	d := open(t, Config{Driver: driver.Config{Library: gpu.Library}, CuBLAS: gpu.BLAS})
	few, many := must(d.NewLinear(make([]float32, 64), nil, 8, 8)), must(d.NewLinear(make([]float32, 64), nil, 8, 8))
	d.ManyRows(many)
	for _, rows := range []int{0, 1, 300} {
		x, dst := engine.NewTensor(must(d.Alloc(rows*8)), rows, 8), engine.NewTensor(must(d.Alloc(rows*8)), rows, 8)
		for w, want := range map[engine.Linear]uint64{few: 0, many: uint64(min(1, rows))} {
			before := gpu.Counts()
			d.Linear(dst, x, w, engine.NoActivation, engine.Tensor{})
			if err := d.Sync(); err != nil {
				t.Fatal(err)
			}
			if by := gpu.Counts().Since(before).Matmuls; by != want {
				t.Errorf("%d rows: %d products by cuBLASLt, want %d", rows, by, want)
			}
		}
	}
}

// TestBLASRefusals: one that was named must be usable; one that was only looked for may be missing.
func TestBLASRefusals(t *testing.T) {
	gpu := emu.New(t)
	c := Config{Driver: driver.Config{Library: gpu.Library}, CuBLAS: "/nowhere/libcublasLt.so.12"}
	if _, err := New(c); !errors.Is(err, driver.ErrNoBLAS) {
		t.Errorf("not there: %v", err)
	}
	c.CuBLAS = gpu.BLAS
	gpu.Set("BLAS_CREATE", 1)
	if _, err := New(c); !errors.Is(err, driver.ErrNoBLAS) {
		t.Errorf("can't be started: %v", err)
	}
	gpu.Set("BLAS_CREATE", 0)
	gpu.Set("BLAS_ALGORITHMS", 0)
	d := open(t, c)
	before := gpu.Counts()
	productOn(t, d, 256, 8, 8, false, false, engine.NoActivation)
	if gpu.Counts().Since(before).Matmuls != 0 {
		t.Error("cuBLASLt multiplied without an algorithm")
	}
}

// TestBLASWithoutRoom: cuBLASLt is not used without its workspace, which its algorithms count on.
func TestBLASWithoutRoom(t *testing.T) {
	d, gpu := emulated(t, Config{})
	gpu.Fail("cuMemAlloc_v2", 1, int(driver.OutOfMemory))
	if b, err := d.startBLAS(gpu.BLAS); b != nil || !errors.Is(err, engine.ErrOutOfMemory) {
		t.Errorf("got %v, %v", b, err)
	}
}
