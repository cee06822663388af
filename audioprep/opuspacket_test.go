package audioprep

import (
	"bytes"
	"testing"
)

// TestSplitOpus: self-delimited packets of every kind are cut off and put into
// the usual form (RFC 6716, appendix B).
func TestSplitOpus(t *testing.T) {
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
		packet, rest, err := splitOpus([]byte(c.in + "rest"))
		if err != nil || string(packet) != c.want || string(rest) != "rest" {
			t.Errorf("%s: got %q and %q (%v), want %q", c.name, packet, rest, err, c.want)
		}
		for n := range len(c.in) {
			if packet, _, err := splitOpus([]byte(c.in[:n])); err == nil {
				t.Errorf("%s, cut after %d bytes: got %q", c.name, n, packet)
			}
		}
	}
	if _, _, err := splitOpus([]byte("\x0b\x00abc")); err == nil {
		t.Error("a packet of no frames was taken")
	}
}

func TestOpusPacketSamples(t *testing.T) {
	for in, want := range map[string]int{
		"": 0, "\x00": 480, "\x18": 2880, "\x60": 480, "\x78": 960, "\x80": 120, "\xf8": 960, "\x01": 960, "\x0a": 1920,
		"\x03": 0, "\x0b\x03": 2880, "\x1b\x03": 0, "\xfb\x86": 5760, "\xfb\x07": 0, "\x83\x30": 5760,
	} {
		if got := opusPacketSamples([]byte(in)); got != want {
			t.Errorf("%q: got %d, want %d", in, got, want)
		}
	}
}
