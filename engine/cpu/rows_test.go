package cpu

import (
	"testing"

	"hark/engine"
)

func TestScatter(t *testing.T) {
	d := newDevice(t, 1)
	r := rng()
	old, src := random(r, 5, 7), random(r, 3, 7)
	dst := put(t, d, old, 7)
	d.Scatter(dst, put(t, d, src, 7), []int32{4, 0, 2})
	matrix{src[1], old[1], src[2], old[3], src[0]}.close(t, get(t, d, dst))
	if !panics(func() { d.Scatter(dst, dst.Slice(0, 1), []int32{5}) }) {
		t.Error("a row that isn't there: no panic")
	}
}

func TestAddRows(t *testing.T) {
	d := newDevice(t, 1)
	r := rng()
	a, b := random(r, 6, 9), random(r, 2, 9)
	aRows, bRows := []int32{5, 0, 0, 3}, []int32{0, 1, 0, 1}
	for _, act := range []engine.Activation{engine.NoActivation, engine.ReLU} {
		want := newMatrix(len(aRows), 9)
		for i := range want {
			for j := range want[i] {
				want[i][j] = a[aRows[i]][j] + b[bRows[i]][j]
				if act == engine.ReLU {
					want[i][j] = max(0, want[i][j])
				}
			}
		}
		dst := put(t, d, newMatrix(len(aRows), 9), 9)
		d.AddRows(dst, put(t, d, a, 9), aRows, put(t, d, b, 9), bRows, act)
		want.close(t, get(t, d, dst))
	}
	x := put(t, d, a, 9)
	for name, f := range map[string]func(){
		"no such row":    func() { d.AddRows(x.Slice(0, 1), x, []int32{6}, x, []int32{0}, engine.ReLU) },
		"unequal counts": func() { d.AddRows(x.Slice(0, 1), x, []int32{0}, x, nil, engine.ReLU) },
	} {
		if !panics(f) {
			t.Errorf("%s: no panic", name)
		}
	}
}
