//go:build linux && amd64 && !nocuda

package cuda

import (
	"slices"
	"testing"

	"hark/engine"
	"hark/engine/cuda/driver"
)

// step is a decoder's step in small: what changes each time goes up with the staging
// block, and what comes back is read.
type step struct {
	d         *Device
	src, x, y engine.Tensor
}

func newStep(d *Device) *step {
	const rows, cols = 8, 16
	tensor := func() engine.Tensor { return engine.NewTensor(must(d.AllocSingle(rows*cols)), rows, cols) }
	s := &step{d: d, src: tensor(), x: tensor(), y: tensor()}
	values := make([]float32, rows*cols)
	for i := range values {
		values[i] = float32(i / cols)
	}
	d.Upload(s.src, values)
	return s
}

// run gathers some rows, moves them about, and returns their first elements.
func (s *step) run(t *testing.T, rows ...int32) []float32 {
	t.Helper()
	n := len(rows)
	places := make([]int32, n)
	for i := range places {
		places[i] = int32(n - 1 - i)
	}
	s.d.Gather(s.x.Slice(0, n), s.src, rows)
	s.d.Scatter(s.y.Slice(0, n), s.x.Slice(0, n), places)
	s.d.Gather(s.x.Slice(0, n), s.y.Slice(0, n), places)
	s.d.AddRows(s.y.Slice(0, n), s.x.Slice(0, n), places, s.x.Slice(0, n), places, engine.ReLU)
	got := make([]float32, n)
	if err := s.d.Download(got, s.y.Slice(0, n).Columns(0, 1)); err != nil {
		t.Fatal(err)
	}
	return got
}

// TestGraphs: the third time that a step is seen it is one copy up, one launch, one copy down and one wait, and
// what changes from step to step is heeded.
func TestGraphs(t *testing.T) {
	d, gpu := emulated(t, Config{})
	s := newStep(d)
	for i, rows := range [][]int32{{1, 2, 3}, {3, 2, 1}, {7, 0, 5}, {2, 2, 6}} {
		before := gpu.Counts()
		got := s.run(t, rows...)
		want := []float32{2 * float32(rows[2]), 2 * float32(rows[1]), 2 * float32(rows[0])}
		if !slices.Equal(got, want) {
			t.Errorf("step %d: got %v, want %v", i, got, want)
		}
		if i < 2 {
			continue
		}
		c := gpu.Counts().Since(before)
		if c.Launches != 0 || c.GraphLaunches != 1 || c.CopiesUp != 1 || c.Kernels != 4 || c.Memsets != 0 || c.Allocations != 0 {
			t.Errorf("step %d: %+v", i, c)
		}
		// Rows of one column are three copies here; a decoder's results are one.
		if c.CopiesDown != 3 || c.Waits != 3 {
			t.Errorf("step %d: %d copies down in %d waits", i, c.CopiesDown, c.Waits)
		}
	}
}

// TestGraphsOff is the same one by one, for comparison.
func TestGraphsOff(t *testing.T) {
	d, gpu := emulated(t, Config{NoGraphs: true})
	s := newStep(d)
	for range 4 {
		if got := s.run(t, 1, 2, 3); !slices.Equal(got, []float32{6, 4, 2}) {
			t.Errorf("got %v", got)
		}
	}
	if c := gpu.Counts(); c.GraphLaunches != 0 || c.Captures != 0 {
		t.Errorf("%+v", c)
	}
}

// TestManyGraphs makes more than are kept.
func TestManyGraphs(t *testing.T) {
	d, gpu := emulated(t, Config{})
	s := newStep(d)
	b := must(d.AllocSingle(2 * graphsKept))
	if err := d.Sync(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for i := range graphsKept + 10 {
			one := engine.Tensor{Buf: b, Off: i, Rows: 1, Cols: 1, Stride: 1}
			for range 2 * graphCommands {
				s.d.Gather(one, s.src.Columns(0, 1), []int32{int32(i % 8)})
			}
			got := make([]float32, 1)
			if err := d.Download(got, one); err != nil || got[0] != float32(i%8) {
				t.Fatal(i, got, err)
			}
		}
	}
	if len(d.graphs.ready) > graphsKept {
		t.Errorf("%d graphs are kept", len(d.graphs.ready))
	}
	if c := gpu.Counts(); c.Captures != graphsKept+10 {
		t.Errorf("%d graphs were made", c.Captures)
	}
}

