package opus

import (
	"bytes"
	"testing"
)

// TestSplitDelimited: self-delimited packets of every kind are cut off and put into
// the usual form (RFC 6716, appendix B).
func TestSplitDelimited(t *testing.T) {
	long := string(bytes.Repeat([]byte{7}, 300))
	for _, c := range []struct{ name, in, want string }{
		{"one frame", "\x08\x03abc", "\x08abc"},
		{"one long frame", "\x08\xfc\x0c" + long, "\x08" + long},
		{"two of a size", "\x09\x02abcd", "\x09abcd"},
		{"two of two sizes", "\x0a\x01\x03abcd", "\x0a\x01abcd"},
		{"three of a size", "\x0b\x03\x02abcdef", "\x0b\x03abcdef"},
		{"three of three sizes", "\x0b\x83\x01\x02\x03abcdef", "\x0b\x83\x01\x02abcdef"},
		{"padded", "\x0b\x42\x02\x01abpp", "\x0b\x42\x02abpp"},
		{"no frame data", "\x08\x00", "\x08"},
	} {
		packet, rest, err := SplitDelimited([]byte(c.in + "rest"))
		if err != nil || string(packet) != c.want || string(rest) != "rest" {
			t.Errorf("%s: got %q and %q (%v), want %q", c.name, packet, rest, err, c.want)
		}
		for n := range len(c.in) {
			if packet, _, err := SplitDelimited([]byte(c.in[:n])); err == nil {
				t.Errorf("%s, cut after %d bytes: got %q", c.name, n, packet)
			}
		}
	}
	if _, _, err := SplitDelimited([]byte("\x0b\x00abc")); err == nil {
		t.Error("a packet of no frames was taken")
	}
}
