package flac

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"hark/audioprep/internal/bits"
)

// writer writes subframes.
type writer struct {
	b   []byte
	bit int
}

func (w *writer) put(v int64, n int) {
	for i := n - 1; i >= 0; i-- {
		if w.bit%8 == 0 {
			w.b = append(w.b, 0)
		}
		w.b[w.bit/8] |= byte(v>>i&1) << (7 - w.bit%8)
		w.bit++
	}
}

// residual puts x[order:] in 2^parts partitions; k 31: not coded.
func (w *writer) residual(x []int64, order, parts, k int) {
	w.put(1, 2)
	w.put(int64(parts), 4)
	n := len(x) >> parts
	for from := 0; from < len(x); from += n {
		w.put(int64(k), 5)
		part := x[max(from, order) : from+n]
		if k == 31 {
			w.put(20, 5)
		}
		for _, v := range part {
			if k == 31 {
				w.put(v, 20)
				continue
			}
			u := v<<1 ^ v>>63
			w.put(0, int(u>>k))
			w.put(1, 1)
			w.put(u, k)
		}
	}
}

// subframe puts x with a kind of prediction; order 40: constant, 41: verbatim, 10 to 14: fixed
// of that less 10, 1 to 9: linear.
func (w *writer) subframe(x []int64, width, kind, wasted, parts, k int) {
	w.put(0, 1)
	order, code := kind, kind+31
	switch {
	case kind == 40:
		code = 0
	case kind == 41:
		code = 1
	case kind >= 10:
		order, code = kind-10, kind-2
	}
	w.put(int64(code), 6)
	if wasted > 0 {
		w.put(1, 1)
		w.put(1, wasted)
	} else {
		w.put(0, 1)
	}
	width -= wasted
	y := make([]int64, len(x))
	for i, v := range x {
		y[i] = v >> wasted
	}
	switch {
	case kind == 40:
		w.put(y[0], width)
		return
	case kind == 41:
		order = len(y)
	}
	for _, v := range y[:order] {
		w.put(v, width)
	}
	if kind == 41 {
		return
	}
	rest := slices.Clone(y)
	if kind >= 10 {
		for range order {
			for i := len(rest) - 1; i > 0; i-- {
				rest[i] -= rest[i-1]
			}
		}
	} else {
		// Coefficient j is 3-j, over 4.
		w.put(9, 4)
		w.put(2, 5)
		for j := range order {
			w.put(int64(3-j), 10)
		}
		for i := order; i < len(y); i++ {
			sum := int64(0)
			for j := range order {
				sum += int64(3-j) * y[i-1-j]
			}
			rest[i] -= sum >> 2
		}
	}
	w.residual(rest, order, parts, k)
}

