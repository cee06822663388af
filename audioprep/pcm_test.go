package audioprep

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// turned turns the bytes of every sample round.
func turned(b []byte, width int) []byte {
	b = bytes.Clone(b)
	for i := 0; i+width <= len(b); i += width {
		slices.Reverse(b[i : i+width])
	}
	return b
}

// signed makes signed samples of 8 bits from unsigned ones.
func signed(b []byte) []byte {
	b = bytes.Clone(b)
	for i := range b {
		b[i] ^= 0x80
	}
	return b
}

// aiffFile writes a file with COMM after SSND or before it. codec "" makes AIFF, others AIFF-C.
func aiffBytes(codec string, channels, bits int64, frames, rate int64, data []byte, last bool) []byte {
	exp := 63
	m := uint64(rate)
	for m != 0 && m>>63 == 0 {
		m <<= 1
		exp--
	}
	comm := binary.BigEndian.AppendUint16(nil, uint16(channels))
	comm = append(comm, u32(frames)...)
	comm = binary.BigEndian.AppendUint16(comm, uint16(bits))
	comm = binary.BigEndian.AppendUint16(comm, uint16(16383+exp))
	comm = binary.BigEndian.AppendUint64(comm, m)
	kind := "AIFF"
	if codec != "" {
		kind = "AIFC"
		comm = append(append(comm, codec...), "\x04name\x00"...)
	}
	part := func(id string, body []byte) []byte {
		b := append(append([]byte(id), u32(int64(len(body)))...), body...)
		if len(body)%2 == 1 {
			b = append(b, 0)
		}
		return b
	}
	parts := [][]byte{part("NAME", []byte("odd")), part("COMM", comm), part("SSND", append(u32(0, 0), data...)), part("ANNO", make([]byte, 50))}
	if last {
		parts[1], parts[2] = parts[2], parts[1]
	}
	body := bytes.Join(parts, nil)
	return append(append([]byte("FORM"), u32(int64(len(body)+4))...), append([]byte(kind), body...)...)
}

func auBytes(encoding, rate, channels, size int64, data []byte) []byte {
	return append(append([]byte(".snd"), u32(28, size, encoding, rate, channels, 0)...), data...)
}

func cafChunk(kind string, size int64, body ...[]byte) []byte {
	return append(append([]byte(kind), u64(size)...), bytes.Join(body, nil)...)
}

func cafDesc(codec string, flags, bytes, frames, channels, bits int64) []byte {
	return append([]byte("caff\x00\x01\x00\x00"), cafChunk("desc", 32, u64(int64(math.Float64bits(SampleRate))),
		[]byte(codec), u32(flags, bytes, frames, channels, bits))...)
}