// TestUncapturable: where the driver will not record, commands run one by one.
func TestUncapturable(t *testing.T) {
	for _, function := range []string{"cuStreamBeginCapture_v2", "cuStreamEndCapture", "cuGraphInstantiateWithFlags"} {
		d, gpu := emulated(t, Config{})
		s := newStep(d)
		gpu.Fail(function, 1, 801) // not supported
		for range 4 {
			if got := s.run(t, 1, 2, 3); !slices.Equal(got, []float32{6, 4, 2}) {
				t.Errorf("%s: got %v", function, got)
			}
		}
	}
}

// TestBoundary: what is in front of a boundary changes nothing for the graph behind it.
func TestBoundary(t *testing.T) {
	d, gpu := emulated(t, Config{})
	s := newStep(d)
	for i := range 4 {
		before := gpu.Counts()
		for range i { // another number of copies each time
			d.Gather(s.y.Slice(0, i), s.src, make([]int32, i))
		}
		d.mu.Lock()
		d.boundary()
		d.mu.Unlock()
		s.run(t, 1, 2, 3)
		if c := gpu.Counts().Since(before); i > 2 && c.GraphLaunches != 1 {
			t.Errorf("%d graphs", c.GraphLaunches)
		}
	}
}

// TestLongQueue queues more than is submitted at once, and more than the staging block holds.
func TestLongQueue(t *testing.T) {
	d, _ := emulated(t, Config{})
	s := newStep(d)
	one := s.x.Slice(0, 1)
	for i := range 3*queuedCommands + 5 {
		d.Gather(one, s.src, []int32{int32(i % 8)})
	}
	const wide = stageMost / 4
	many := engine.NewTensor(must(d.AllocSingle(wide)), wide, 1)
	rows := make([]int32, wide)
	for i := range rows {
		rows[i] = int32(i % 8)
	}
	for range 9 {
		d.Gather(many, s.src.Columns(0, 1), rows)
	}
	got, first := make([]float32, wide), make([]float32, 16)
	if err := d.Download(got, many); err != nil {
		t.Fatal(err)
	}
	if err := d.Download(first, one); err != nil {
		t.Fatal(err)
	}
	if last := float32((3*queuedCommands + 4) % 8); first[0] != last {
		t.Errorf("the last row is %g, want %g", first[0], last)
	}
	for i, v := range got {
		if v != float32(i%8) {
			t.Fatalf("row %d is %g", i, v)
		}
	}
}

// TestTime is the GPU's own time for some work.
func TestTime(t *testing.T) {
	d := newDevice(t, Config{})
	s := newStep(d)
	took, err := d.Time(func() { d.Gather(s.x.Slice(0, 2), s.src, []int32{1, 2}) })
	if took <= 0 || err != nil {
		t.Error(took, err)
	}
}

// TestGraphWithoutRoom: where a graph finds no memory for its launch, its commands run one
// by one, then and when they are next met.
func TestGraphWithoutRoom(t *testing.T) {
	d, gpu := emulated(t, Config{})
	s := newStep(d)
	gpu.Fail("cuGraphLaunch", 1, int(driver.OutOfMemory))
	for i := range 5 {
		if got := s.run(t, 1, 2, 3); !slices.Equal(got, []float32{6, 4, 2}) {
			t.Errorf("step %d: got %v", i, got)
		}
	}
	if c := gpu.Counts(); c.GraphLaunches != 3 || c.Captures != 2 {
		t.Errorf("%d graphs were launched, of %d recorded", c.GraphLaunches, c.Captures)
	}
}
