package server

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestProbeLength: a clip's length is known before it is heard, a recording's guessed or taken from its header.
func TestProbeLength(t *testing.T) {
	tr := newTestServer(t, nil).transcriber
	for _, c := range []struct {
		name        string
		file        []byte
		least, most time.Duration
	}{
		{"clip", silentWAV(7), 7 * time.Second, 7 * time.Second},
		{"as long as a clip may be", silentWAV(30), 30 * time.Second, 30 * time.Second},
		{"a little longer", silentWAV(30.01), 30*time.Second + 1, 31 * time.Second},
		{"recording", silentWAV(300), 240 * time.Second, 300 * time.Second},
		// Its end is looked for first, which reads nothing of the beginning.
		{"recording in CAF", silentCAF(300), 300 * time.Second, 300 * time.Second},
	} {
		path := filepath.Join(t.TempDir(), "audio")
		if err := os.WriteFile(path, c.file, 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		audio, err := wholeFile(f)
		if err != nil {
			t.Fatal(err)
		}
		defer audio.Close()
		got, err := tr.probe(t.Context(), audio.reader(t.Context()), Choice{}, audio.length())
		if err != nil || got < c.least || got > c.most {
			t.Errorf("%s: got %v, %v, want %v to %v", c.name, got, err, c.least, c.most)
		}
	}
}

// silentCAF is silence of 16 bits at 16 kHz in a CAF file.
func silentCAF(seconds int) []byte {
	be := binary.BigEndian
	size := seconds * 16000 * 2
	b := be.AppendUint64([]byte("caff\x00\x01\x00\x00desc"), 32)
	b = be.AppendUint64(b, math.Float64bits(16000))
	b = append(b, "lpcm"...)
	for _, field := range []uint32{0, 2, 1, 1, 16} { // flags, bytes and frames of a packet, channels, bits
		b = be.AppendUint32(b, field)
	}
	b = be.AppendUint64(append(b, "data"...), uint64(4+size))
	b = be.AppendUint32(b, 0) // edit count
	return append(b, make([]byte, size)...)
}