// TestPCMContainers: every width and order of bytes that AIFF, AU and CAF know is the
// samples that were written.
func TestPCMContainers(t *testing.T) {
	x := scaled(sine(3000, 440, SampleRate, 0.2), 0.7)
	n := int64(len(x))
	s16, s24, s32, f32, f64 := encode(x, "s16"), encode(x, "s24"), encode(x, "s32"), encode(x, "f32"), encode(x, "f64")
	s8 := signed(encode(x, "u8"))
	aiff := func(codec string, bits int64, data []byte) []byte {
		return aiffBytes(codec, 1, bits, n, SampleRate, data, false)
	}
	caf := func(codec string, flags, bits int64, data []byte) []byte {
		return append(append(cafDesc(codec, flags, (bits+7)/8, 1, 1, bits), cafChunk("free", 3, make([]byte, 3))...),
			cafChunk("data", int64(4+len(data)), u32(0), data)...)
	}
	for _, c := range []struct {
		name, container, codec string
		file                   []byte
	}{
		{"AIFF 8", "aiff", "pcm_s8", aiff("", 8, s8)},
		{"AIFF 16", "aiff", "pcm_s16", aiff("", 16, turned(s16, 2))},
		{"AIFF 24", "aiff", "pcm_s24", aiff("", 24, turned(s24, 3))},
		{"AIFF 20 in 24", "aiff", "pcm_s24", aiff("", 20, turned(s24, 3))},
		{"AIFF 32", "aiff", "pcm_s32", aiff("", 32, turned(s32, 4))},
		{"AIFF, COMM last", "aiff", "pcm_s16", aiffBytes("", 1, 16, n, SampleRate, turned(s16, 2), true)},
		{"AIFF, padded", "aiff", "pcm_s16", aiff("", 16, append(turned(s16, 2), make([]byte, 511)...))},
		{"AIFF-C NONE", "aiff", "pcm_s16", aiff("NONE", 16, turned(s16, 2))},
		{"AIFF-C sowt", "aiff", "pcm_s16", aiff("sowt", 16, s16)},
		{"AIFF-C in24", "aiff", "pcm_s24", aiff("in24", 24, turned(s24, 3))},
		{"AIFF-C raw", "aiff", "pcm_u8", aiff("raw ", 8, encode(x, "u8"))},
		{"AIFF-C fl32", "aiff", "pcm_f32", aiff("fl32", 32, turned(f32, 4))},
		{"AIFF-C FL64", "aiff", "pcm_f64", aiff("FL64", 64, turned(f64, 8))},
		{"AIFF-C ulaw", "aiff", "mulaw", aiff("ulaw", 16, encode(x, "mulaw"))},
		{"AIFF-C alaw", "aiff", "alaw", aiff("alaw", 16, encode(x, "alaw"))},
		{"AU µ-law", "au", "mulaw", auBytes(1, SampleRate, 1, n, encode(x, "mulaw"))},
		{"AU A-law", "au", "alaw", auBytes(27, SampleRate, 1, n, encode(x, "alaw"))},
		{"AU 8", "au", "pcm_s8", auBytes(2, SampleRate, 1, n, s8)},
		{"AU 16", "au", "pcm_s16", auBytes(3, SampleRate, 1, 2*n, turned(s16, 2))},
		{"AU of unknown size", "au", "pcm_s16", auBytes(3, SampleRate, 1, 0xffffffff, turned(s16, 2))},
		{"AU 24", "au", "pcm_s24", auBytes(4, SampleRate, 1, 3*n, turned(s24, 3))},
		{"AU 32", "au", "pcm_s32", auBytes(5, SampleRate, 1, 4*n, turned(s32, 4))},
		{"AU float", "au", "pcm_f32", auBytes(6, SampleRate, 1, 4*n, turned(f32, 4))},
		{"AU double", "au", "pcm_f64", auBytes(7, SampleRate, 1, 8*n, turned(f64, 8))},
		{"CAF 16", "caf", "pcm_s16", caf("lpcm", 0, 16, turned(s16, 2))},
		{"CAF 16, little-endian", "caf", "pcm_s16", caf("lpcm", 2, 16, s16)},
		{"CAF 8", "caf", "pcm_s8", caf("lpcm", 0, 8, s8)},
		{"CAF 24", "caf", "pcm_s24", caf("lpcm", 2, 24, s24)},
		{"CAF 24 in 32", "caf", "pcm_s32", append(cafDesc("lpcm", 2, 4, 1, 1, 24), cafChunk("data", 4+4*n, u32(0), s32)...)},
		{"CAF float", "caf", "pcm_f32", caf("lpcm", 3, 32, f32)},
		{"CAF double", "caf", "pcm_f64", caf("lpcm", 1, 64, turned(f64, 8))},
		{"CAF µ-law", "caf", "mulaw", caf("ulaw", 0, 8, encode(x, "mulaw"))},
		{"CAF to the end", "caf", "pcm_s16", append(cafDesc("lpcm", 2, 2, 1, 1, 16), cafChunk("data", -1, u32(0), s16)...)},
	} {
		pcm, err := decodeBytes(c.file)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		checkPCM(t, pcm)
		in := pcm.Info
		if in.Container != c.container || in.Codec != c.codec || in.SampleRate != SampleRate || in.Channels != 1 || in.Faults != nil {
			t.Errorf("%s: got %+v", c.name, in)
		}
		// Samples are written a little too small: full scale is 32767, and as far off again.
		tolerance := map[string]float64{"pcm_s8": 2.0 / 128, "pcm_u8": 2.0 / 128, "mulaw": 0.03, "alaw": 0.03}[c.codec]
		if tolerance == 0 {
			tolerance = 2.0 / (1 << 15)
		}
		if len(pcm.Samples) != len(x) || maxDiff(pcm.Samples, x) > tolerance {
			t.Errorf("%s: got %d samples, want %d within %v", c.name, len(pcm.Samples), len(x), tolerance)
		}
	}
}

