package audioprep

import (
	"errors"
	"math"
	"strings"
	"testing"
)

// flacFile writes a FLAC stream of verbatim subframes, 1024 samples a frame.
// total is what STREAMINFO claims.
func flacFile(channels [][]float32, rate, bits int, total uint64) []byte {
	const size = 1024
	b := []byte("fLaC\x80\x00\x00\x22")
	var w bitWriter
	w.put(size, 16)
	w.put(size, 16)
	w.put(0, 48)
	w.put(uint64(rate), 20)
	w.put(uint64(len(channels)-1), 3)
	w.put(uint64(bits-1), 5)
	w.put(total, 36)
	w.put(0, 64)
	w.put(0, 64)
	b = append(b, w.b...)
	for n, at := 0, 0; at < len(channels[0]); n, at = n+1, at+size {
		b = append(b, flacFrame(channels, n, at, min(size, len(channels[0])-at), bits)...)
	}
	return b
}

func flacFrame(channels [][]float32, n, at, size, bits int) []byte {
	var w bitWriter
	w.put(0xfff8, 16)
	w.put(7, 4) // block size: 16 bits at the end
	w.put(0, 4) // rate: see STREAMINFO
	w.put(uint64(len(channels)-1), 4)
	w.put(0, 4) // bits: see STREAMINFO
	w.b = append(w.b, string(rune(n))...)
	w.put(uint64(size-1), 16)
	w.put(uint64(crc8(w.b)), 8)
	for _, c := range channels {
		w.put(2, 8) // verbatim
		for _, v := range c[at : at+size] {
			w.put(uint64(int64(math.Round(float64(v)*float64(int64(1)<<(bits-1)-1)))), bits)
		}
	}
	w.put(0, (8-w.n%8)%8)
	crc := crc16(w.b)
	return append(w.b, byte(crc>>8), byte(crc))
}

// bitWriter appends bits, high ones first.
type bitWriter struct {
	b []byte
	n int // bits put, but for whole bytes appended to b directly
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

func TestFLACDepths(t *testing.T) {
	x := scaled(sine(5000, 440, SampleRate, 0.3), 0.9)
	for _, bits := range []int{8, 12, 16, 20, 24, 32} {
		pcm, err := decodeBytes(flacFile([][]float32{x}, SampleRate, bits, uint64(len(x))))
		if err != nil {
			t.Errorf("%d bits: %v", bits, err)
			continue
		}
		checkPCM(t, pcm)
		if d := maxDiff(pcm.Samples, x); d > math.Exp2(float64(1-bits))*1.5+1e-7 {
			t.Errorf("%d bits: samples differ by %v", bits, d)
		}
		if pcm.Info.Faults != nil || pcm.Info.Codec != "flac" {
			t.Errorf("%d bits: got %+v", bits, pcm.Info)
		}
	}
}

func TestFLACStreams(t *testing.T) {
	x := scaled(sine(8000, 440, SampleRate, 0), 0.5)
	stereo := flacFile([][]float32{x, x}, SampleRate, 16, uint64(len(x)))
	frame := (len(stereo) - 42) / 7 // of about eight
	damaged := append([]byte(nil), stereo...)
	copy(damaged[42+3*frame:], make([]byte, 100))
	for _, c := range []struct {
		name  string
		file  []byte
		n     int
		fault string
	}{
		{"stereo", stereo, 8000, ""},
		{"unknown length", flacFile([][]float32{x}, SampleRate, 16, 0), 8000, ""},
		{"claims 49 days", flacFile([][]float32{x}, SampleRate, 16, 1<<36-1), 8000, "truncated"},
		{"cut", stereo[:len(stereo)/2], 3072, "truncated"},
		{"damaged in the middle", damaged, 8000, "damaged"},
		{"behind an ID3 tag", append([]byte("ID3\x04\x00\x00\x00\x00\x00\x05abcde"), stereo...), 8000, ""},
		{"before an ID3 tag", append(stereo[:len(stereo):len(stereo)], "TAG"+strings.Repeat("\x00", 125)...), 8000, ""},
	} {
		pcm, err := decodeBytes(c.file)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		checkPCM(t, pcm)
		if len(pcm.Samples) != c.n {
			t.Errorf("%s: got %d samples, want %d", c.name, len(pcm.Samples), c.n)
		}
		faults := strings.Join(pcm.Info.Faults, "; ")
		if c.fault == "" && faults != "" || !strings.Contains(faults, c.fault) {
			t.Errorf("%s: faults: got %q, want %q", c.name, faults, c.fault)
		}
		// What is behind the damage stands where it stood.
		if tail := len(pcm.Samples); c.n == 8000 && maxDiff(pcm.Samples[tail-1000:], x[7000:]) > 1e-4 {
			t.Errorf("%s: the end differs", c.name)
		}
	}
}

func TestFLACErrors(t *testing.T) {
	whole := flacFile([][]float32{sine(2000, 440, SampleRate, 0)}, SampleRate, 16, 2000)
	for name, file := range map[string][]byte{
		"no frames":       whole[:42],
		"cut STREAMINFO":  whole[:20],
		"no STREAMINFO":   []byte("fLaC\x84\x00\x00\x04abcd"),
		"absurd rate":     flacFile([][]float32{sine(2000, 440, SampleRate, 0)}, 10, 16, 2000),
		"endless padding": []byte("fLaC\x00\x00\x00\x22" + string(whole[8:42]) + "\x01\xff\xff\xff"),
	} {
		var ce *CorruptError
		if _, err := decodeBytes(file); !errors.As(err, &ce) || ce.Container != "flac" {
			t.Errorf("%s: got %v, want a CorruptError", name, err)
		}
	}
}
