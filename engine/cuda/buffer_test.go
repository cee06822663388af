//go:build linux && amd64 && !nocuda

package cuda

import (
	"errors"
	"math"
	"slices"
	"testing"

	"hark/engine"
	"hark/engine/cuda/driver"
)

func TestUploadDownload(t *testing.T) {
	for _, s := range []Storage{F16, BF16} {
		d := newDevice(t, Config{Storage: s})
		for _, alloc := range []func(int) (engine.Buffer, error){d.Alloc, d.AllocSingle} {
			m := engine.NewTensor(must(alloc(7*13)), 7, 13)
			zeros := make([]float32, 7*13)
			if err := d.Download(zeros, m); err != nil {
				t.Fatal(err)
			}
			for _, v := range zeros {
				if v != 0 {
					t.Fatal("a new buffer is not zero:", v)
				}
			}
			part := m.Slice(2, 6).Columns(3, 8)
			sent, got := make([]float32, 20), make([]float32, 20)
			for i := range sent {
				sent[i] = float32(i) - 9.5
			}
			d.Upload(part, sent)
			if err := d.Download(got, part); err != nil {
				t.Fatal(err)
			}
			for i := range sent {
				if got[i] != sent[i] {
					t.Errorf("%v: element %d is %g, want %g", s, i, got[i], sent[i])
				}
			}
			all := make([]float32, 7*13)
			if err := d.Download(all, m); err != nil {
				t.Fatal(err)
			}
			for i, v := range all {
				if r, c := i/13, i%13; (r < 2 || r >= 6 || c < 3 || c >= 8) && v != 0 {
					t.Errorf("element %d, %d outside of the upload is %g", r, c, v)
				}
			}
		}
	}
}

// TestLargeCopies are those that take several pages, both ways.
func TestLargeCopies(t *testing.T) {
	d := newDevice(t, Config{})
	const n = 3*pageBytes + 12345
	b := must(d.AllocSingle(n))
	m := engine.NewTensor(b, 1, n)
	sent, got := make([]float32, n), make([]float32, n)
	for i := range sent {
		sent[i] = float32(i)
	}
	d.Upload(m, sent)
	if err := d.Download(got, m); err != nil {
		t.Fatal(err)
	}
	for i := range sent {
		if got[i] != sent[i] {
			t.Fatalf("element %d is %g, want %g", i, got[i], sent[i])
		}
	}
	d.Free(b)
}

// TestPinnedMemoryRefused: an upload that finds no pinned memory, for its first page or a
// later one, fails, and the next one does not.
func TestPinnedMemoryRefused(t *testing.T) {
	for refused := range pageCount {
		d, gpu := emulated(t, Config{})
		const n = pageCount * pageBytes / 4
		m := engine.NewTensor(must(d.AllocSingle(n)), 1, n)
		if err := d.Sync(); err != nil {
			t.Fatal(err)
		}
		gpu.Fail("cuMemHostAlloc", refused+1, int(driver.OutOfMemory))
		d.Upload(m, make([]float32, n))
		if err := d.Sync(); !errors.Is(err, engine.ErrOutOfMemory) {
			t.Errorf("page %d: got %v", refused, err)
		}
		sent, got := make([]float32, n), make([]float32, n)
		for i := range sent {
			sent[i] = float32(i % 1000)
		}
		d.Upload(m, sent)
		if err := d.Download(got, m); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, sent) {
			t.Errorf("page %d: what goes up afterwards is not what comes back", refused)
		}
	}
}

