package cpu

import (
	"math"
	"slices"
	"testing"

	"hark/engine"
)

func TestLayerNorm(t *testing.T) {
	onDevices(t, func(t *testing.T, d *Device) {
		r := rng()
		for _, rows := range []int{0, 1, 33, 100} {
			for _, width := range []int{1, 7, 64} {
				x, gamma, beta := random(r, rows, width), random(r, 1, width), random(r, 1, width)
				want := newMatrix(rows, width)
				for i := range x {
					var mean, variance float64
					for _, v := range x[i] {
						mean += v / float64(width)
					}
					for _, v := range x[i] {
						variance += (v - mean) * (v - mean) / float64(width)
					}
					for j, v := range x[i] {
						want[i][j] = (v-mean)/math.Sqrt(variance+1e-5)*gamma[0][j] + beta[0][j]
					}
				}
				n := must(d.NewNorm(gamma.flat(), beta.flat(), 1e-5))
				if n.Width() != width {
					t.Errorf("width %d", n.Width())
				}
				tx, dst := put(t, d, x, width), put(t, d, newMatrix(rows, width), width)
				d.LayerNorm(dst, tx, n)
				want.close(t, get(t, d, dst))
				d.LayerNorm(tx, tx, n)
				want.close(t, get(t, d, tx))
			}
		}
	})
}

func TestEmbed(t *testing.T) {
	d := newDevice(t, 2)
	r := rng()
	const vocab, width, length = 50, 9, 6
	w, pos := random(r, vocab, width), random(r, length, width)
	tokens := must(d.NewLinear(w.flat(), nil, vocab, width))
	table := must(d.NewTable(pos.flat(), length, width))
	if rows, cols := table.Shape(); rows != length || cols != width {
		t.Errorf("table of %d x %d", rows, cols)
	}
	ids, positions := []int32{49, 0, 17, 16, 17}, []int32{0, 5, 2, 2, 1}
	want := newMatrix(len(ids), width)
	for i := range ids {
		for j := range want[i] {
			want[i][j] = w[ids[i]][j] + pos[positions[i]][j]
		}
	}
	dst := put(t, d, newMatrix(len(ids), width), width)
	d.Embed(dst, tokens, ids, table, positions)
	want.close(t, get(t, d, dst))

	if !panics(func() { d.Embed(dst.Slice(0, 1), tokens, []int32{vocab}, table, []int32{0}) }) {
		t.Error("an id beyond the vocabulary: no panic")
	}
	if !panics(func() { d.Embed(dst.Slice(0, 1), tokens, []int32{0}, table, []int32{length}) }) {
		t.Error("a position beyond the table: no panic")
	}
}

func TestAddPositions(t *testing.T) {
	d := newDevice(t, 2)
	r := rng()
	const width, length = 5, 6
	pos, lens := random(r, length, width), []int{3, 0, 6, 1}
	x := random(r, 10, width)
	tx := put(t, d, x, width)
	d.AddPositions(tx, lens, must(d.NewTable(pos.flat(), length, width)))
	i := 0
	for _, l := range lens {
		for p := range l {
			for j := range width {
				x[i][j] += pos[p][j]
			}
			i++
		}
	}
	x.close(t, get(t, d, tx))
}

func TestGather(t *testing.T) {
	d := newDevice(t, 2)
	x := random(rng(), 5, 4)
	src, dst := put(t, d, x, 4), put(t, d, newMatrix(3, 4), 4)
	d.Gather(dst, src, []int32{4, 0, 4})
	matrix{x[4], x[0], x[4]}.close(t, get(t, d, dst))
	if !panics(func() { d.Gather(dst, src, []int32{0, 1, 5}) }) {
		t.Error("a row beyond src: no panic")
	}
}

func TestBuffers(t *testing.T) {
	d := newDevice(t, 1)
	for _, n := range []int{-1, math.MaxInt} {
		if _, err := d.Alloc(n); err == nil {
			t.Errorf("a buffer of %d elements", n)
		}
	}
	buf := must(d.Alloc(12))
	x := engine.NewTensor(buf, 3, 4).Slice(1, 3).Columns(1, 3)
	d.Upload(x, []float32{1, 2, 3, 4})
	if want := []float32{0, 0, 0, 0, 0, 1, 2, 0, 0, 3, 4, 0}; !slices.Equal(buf.(*buffer).data, want) {
		t.Errorf("got %v, want %v", buf.(*buffer).data, want)
	}
	if err := d.Sync(); err != nil {
		t.Error(err)
	}
	if !panics(func() { d.Upload(x, make([]float32, 5)) }) || !panics(func() { _ = d.Download(make([]float32, 3), x) }) {
		t.Error("a slice of another size: no panic")
	}
	x.Off = 9
	if !panics(func() { d.Upload(x, make([]float32, 4)) }) {
		t.Error("a tensor that leaves its buffer: no panic")
	}
	d.Free(buf)
	if buf.Len() != 0 {
		t.Error("a buffer that was freed has a length")
	}
}

func TestInfo(t *testing.T) {
	if _, err := New(Config{Threads: -1}); err == nil {
		t.Error("-1 threads")
	}
	i := newDevice(t, 2).Info()
	if i.Kind != "cpu" || i.Name == "" || i.EncodeGroup < 1 {
		t.Errorf("got %+v", i)
	}
	if want := ", 2 threads"; len(i.Detail) <= len(want) || i.Detail[len(i.Detail)-len(want):] != want {
		t.Errorf("detail %q, want one that ends in %q", i.Detail, want)
	}
}
