package audioprep

import (
	"bytes"
	"runtime"
	"testing"
)

// TestMemoryFollowsBytes: what a header claims costs nothing.
func TestMemoryFollowsBytes(t *testing.T) {
	fragments := monoMP4(t).fragmented(false)
	at := bytes.LastIndex(fragments, []byte("trun"))
	copy(fragments[at+8:], u32(1<<32-1)) // samples
	run := bytes.Index(fragments, []byte("moof"))
	copy(fragments[run-4:], u32(1<<31)) // bytes of the first fragment
	edits := monoMP4(t)
	edits.edits = [][2]int64{{100, 1024}}
	many := edits.indexLast()
	copy(many[bytes.Index(many, []byte("elst"))+8:], u32(1<<32-1))
	boxes := monoMP4(t).indexLast()
	for _, kind := range []string{"stco", "stsc", "stts", "stsz"} {
		copy(boxes[bytes.Index(boxes, []byte(kind))-4:], u32(1<<30))
	}
	data := make([]byte, 1000)
	for name, file := range map[string][]byte{
		"fragments":   fragments,
		"edits":       many,
		"tables":      boxes,
		"PCM chunks":  (&mp4Maker{packets: [][]byte{data}, entry: soundEntry("sowt", 1, 16, SampleRate), rate: SampleRate, frame: 1 << 30, perChunk: 1, flags: 1, handler: "soun", sizes: atom("stsz", u32(0, 2, 1<<32-1))}).indexLast(),
		"AIFF":        aiffBytes("", 1, 16, 1<<32-1, SampleRate, data, false),
		"AU":          auBytes(3, SampleRate, 1, 1<<32-2, data),
		"CAF":         append(cafDesc("lpcm", 0, 2, 1, 1, 16), cafChunk("data", 1<<62, u32(0), data)...),
		"CAF packets": append(append(cafDesc("alac", 0, 0, 4096, 1, 16), cafChunk("pakt", 1<<62, u64(1<<62), u64(1<<62), u32(0, 0))...), cafChunk("data", -1, data)...),
		"ALAC":        bytes.Replace(testFile(t, "alac/alac-24.caf"), []byte("\x00\x00\x10\x00\x00\x18"), []byte("\xff\xff\xff\xff\x00\x18"), 1),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := decodeBytes(file)
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; got > 8<<20 {
			t.Errorf("%s: %d bytes of memory for %d of file (%v)", name, got, len(file), err)
		}
	}
}
