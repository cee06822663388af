package opus

import (
	"bytes"
	"strings"
	"testing"
)

// TestSplit: all ways to put frames into packets, and all that the RFC forbids (section
// 3.4, R1 to R7).
func TestSplit(t *testing.T) {
	long := strings.Repeat("x", 1275)
	for _, c := range []struct {
		name, packet string
		want         []string // nil: refused
	}{
		{"nothing", "", nil},
		{"one", "\x08abc", []string{"abc"}},
		{"one that is empty", "\x08", []string{""}},
		{"one of the longest", "\x08" + long, []string{long}},
		{"one that is too long", "\x08" + long + "x", nil},
		{"two of a size", "\x09abcd", []string{"ab", "cd"}},
		{"two of a size, odd", "\x09abc", nil},
		{"two of two sizes", "\x0a\x01abc", []string{"a", "bc"}},
		{"two, the first long", "\x0a\xfc\x00" + long[:252] + "ab", []string{long[:252], "ab"}},
		{"two, the first longer than there is", "\x0a\x04abc", nil},
		{"two, half a length", "\x0a\xfc", nil},
		{"two, no length", "\x0a", nil},
		{"three of a size", "\x0b\x03abcdef", []string{"ab", "cd", "ef"}},
		{"three of a size, one over", "\x0b\x03abcdefg", nil},
		{"three of three sizes", "\x0b\x83\x01\x00abc", []string{"a", "", "bc"}},
		{"three of three sizes, too few", "\x0b\x83\x01\x03abc", nil},
		{"padded", "\x0b\x42\x02abpp", []string{"a", "b"}},
		{"padded by 254 and more", "\x0b\x41\xff\x01a" + long[:255], []string{"a"}},
		{"padding longer than there is", "\x0b\x41\x05abc", nil},
		{"no length of padding", "\x0b\x41", nil},
		{"no frames", "\x0b\x00abc", nil},
		{"no count", "\x0b", nil},
		{"120 ms", "\x1b\x02ab", []string{"a", "b"}},
		{"180 ms", "\x1b\x03abc", nil},
		{"48 frames", "\x83\x30" + long[:48], strings.Split(long[:48], "")},
		{"49 frames", "\x83\x31" + long[:49], nil},
	} {
		_, frames, err := split(nil, []byte(c.packet))
		if (err != nil) != (c.want == nil) {
			t.Errorf("%s: got %v", c.name, err)
			continue
		}
		if got := string(bytes.Join(frames, []byte("|"))); got != strings.Join(c.want, "|") {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestHeader(t *testing.T) {
	for in, want := range map[byte]header{
		0x00: {silkOnly, 8, 13, 480, 1}, 0x3c: {silkOnly, 12, 17, 2880, 2}, 0x58: {silkOnly, 16, 17, 2880, 1},
		0x60: {hybrid, 16, 19, 480, 1}, 0x7c: {hybrid, 16, 21, 960, 2},
		0x80: {celtOnly, 0, 13, 120, 1}, 0xa8: {celtOnly, 0, 17, 240, 1}, 0xd4: {celtOnly, 0, 19, 480, 2}, 0xff: {celtOnly, 0, 21, 960, 2},
	} {
		if got := readHeader(in); got != want {
			t.Errorf("%#x: got %v, want %v", in, got, want)
		}
	}
}

func TestPacketSamples(t *testing.T) {
	for in, want := range map[string]int{
		"": 0, "\x00": 480, "\x18": 2880, "\x60": 480, "\x78": 960, "\x80": 120, "\xf8": 960, "\x01": 960, "\x0a": 1920,
		"\x03": 0, "\x0b\x03": 2880, "\x1b\x03": 0, "\xfb\x86": 5760, "\xfb\x07": 0, "\x83\x30": 5760,
	} {
		if got := PacketSamples([]byte(in)); got != want {
			t.Errorf("%q: got %d, want %d", in, got, want)
		}
	}
}
