package bits

import "testing"

func TestReader(t *testing.T) {
	r, _ := Padded(nil, []byte{0b10110011, 0x0f, 0xff, 0x80, 0x01})
	if got := r.Take(3); got != 0b101 {
		t.Errorf("three bits: got %b", got)
	}
	if !r.Flag() || r.Peek(4) != 0b0011 {
		t.Error("a flag and four bits are not 1 and 0011")
	}
	r.Align()
	if r.At != 8 || r.Take(0) != 0 {
		t.Errorf("aligned at %d", r.At)
	}
	if got := r.Take(32); got != 0x0fff8001 || r.Past() {
		t.Errorf("32 bits: got %x", got)
	}
	if got := r.Take(8); got != 0 || !r.Past() {
		t.Errorf("behind the end: got %x", got)
	}
	r.Skip(1 << 20)
	if got := r.Take(32); got != 0 {
		t.Errorf("far behind the end: got %x", got)
	}
}