// TestDecode: every kind of subframe and of stereo gives what went in.
func TestDecode(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	const n = 64
	for _, c := range []struct{ kind, wasted, parts, k, assignment, depth int }{
		{40, 0, 0, 0, 0, 16}, {41, 0, 0, 0, 0, 16}, {41, 3, 0, 0, 1, 24}, {41, 0, 0, 0, 0, 32}, {41, 0, 0, 0, 0, 4},
		{10, 0, 0, 4, 0, 8}, {11, 0, 2, 5, 1, 16}, {12, 1, 1, 3, 8, 16}, {13, 0, 3, 6, 9, 16}, {14, 0, 0, 31, 10, 16},
		{1, 0, 0, 4, 0, 16}, {8, 0, 2, 5, 10, 16}, {9, 2, 2, 31, 8, 16}, {4, 0, 0, 0, 2, 8}, {3, 0, 1, 2, 7, 16}, {5, 0, 3, 7, 9, 24},
	} {
		f := Form{BlockSize: n, Bits: c.depth, Assignment: c.assignment}
		want := make([][]int32, f.Channels())
		for ch := range want {
			level := int64(rng.IntN(50))
			for range n {
				if c.kind != 40 {
					level += int64(rng.IntN(7) - 3)
				}
				want[ch] = append(want[ch], int32(max(-7, min(level, 7))<<c.wasted))
				if c.depth > 4 {
					want[ch][len(want[ch])-1] = int32(level << c.wasted)
				}
			}
		}
		coded := make([][]int64, len(want))
		for ch := range want {
			for i := range n {
				v := int64(want[ch][i])
				switch {
				case c.assignment == leftSide && ch == 1:
					v = int64(want[0][i]) - v
				case c.assignment == sideRight && ch == 0:
					v -= int64(want[1][i])
				case c.assignment == midSide && ch == 0:
					v = (v + int64(want[1][i])) >> 1
				case c.assignment == midSide:
					v = int64(want[0][i]) - v
				}
				coded[ch] = append(coded[ch], v)
			}
		}
		w := &writer{}
		for ch := range coded {
			w.subframe(coded[ch], f.bits(ch), c.kind, c.wasted, c.parts, c.k)
		}
		r, _ := bits.Padded(nil, w.b)
		var d Decoder
		got, err := d.Decode(&r, f)
		if err != nil || !slices.EqualFunc(got, want, slices.Equal) || r.At != 8*len(w.b) {
			t.Errorf("%+v: %v, %v, want %v", c, err, got, want)
		}
		for cut := range len(w.b) {
			r, _ := bits.Padded(nil, w.b[:cut])
			if _, err := d.Decode(&r, f); !errors.Is(err, ErrFrame) {
				t.Errorf("%+v: cut after %d of %d bytes: got %v", c, cut, len(w.b), err)
			}
		}
	}
}

// TestLongCode: a number whose zeros fill more than a word.
func TestLongCode(t *testing.T) {
	for _, v := range []int64{0, -1, 30, 100, -1000, 100000} {
		w := &writer{}
		x := []int64{v, 1, -v, 0}
		w.residual(x, 0, 0, 0)
		r, _ := bits.Padded(nil, w.b)
		got := make([]int32, len(x))
		if err := residual(&r, got, 0); err != nil || fmt.Sprint(got) != fmt.Sprint(x) {
			t.Errorf("got %v, %v, want %v", got, err, x)
		}
	}
}

func TestRefused(t *testing.T) {
	for name, b := range map[string][]byte{
		"a set bit before": {0x80}, "a reserved kind": {0x04}, "all bits wasted": {0x01, 0, 0, 0}, "nothing": {},
		"fixed of order 5": {0x1a}, "a shift to the left": {0x40, 0, 0, 0x04, 0x80},
	} {
		r, _ := bits.Padded(nil, b)
		if _, err := new(Decoder).Decode(&r, Form{BlockSize: 16, Bits: 16}); !errors.Is(err, ErrFrame) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	r, _ := bits.Padded(nil, make([]byte, 100))
	if _, err := new(Decoder).Decode(&r, Form{BlockSize: 16, Bits: 32, Assignment: midSide}); !errors.Is(err, ErrFrame) {
		t.Errorf("a difference of 33 bits: got %v", err)
	}
}

// FuzzDecode: no bits make a panic, and every channel has as many samples as the form says.
func FuzzDecode(f *testing.F) {
	for i, kind := range []int{40, 41, 12, 8} {
		w := &writer{}
		w.subframe(make([]int64, 16), 16, kind, i%2, i%2, 3)
		f.Add(uint8(i*3), w.b)
	}
	f.Fuzz(func(t *testing.T, form uint8, b []byte) {
		r, _ := bits.Padded(nil, b)
		c := Form{BlockSize: 16 << (form & 3), Bits: []int{8, 16, 24, 32}[form>>2&3], Assignment: int(form>>4) % 11}
		x, err := new(Decoder).Decode(&r, c)
		if err != nil {
			return
		}
		if len(x) != c.Channels() || r.At > 8*len(b) {
			t.Fatalf("got %d channels, %d bits of %d", len(x), r.At, 8*len(b))
		}
		for _, samples := range x {
			if len(samples) != c.BlockSize {
				t.Fatalf("got %d samples", len(samples))
			}
		}
	})
}
