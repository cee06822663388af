package rangecoder

import (
	"math/bits"
	"math/rand/v2"
	"testing"
)

// encoder writes what Decoder reads: the interval as a number of as many digits as it
// takes, and raw bits from the other end (RFC 6716, section 5.1).
type encoder struct {
	low, size uint64
	digits    []byte // of 8 bits; a carry goes back into them
	raw       []uint32
	widths    []int
}

func newEncoder() *encoder { return &encoder{size: 1 << 31} }

func (e *encoder) symbol(low, high, total uint64) {
	unit := e.size / total
	if low > 0 {
		e.low += e.size - unit*(total-low)
		e.size = unit * (high - low)
	} else {
		e.size -= unit * (total - high)
	}
	for e.size <= 1<<23 {
		e.shift()
	}
}

func (e *encoder) shift() {
	e.carry()
	e.digits = append(e.digits, byte(e.low>>23))
	e.low = e.low << 8 & (1<<31 - 1)
	e.size <<= 8
}

func (e *encoder) carry() {
	if e.low>>31 == 1 {
		i := len(e.digits) - 1
		for ; e.digits[i] == 255; i-- {
			e.digits[i] = 0
		}
		e.digits[i]++
		e.low &= 1<<31 - 1
	}
}

func (e *encoder) bits(v uint32, n int) {
	e.raw = append(e.raw, v)
	e.widths = append(e.widths, n)
}

// bytes is the frame; raw bits have bytes of their own.
func (e *encoder) bytes() []byte {
	for range 5 {
		e.shift()
	}
	var back []byte
	window, have := uint64(0), 0
	for i, v := range e.raw {
		window |= uint64(v) << have
		for have += e.widths[i]; have >= 8; have -= 8 {
			back = append(back, byte(window))
			window >>= 8
		}
	}
	back = append(back, byte(window))
	b := e.digits
	for i := len(back) - 1; i >= 0; i-- {
		b = append(b, back[i])
	}
	return b
}

// TestRoundTrip: what was written is read again, and both know how much that was.
func TestRoundTrip(t *testing.T) {
	code := []uint8{200, 120, 119, 3, 0}
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		e := newEncoder()
		type step struct{ kind, a, b int }
		var steps []step
		for range 100 {
			s := step{kind: rng.IntN(4)}
			switch s.kind {
			case 0:
				s.a, s.b = 1+rng.IntN(15), 0
				if rng.IntN(1<<s.a) == 0 {
					s.b = 1
				}
				total := uint64(1) << s.a
				if s.b == 1 {
					e.symbol(total-1, total, total)
				} else {
					e.symbol(0, total-1, total)
				}
			case 1:
				s.a = rng.IntN(len(code))
				low := 0
				if s.a > 0 {
					low = 256 - int(code[s.a-1])
				}
				e.symbol(uint64(low), uint64(256-int(code[s.a])), 256)
			case 2:
				s.a = 2 + rng.IntN(1<<rng.IntN(30))
				s.b = rng.IntN(s.a)
				most, rest := uint32(s.a-1), max(0, bits.Len32(uint32(s.a-1))-8)
				total, v := uint64(most>>rest)+1, uint64(s.b>>rest)
				e.symbol(v, v+1, total)
				if rest > 0 {
					e.bits(uint32(s.b)&(1<<rest-1), rest)
				}
			case 3:
				s.a = 1 + rng.IntN(24)
				s.b = rng.IntN(1 << s.a)
				e.bits(uint32(s.b), s.a)
			}
			steps = append(steps, s)
		}
		var d Decoder
		d.Init(e.bytes())
		before := 0
		for i, s := range steps {
			got, want := 0, s.b
			switch s.kind {
			case 0:
				got = d.Bit(s.a)
			case 1:
				got, want = d.Symbol(code, 8), s.a
			case 2:
				got = int(d.Uint(uint32(s.a)))
			case 3:
				got = int(d.Bits(s.a))
			}
			if got != want {
				t.Fatalf("seed %d, step %d %v: got %d", seed, i, s, got)
			}
			tell := d.Tell()
			if eighths := d.TellEighths(); tell < before || eighths > 8*tell || eighths <= 8*(tell-1) {
				t.Fatalf("seed %d, step %d: %d bits used, %d/8, before %d", seed, i, tell, eighths, before)
			}
			before = tell
		}
	}
}

// TestBeyondTheEnd: behind the end are zeros, without end.
func TestBeyondTheEnd(t *testing.T) {
	var d Decoder
	d.Init(nil)
	for range 1000 {
		d.Symbol([]uint8{128, 0}, 8)
		if v := d.Bits(20); v != 0 {
			t.Fatalf("got bits %#x", v)
		}
		if v := d.Uint(1000); v >= 1000 {
			t.Fatalf("got %d of 1000", v)
		}
	}
}
