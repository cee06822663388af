package audioprep

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"
)

// adpcmFormat writes a fmt chunk with what ADPCM has behind the usual fields.
func adpcmFormat(tag, channels, blockAlign int, extra []byte) []byte {
	b := fmtChunk(tag, channels, SampleRate, 4)[8:]
	binary.LittleEndian.PutUint16(b[12:], uint16(blockAlign))
	return chunk("fmt ", append(b, extra...))
}

// TestADPCM works blocks of both kinds through by hand.
func TestADPCM(t *testing.T) {
	ima := []byte{0xe8, 0x03, 0, 0, 0x74, 0x8f, 0, 0} // 1000, step 7; 4, 7, f, 8, then zeros
	// A step of 7: 4 is 7 and 1/8 of it, 0, more: 1007, the step is 9. 7 is 9+4+2+1: 1023,
	// the step is 19. f is -(19+9+4+2): 989, the step is 41. 8 is -5: 984, the step is 37.
	// 0 is 4, 4, 3, 3 with steps of 37, 34, 31, 28.
	imaWant := []float32{1000, 1007, 1023, 989, 984, 988, 992, 995, 998}
	// Coefficients 0: the sample before. A step of 16, 100 before 50.
	ms := []byte{0, 16, 0, 100, 0, 50, 0, 0x1f, 0x70}
	// 1 is +16, the step is 16·230/256 = 14, no less than 16. f is -16. 7 is +112, the step is
	// 38. 0 is nothing.
	msWant := []float32{50, 100, 116, 100, 212, 212}
	for _, c := range []struct {
		name, codec string
		format      []byte
		data        []byte
		want        []float32
	}{
		{"IMA", "adpcm_ima", adpcmFormat(tagIMAADPCM, 1, 8, []byte{2, 0, 9, 0}), append(ima, ima...), append(imaWant[:9:9], imaWant...)},
		{"Microsoft", "adpcm_ms", adpcmFormat(tagMSADPCM, 1, 9, nil), append(ms, ms...), append(msWant[:6:6], msWant...)},
		{"Microsoft, its own coefficients", "adpcm_ms", adpcmFormat(tagMSADPCM, 1, 9, []byte{8, 0, 6, 0, 1, 0, 0, 1, 0, 0}), ms, msWant},
		{"a short last block", "adpcm_ms", adpcmFormat(tagMSADPCM, 1, 9, nil), append(ms, ms[:8]...), append(msWant[:6:6], msWant[:4]...)},
	} {
		pcm, err := decodeBytes(riff(c.format, chunk("data", c.data)))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if pcm.Info.Codec != c.codec || pcm.Info.Faults != nil || len(pcm.Samples) != len(c.want) {
			t.Errorf("%s: got %d samples of %+v, want %d", c.name, len(pcm.Samples), pcm.Info, len(c.want))
			continue
		}
		for i, v := range c.want {
			if got := pcm.Samples[i] * (1 << 15); got != v {
				t.Errorf("%s: sample %d: got %v, want %v", c.name, i, got, v)
			}
		}
	}
}

func TestADPCMErrors(t *testing.T) {
	var fe *FormatError
	var ce *CorruptError
	data := chunk("data", make([]byte, 100))
	for name, format := range map[string][]byte{
		"blocks of 4 bytes":    adpcmFormat(tagIMAADPCM, 1, 4, nil),
		"blocks of no bytes":   adpcmFormat(tagMSADPCM, 2, 0, nil),
		"no such coefficients": adpcmFormat(tagMSADPCM, 1, 9, nil),
	} {
		if name == "no such coefficients" {
			data = chunk("data", bytes.Repeat([]byte{9}, 18))
		}
		if _, err := decodeBytes(riff(format, data)); !errors.As(err, &ce) {
			t.Errorf("%s: got %v, want a CorruptError", name, err)
		}
	}
	if _, err := decodeBytes(riff(adpcmFormat(tagIMAADPCM, 6, 100, nil), data)); !errors.As(err, &fe) || !strings.Contains(fe.Found, "ADPCM") {
		t.Errorf("6 channels: got %v, want a FormatError", err)
	}
}

// TestADPCMFFmpeg compares with ffmpeg, which computes IMA's differences in one step less.
func TestADPCMFFmpeg(t *testing.T) {
	for _, c := range []struct {
		codec string
		dB    float64
	}{{"adpcm_ms", 200}, {"adpcm_ima_wav", 45}} {
		file, want := ffmpegEncode(t, "x.wav", "-c:a", c.codec)
		pcm, err := decodeBytes(file)
		if err != nil {
			t.Errorf("%s: %v", c.codec, err)
			continue
		}
		if len(pcm.Samples) != len(want) {
			t.Errorf("%s: got %d samples, want %d", c.codec, len(pcm.Samples), len(want))
			continue
		}
		var signal, wrong float64
		for i, v := range want {
			signal += float64(v) * float64(v)
			wrong += float64(v-pcm.Samples[i]) * float64(v-pcm.Samples[i])
		}
		db := 10 * math.Log10(signal/(wrong+1e-30))
		if db < c.dB {
			t.Errorf("%s: got %.1f dB, want %v", c.codec, db, c.dB)
		}
	}
}