// TestPCMContainersDamage: what is there is decoded.
func TestPCMContainersDamage(t *testing.T) {
	x := sine(2000, 440, SampleRate, 0)
	data := turned(encode(x, "s16"), 2)
	aiff := aiffBytes("", 1, 16, 2000, SampleRate, data, false)
	au := auBytes(3, SampleRate, 1, 4000, data)
	caf := append(cafDesc("lpcm", 0, 2, 1, 1, 16), cafChunk("data", 4004, u32(0), data)...)
	for _, c := range []struct {
		name  string
		file  []byte
		n     int
		fault string
	}{
		{"AIFF cut", aiff[:len(aiff)-58-1000], 1500, "truncated"},
		{"AIFF without a count", aiffBytes("", 1, 16, 0, SampleRate, data, false), 2000, ""},
		{"AIFF claims 4 billion", aiffBytes("", 1, 16, 1<<32-1, SampleRate, data, false), 2000, ""},
		{"AU cut", au[:len(au)-1001], 1499, "less than one sample frame"},
		{"AU claims 4 GB", auBytes(3, SampleRate, 1, 1<<32-2, data), 2000, "truncated"},
		{"CAF cut", caf[:len(caf)-1000], 1500, "truncated"},
		{"CAF claims an exabyte", append(cafDesc("lpcm", 0, 2, 1, 1, 16), cafChunk("data", 1<<60, u32(0), data)...), 2000, "truncated"},
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
		if got := strings.Join(pcm.Info.Faults, "; "); !strings.Contains(got, c.fault) || c.fault == "" && got != "" {
			t.Errorf("%s: faults: got %q, want %q", c.name, got, c.fault)
		}
	}
}

func TestPCMContainersErrors(t *testing.T) {
	data := make([]byte, 100)
	aiff := aiffBytes("", 1, 16, 50, SampleRate, data, false)
	caf := cafDesc("lpcm", 0, 2, 1, 1, 16)
	var fe *FormatError
	for want, file := range map[string][]byte{
		"aiff with IMA ADPCM":          aiffBytes("ima4", 1, 16, 50, SampleRate, data, false),
		`aiff with codec "what"`:       aiffBytes("what", 1, 16, 50, SampleRate, data, false),
		"aiff with samples of 40 bits": aiffBytes("", 1, 40, 50, SampleRate, data, false),
		"au with encoding 23":          auBytes(23, SampleRate, 1, 100, data),
		`caf with codec "ima4"`:        append(cafDesc("ima4", 0, 34, 64, 1, 0), cafChunk("data", 104, u32(0), data)...),
	} {
		if _, err := decodeBytes(file); !errors.As(err, &fe) || fe.Found != want {
			t.Errorf("got %v, want a FormatError that found %q", err, want)
		}
	}
	var ce *CorruptError
	for name, file := range map[string][]byte{
		"AIFF without COMM":    append([]byte("FORM\x00\x00\x00\x40AIFF"), aiff[len(aiff)-58:]...),
		"AIFF without SSND":    aiff[:12+12+26],
		"AIFF of 0 channels":   aiffBytes("", 0, 16, 50, SampleRate, data, false),
		"AIFF of 0 Hz":         aiffBytes("", 1, 16, 50, 0, data, false),
		"AIFF of 4 GHz":        aiffBytes("", 1, 16, 50, 1<<32-1, data, false),
		"AU cut in the header": auBytes(3, SampleRate, 1, 100, data)[:20],
		"AU of 65535 channels": auBytes(3, SampleRate, 65535, 100, data),
		"AU of 1 Hz":           auBytes(3, 1, 1, 100, data),
		"CAF without desc":     append([]byte("caff\x00\x01\x00\x00"), cafChunk("data", 104, u32(0), data)...),
		"CAF without data":     caf,
		"CAF cut in desc":      caf[:30],
		"CAF of 0 channels":    append(cafDesc("lpcm", 0, 2, 1, 0, 16), cafChunk("data", 104, u32(0), data)...),
	} {
		if _, err := decodeBytes(file); !errors.As(err, &ce) {
			t.Errorf("%s: got %v, want a CorruptError", name, err)
		}
	}
	for name, file := range map[string][]byte{
		"AIFF": aiffBytes("", 1, 16, 0, SampleRate, nil, true)[:12+12+16+26],
		"AU":   auBytes(3, SampleRate, 1, 0, nil),
		"CAF":  append(append([]byte(nil), caf...), cafChunk("data", 4, u32(0))...),
	} {
		if _, err := decodeBytes(file); !errors.Is(err, ErrEmpty) {
			t.Errorf("%s without samples: got %v", name, err)
		}
	}
}

