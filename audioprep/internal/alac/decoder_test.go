package alac

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"
)

// bitWriter appends bits, high ones first.
type bitWriter struct {
	b []byte
	n int
}

func (w *bitWriter) put(v uint64, bits int) {
	for i := bits - 1; i >= 0; i-- {
		if w.n%8 == 0 {
			w.b = append(w.b, 0)
		}
		w.b[len(w.b)-1] |= byte(v>>i&1) << (7 - w.n%8)
		w.n++
	}
}

func cookie(frame, depth, channels int) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(frame))
	b = append(b, 0, byte(depth), 40, 10, 14, byte(channels), 0, 255)
	b = append(b, make([]byte, 8)...)
	return binary.BigEndian.AppendUint32(b, 44100)
}

func mustConfig(t testing.TB, b []byte) Config {
	t.Helper()
	c, err := ParseConfig(b)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// head writes the beginning of an element: kind, and whether it is short and verbatim.
func (w *bitWriter) head(kind, samples, shift int, verbatim bool) {
	w.put(uint64(kind), 3)
	w.put(0, 16)
	w.put(1, 1) // says how many samples
	w.put(uint64(shift), 2)
	if verbatim {
		w.put(1, 1)
	} else {
		w.put(0, 1)
	}
	w.put(uint64(samples), 32)
}

// TestVerbatim: samples that are written as they are, in every depth, with other elements
// around.
func TestVerbatim(t *testing.T) {
	for _, depth := range []int{16, 20, 24, 32} {
		c := mustConfig(t, cookie(16, depth, 3))
		var w bitWriter
		w.put(elementDSE, 3)
		w.put(0, 4+1)
		w.put(2, 8)
		w.put(0xabcd, 16)
		w.put(elementFIL, 3)
		w.put(1, 4)
		w.put(0xff, 8)
		top := uint64(1) << (depth - 1)
		w.head(elementSCE, 2, 0, true)
		w.put(top-1, depth)
		w.put(top, depth)
		w.head(elementCPE, 2, 0, true)
		for _, v := range []uint64{0, top / 2, 2*top - 1, 2*top - top/4} {
			w.put(v, depth)
		}
		w.put(elementEND, 3)
		dst := make([]float32, 16*3)
		n, err := NewDecoder(c).Decode(dst, w.b)
		if err != nil || n != 2 {
			t.Errorf("%d bits: got %d, %v", depth, n, err)
			continue
		}
		one := 1 / float32(top)
		want := []float32{float32(top-1) * one, 0, 0.5, -1, -one, -0.25}
		for i, v := range want {
			if dst[i] != v {
				t.Errorf("%d bits: sample %d: got %v, want %v", depth, i, dst[i], v)
			}
		}
	}
}

// TestPredicted works one packet through by hand: no coefficients, so that residuals are
// samples, which are mixed, and have low bytes kept apart.
func TestPredicted(t *testing.T) {
	c := mustConfig(t, cookie(16, 24, 2))
	var w bitWriter
	w.head(elementCPE, 1, 1, false)
	w.put(1, 8) // mixed by half
	w.put(1, 8)
	for range 2 {
		w.put(0, 4+4+3+5)
	}
	w.put(0x12, 8) // low bytes
	w.put(0x34, 8)
	// The mean is 10>>9 = 0: codes of one bit, so that n ones and a zero are n. Even
	// numbers are n/2 up, odd ones down.
	w.put(0b1111110, 7) // 3
	w.put(0b11110, 5)   // 2
	w.put(elementEND, 3)
	dst := make([]float32, 16*2)
	n, err := NewDecoder(c).Decode(dst, w.b)
	if err != nil || n != 1 {
		t.Fatalf("got %d, %v", n, err)
	}
	// Left is 3 + 2 - 1·2/2 = 4, right is 4 - 2.
	const one = 1.0 / (1 << 23)
	if l, r := float64(dst[0])/one, float64(dst[1])/one; l != 0x412 || r != 0x234 {
		t.Errorf("got %#x and %#x, want 0x412 and 0x234", int(l), int(r))
	}
}

// TestPredictor: a filter that takes the sample before follows a constant, and moves its
// coefficients by the sign of what is left.
func TestPredictor(t *testing.T) {
	p := predictor{shift: 4, order: 1, coef: [32]int32{16}}
	out := make([]int32, 6)
	p.run(out, []int32{100, 10, 0, 0, 5, 0}, 16)
	// The line goes on from 100, 110 with the same step; then 5 more raise the coefficient.
	for i, want := range []int32{100, 110, 110, 110, 115, 115} {
		if out[i] != want {
			t.Errorf("sample %d: got %d, want %d", i, out[i], want)
		}
	}
	// Beyond 16 bits it wraps around.
	differ := []int32{32767, 1}
	if differences(differ, 16); differ[1] != -32768 {
		t.Errorf("got %d, want -32768", differ[1])
	}
}

func TestErrors(t *testing.T) {
	good := cookie(16, 16, 1)
	set := func(at int, v byte) []byte {
		b := bytes.Clone(good)
		b[at] = v
		return b
	}
	for name, b := range map[string][]byte{
		"cut": good[:20], "version": set(4, 1), "packets of 2 GB": set(0, 0x80), "no packets": cookie(0, 16, 1),
		"17 bits": set(5, 17), "no channels": set(9, 0), "100 channels": set(9, 100), "wide codes": set(8, 31),
	} {
		if _, err := ParseConfig(b); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
	wrapped := append([]byte("\x00\x00\x00\x0cfrmaalac\x00\x00\x00\x24alac\x00\x00\x00\x00"), good...)
	if c, err := ParseConfig(wrapped); err != nil || c.Rate != 44100 {
		t.Errorf("in boxes: got %+v, %v", c, err)
	}
	d := NewDecoder(mustConfig(t, good))
	dst := make([]float32, 16)
	long, pair := bitWriter{}, bitWriter{}
	long.head(elementSCE, 17, 0, true)
	pair.head(elementCPE, 1, 0, true)
	for name, b := range map[string][]byte{
		"nothing": nil, "ones": bytes.Repeat([]byte{0xff}, 100), "zeros, but few": {0, 0, 0, 0}, "too many samples": long.b, "a pair": pair.b,
	} {
		if _, err := d.Decode(dst, b); !errors.Is(err, ErrPacket) {
			t.Errorf("%s: got %v, want ErrPacket", name, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	var w bitWriter
	w.head(elementCPE, 1, 1, false)
	w.put(0x0101<<32|0x2345<<16|0x1234, 48)
	w.put(0xffff<<20, 48)
	f.Add(cookie(16, 24, 2), w.b)
	f.Add(cookie(4096, 16, 1), bytes.Repeat([]byte{0}, 40))
	f.Fuzz(func(t *testing.T, config, packet []byte) {
		c, err := ParseConfig(config)
		if err != nil {
			return
		}
		dst := make([]float32, c.FrameLength*c.Channels)
		n, err := NewDecoder(c).Decode(dst, packet)
		if err == nil && (n < 0 || n > c.FrameLength) {
			t.Fatalf("got %d sample frames", n)
		}
		for i, v := range dst {
			if !(v >= -1.0001 && v <= 1.0001) && err == nil && c.BitDepth == 32 {
				t.Fatalf("sample %d is %v", i, v)
			}
		}
	})
}
