package cuda

import (
	"hark/engine"
	"hark/engine/cuda/driver"
)

const (
	// typicalRows is the number of rows that cuBLASLt chooses its algorithms for: a window's, in a Whisper. One
	// algorithm for all numbers of rows keeps a row's result the same in any batch.
	typicalRows = 1500
	// blasWorkspace is what cuBLASLt may use beside the matrices, NVIDIA's advice for Hopper.
	blasWorkspace = 32 << 20
	// plansKept bounds the shapes that are remembered.
	plansKept = 1024
)

// blas is cuBLASLt as a machine uses it.
type blas struct {
	*driver.BLAS
	workspace block
}

// openBLAS opens cuBLASLt as the config says; nil is none. Where it was named, it must be usable.
func (m *machine) openBLAS() (*blas, error) {
	named := m.config.CuBLAS
	switch named {
	case "off":
		return nil, nil
	case "auto":
		named = ""
	}
	b, err := m.startBLAS(named)
	if err != nil && named == "" {
		m.noBLAS, err = err, nil
	}
	return b, err
}

// startBLAS finds the library and makes it ready.
func (m *machine) startBLAS(named string) (*blas, error) {
	lib, err := m.driver.OpenBLAS(named)
	if err != nil {
		return nil, err
	}
	if err := m.executor.Do(lib.Start); err != nil {
		return nil, &driver.Refusal{Reason: driver.ErrNoBLAS, Detail: lib.Path(), Cause: err}
	}
	b := &blas{BLAS: lib}
	if b.workspace, err = m.memory.alloc(blasWorkspace); err != nil {
		_ = m.executor.Do(lib.Stop) // that there is no room says more
		return nil, err
	}
	return b, nil
}

// matmul is a product for cuBLASLt.
type matmul struct {
	plan      *driver.Plan
	operands  driver.Operands
	workspace driver.DevicePtr
	number    int // of the plan
}

func (m *matmul) submit(c *driver.Context, s driver.Stream) error {
	return m.plan.Multiply(c, m.operands, m.workspace, s)
}

func (m *matmul) appendKey(key []byte) []byte {
	o := &m.operands
	return appendNumbers(key, keyMatmul, uint64(m.number), uint64(o.Dst), uint64(o.X), uint64(o.W),
		uint64(o.Bias), uint64(o.Residual))
}

// plans are the shapes of products that were met. A nil plan is for one that cuBLASLt does not do.
type plans struct {
	known map[driver.ProductShape]planned
	count int
}

type planned struct {
	plan   *driver.Plan
	number int
}

// multiplyBLAS queues a product for cuBLASLt, and reports whether it takes it: it does encoders'
// weights, whatever the number of rows, so that a row's result does not depend on it. Decoders' few rows
// are our own kernel's task. The lock is held.
func (d *Device) multiplyBLAS(p *product) bool {
	if d.blas == nil || !p.w.manyRows || p.x.Rows == 0 || !whole(p.x) || !whole(p.dst) {
		return false
	}
	hasResidual := !p.residual.IsZero()
	if hasResidual && (p.act != engine.NoActivation || formatOf(p.residual) != formatOf(p.dst)) {
		return false
	}
	kind := dataType(d.working())
	shape := driver.ProductShape{
		M: p.x.Rows, N: p.w.n, K: p.w.k, LDX: p.x.Stride, LDW: p.w.ld, LDD: p.dst.Stride, LDR: p.residual.Stride,
		In: kind, Out: kind, Bias: p.w.bias != 0, Residual: hasResidual,
	}
	found := d.plan(shape)
	if found.plan == nil {
		return false
	}
	m := &matmul{plan: found.plan, number: found.number, workspace: driver.DevicePtr(d.blas.workspace.address)}
	m.operands = driver.Operands{Dst: address(p.dst), X: address(p.x), W: p.w.data.address(), Bias: p.w.blasBias}
	if hasResidual {
		m.operands.Residual = address(p.residual)
	}
	d.add(m)
	if p.act != engine.NoActivation {
		v := view(p.dst)
		d.launchPieces("apply", p.dst.Rows, p.dst.Cols,
			append(v[:], i32(p.dst.Rows), i32(p.dst.Cols), activation(p.act))...)
	}
	return true
}

// plan returns how products of a shape are computed. The lock is held.
func (d *Device) plan(s driver.ProductShape) planned {
	if found, ok := d.plans.known[s]; ok {
		return found
	}
	if len(d.plans.known) >= plansKept {
		d.forgetPlans()
	}
	if d.plans.known == nil {
		d.plans.known = map[driver.ProductShape]planned{}
	}
	d.plans.count++
	found := planned{number: d.plans.count}
	_ = d.executor.Do(func(c *driver.Context) (err error) { // where it fails, our own kernel does it
		found.plan, err = d.blas.NewPlan(c, s, typicalRows, blasWorkspace)
		return err
	})
	d.plans.known[s] = found
	return found
}

// forgetPlans lets go of all plans, after what is queued. The lock is held.
func (d *Device) forgetPlans() {
	d.flush()
	_ = d.executor.Do(func(*driver.Context) error { // it fails only once the device is closed
		for _, found := range d.plans.known {
			if found.plan != nil {
				found.plan.Close()
			}
		}
		return nil
	})
	clear(d.plans.known)
}

// dataType is cuBLASLt's name of a format.
func dataType(f format) driver.DataType {
	return [...]driver.DataType{driver.Float16, driver.BFloat16, driver.Float32}[f]
}

// BLAS is the cuBLASLt that is used, its file and version. Where there is none, path is empty and the error
// says why, or is nil where it was not wanted.
func (d *Device) BLAS() (path, version string, err error) {
	if d.blas == nil {
		return "", "", d.noBLAS
	}
	return d.blas.Path(), d.blas.Version(), nil
}