// w64Chunk writes a chunk of a Wave64 file.
func w64Chunk(name string, size int64, body []byte) []byte {
	b := append([]byte(name), "\xf3\xac\xd3\x11\x8c\xd1\x00\xc0\x4f\x8e\xdb\x8a"...)
	b = binary.LittleEndian.AppendUint64(b, uint64(size+24))
	b = append(b, body...)
	for len(b)%8 != 0 {
		b = append(b, 0)
	}
	return b
}

func w64File(chunks ...[]byte) []byte {
	b := append([]byte("riff\x2e\x91\xcf\x11\xa5\xd6\x28\xdb\x04\xc1\x00\x00"), make([]byte, 8)...)
	b = append(b, "wave\xf3\xac\xd3\x11\x8c\xd1\x00\xc0\x4f\x8e\xdb\x8a"...)
	return append(b, bytes.Join(chunks, nil)...)
}

func TestW64(t *testing.T) {
	x := scaled(sine(3000, 440, SampleRate, 0), 0.5)
	data := encode(x, "s16")
	n := int64(len(data))
	format := w64Chunk("fmt ", 16, fmtChunk(tagPCM, 1, SampleRate, 16)[8:])
	for _, c := range []struct {
		name, fault string
		file        []byte
	}{
		{"whole", "", w64File(format, w64Chunk("junk", 5, make([]byte, 5)), w64Chunk("data", n, data))},
		{"data first", "", w64File(w64Chunk("data", n, data), format)},
		{"claims an exabyte", "truncated", w64File(format, w64Chunk("data", 1<<62, data))},
	} {
		pcm, err := decodeBytes(c.file)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if len(pcm.Samples) != len(x) || maxDiff(pcm.Samples, x) > 2.0/(1<<15) || pcm.Info.Container != "w64" || pcm.Info.Codec != "pcm_s16" {
			t.Errorf("%s: got %d samples, %+v, want %d and the same", c.name, len(pcm.Samples), pcm.Info, len(x))
		}
		if got := strings.Join(pcm.Info.Faults, "; "); !strings.Contains(got, c.fault) || c.fault == "" && got != "" {
			t.Errorf("%s: faults: got %q, want %q", c.name, got, c.fault)
		}
	}
	var ce *CorruptError
	for name, file := range map[string][]byte{
		"cut": w64File()[:30], "no data": w64File(format), "no fmt": w64File(w64Chunk("data", n, data)), "a size of 0": w64File(w64Chunk("fmt ", -24, nil)),
	} {
		if _, err := decodeBytes(file); !errors.As(err, &ce) || ce.Container != "w64" {
			t.Errorf("%s: got %v, want a CorruptError", name, err)
		}
	}
	file, want := ffmpegEncode(t, "x.w64", "-c:a", "pcm_s24le")
	if pcm, err := decodeBytes(file); err != nil || !equal(pcm.Samples, want) {
		t.Errorf("what ffmpeg writes: %v, or other samples", err)
	}
}

func FuzzW64(f *testing.F) {
	f.Add(w64File(w64Chunk("fmt ", 16, fmtChunk(tagPCM, 1, SampleRate, 16)[8:]), w64Chunk("data", 100, make([]byte, 100)))[40:])
	f.Fuzz(func(t *testing.T, b []byte) {
		checkDecode(t, append(w64File(), b...), 0)
	})
}

func FuzzADPCM(f *testing.F) {
	f.Add(true, []byte{1, 0, 0x80, 0x3e, 0, 0, 0, 0, 0, 0, 9, 0, 4, 0}, []byte{0, 16, 0, 100, 0, 50, 0, 0x1f, 0x70})
	f.Add(false, []byte{2, 0, 0x80, 0x3e, 0, 0, 0, 0, 0, 0, 24, 0, 4, 0}, make([]byte, 48))
	f.Fuzz(func(t *testing.T, ms bool, format, data []byte) {
		tag := byte(tagIMAADPCM)
		if ms {
			tag = tagMSADPCM
		}
		// A head of four bytes is a sample, the rest is two a byte; at 4 kHz that makes eight.
		checkDecode(t, riff(chunk("fmt ", append([]byte{tag, 0}, format...)), chunk("data", data)), 9)
	})
}