// TestHalf goes through all halves, and what lies between two of them.
func TestHalf(t *testing.T) {
	for h := range 1 << 16 {
		v := fromF16(uint16(h))
		if back := toF16(v); back != uint16(h) && v == v {
			t.Fatalf("%#x is %g is %#x", h, v, back)
		}
		if v == v && !math.IsInf(float64(v), 0) && h&0x7fff < 0x7bff {
			next := fromF16(uint16(h + 1))
			middle := (v + next) / 2
			want := uint16(h)
			if h&1 == 1 {
				want++
			}
			if got := toF16(middle); got != want {
				t.Fatalf("%g between %#x and the next rounds to %#x", middle, h, got)
			}
			if got := toF16(math.Nextafter32(middle, next)); got != uint16(h+1) {
				t.Fatalf("above the middle %#x rounds to %#x", h, got)
			}
		}
	}
	nan := float32(math.NaN())
	if v := fromF16(toF16(nan)); v == v {
		t.Error("NaN becomes", v)
	}
	for _, c := range []struct {
		v    float32
		want uint16
	}{{1, 0x3f80}, {1.00390625, 0x3f80}, {1.01171875, 0x3f82}, {-2, 0xc000}, {float32(math.Inf(1)), 0x7f80}, {3.4e38, 0x7f80}} {
		if got := toBF16(c.v); got != c.want {
			t.Errorf("bf16 of %g is %#x, want %#x", c.v, got, c.want)
		}
	}
	if toBF16(nan)&0x7fff <= 0x7f80 {
		t.Error("bf16 of NaN is a number")
	}
}

func TestOutOfMemory(t *testing.T) {
	d, gpu := emulated(t, Config{})
	gpu.Set("MEMORY", 64<<20)
	var want *OutOfMemoryError
	if _, err := d.Alloc(1 << 30); !errors.As(err, &want) || want.Want != 2<<30 || want.Limit != 64<<20 {
		t.Errorf("got %v", err)
	}
	b, err := d.Alloc(1 << 20)
	if err != nil {
		t.Fatal("after one that did not fit:", err)
	}
	d.Free(b)
	limited, _ := emulated(t, Config{MemoryBytes: 8 << 20})
	if _, err := limited.Alloc(4 << 20); !errors.As(err, &want) || want.Limit != 8<<20 {
		t.Errorf("beyond the limit that was set: got %v", err)
	}
}

// TestModelsGiveBack: all that a model's device made goes back with it.
func TestModelsGiveBack(t *testing.T) {
	d, _ := emulated(t, Config{})
	before := d.memory.arena.used
	m := must(d.Model())
	b := must(m.Alloc(1000))
	m.Upload(engine.NewTensor(b, 10, 100), make([]float32, 1000))
	m.Close()
	m.Close()
	if d.memory.arena.used != before {
		t.Errorf("%d bytes are left", d.memory.arena.used-before)
	}
	if _, err := d.Alloc(10); err != nil {
		t.Error(err)
	}
}

func TestLost(t *testing.T) {
	d, gpu := emulated(t, Config{})
	m := engine.NewTensor(must(d.Alloc(4)), 1, 4)
	gpu.Fail("cuStreamSynchronize", 1, 719)
	for range 2 {
		if err := d.Download(make([]float32, 4), m); !errors.Is(err, engine.ErrDeviceLost) || !driver.IsStatus(err, driver.LaunchFailed) {
			t.Errorf("Download: %v", err)
		}
	}
	if _, err := d.Alloc(4); !errors.Is(err, engine.ErrDeviceLost) {
		t.Error("Alloc:", err)
	}
	if _, err := d.Model(); !errors.Is(err, engine.ErrDeviceLost) {
		t.Error("Model:", err)
	}
}

// TestFailureComesOnce: one that passes is told once.
func TestFailureComesOnce(t *testing.T) {
	d, gpu := emulated(t, Config{})
	m := engine.NewTensor(must(d.Alloc(4)), 1, 4)
	if err := d.Sync(); err != nil {
		t.Fatal(err)
	}
	gpu.Fail("cuMemcpyHtoDAsync_v2", 1, 1)
	d.Upload(m, []float32{1, 2, 3, 4})
	if err := d.Sync(); !driver.IsStatus(err, 1) {
		t.Error("got", err)
	}
	if err := d.Sync(); err != nil {
		t.Error("told twice:", err)
	}
}