// ffmpegEncode writes a second of speech-like sound with ffmpeg, mono at 16 kHz, and
// returns the file and what ffmpeg itself decodes of it.
func ffmpegEncode(t *testing.T, name string, args ...string) (file []byte, want []float32) {
	t.Helper()
	ffmpeg, err := exec.LookPath("ffmpeg")
	if err != nil {
		t.Skip("no ffmpeg on PATH: nothing to compare with")
	}
	path := filepath.Join(t.TempDir(), name)
	source := "aevalsrc='0.4*sin(2*PI*300*t*(1+t))*sin(2*PI*3*t)+0.02*(random(0)-0.5)':s=16000:d=1"
	args = append([]string{"-v", "error", "-f", "lavfi", "-i", source, "-ac", "1"}, args...)
	if out, err := exec.Command(ffmpeg, append(args, path)...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", name, err, out)
	}
	return readFile(t, path), ffmpegDecode(t, path)
}

// TestPCMContainersFFmpeg: what ffmpeg writes is what ffmpeg reads, to the last bit.
func TestPCMContainersFFmpeg(t *testing.T) {
	for _, c := range [][]string{
		{"x.aiff", "-c:a", "pcm_s16be"}, {"x.aiff", "-c:a", "pcm_s24be"}, {"x.aiff", "-c:a", "pcm_f32be"}, {"x.aifc", "-f", "aiff", "-c:a", "pcm_s16le"},
		{"x.aiff", "-c:a", "pcm_s8"}, {"x.aiff", "-c:a", "pcm_mulaw"}, {"x.au", "-c:a", "pcm_s16be"}, {"x.au", "-c:a", "pcm_alaw"}, {"x.au", "-c:a", "pcm_f64be"},
		{"x.au", "-c:a", "pcm_s8"}, {"x.caf", "-c:a", "pcm_s16be"}, {"x.caf", "-c:a", "pcm_s24le"}, {"x.caf", "-c:a", "pcm_f32le"}, {"x.caf", "-c:a", "pcm_mulaw"},
		{"x.mov", "-c:a", "pcm_s16le"}, {"x.mov", "-c:a", "pcm_s24be"}, {"x.mov", "-c:a", "pcm_f32le"}, {"x.mov", "-c:a", "pcm_u8"}, {"x.mov", "-c:a", "pcm_alaw"},
	} {
		file, want := ffmpegEncode(t, c[0], c[1:]...)
		pcm, err := decodeBytes(file)
		if err != nil {
			t.Errorf("%v: %v", c, err)
			continue
		}
		if !equal(pcm.Samples, want) || pcm.Info.Faults != nil {
			t.Errorf("%v: got %d samples and %q, want the %d of ffmpeg", c, len(pcm.Samples), pcm.Info.Faults, len(want))
		}
	}
}

func FuzzAIFF(f *testing.F) {
	data := encode(noise(100, 0.5, 1), "s16")
	f.Add(aiffBytes("", 1, 16, 100, 8000, data, false)[8:])
	f.Add(aiffBytes("sowt", 2, 16, 50, 44100, data, true)[8:])
	f.Add(aiffBytes("fl32", 1, 32, 50, 44100, data, true)[8:])
	f.Fuzz(func(t *testing.T, b []byte) {
		// A byte is at most a sample of 4 kHz.
		checkDecode(t, append([]byte("FORM\x00\x00\x00\x00AIFC"), b[min(4, len(b)):]...), 4)
	})
}

func FuzzAU(f *testing.F) {
	data := encode(noise(100, 0.5, 1), "s16")
	f.Add(auBytes(3, 16000, 1, 200, data)[4:])
	f.Add(auBytes(1, 8000, 2, 0xffffffff, data)[4:])
	f.Fuzz(func(t *testing.T, b []byte) {
		checkDecode(t, append([]byte(".snd"), b...), 4)
	})
}
