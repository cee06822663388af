package audioprep

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

// chunk is one RIFF chunk as written, pad byte included.
func chunk(id string, body []byte) []byte {
	b := append([]byte(id), binary.LittleEndian.AppendUint32(nil, uint32(len(body)))...)
	b = append(b, body...)
	if len(body)%2 == 1 {
		b = append(b, 0)
	}
	return b
}

// riff wraps chunks into a file.
func riff(chunks ...[]byte) []byte {
	body := []byte("WAVE")
	for _, c := range chunks {
		body = append(body, c...)
	}
	return append(append([]byte("RIFF"), binary.LittleEndian.AppendUint32(nil, uint32(len(body)))...), body...)
}

// fmtChunk writes a fmt chunk of 16 bytes.
func fmtChunk(tag, channels int, rate int64, bits int) []byte {
	var b []byte
	b = binary.LittleEndian.AppendUint16(b, uint16(tag))
	b = binary.LittleEndian.AppendUint16(b, uint16(channels))
	b = binary.LittleEndian.AppendUint32(b, uint32(rate))
	b = binary.LittleEndian.AppendUint32(b, uint32(rate*int64(channels*bits)/8))
	b = binary.LittleEndian.AppendUint16(b, uint16(channels*bits/8))
	b = binary.LittleEndian.AppendUint16(b, uint16(bits))
	return chunk("fmt ", b)
}

// extensible writes a fmt chunk of 40 bytes.
func extensible(tag, channels int, rate int64, bits, validBits int) []byte {
	b := append([]byte(nil), fmtChunk(tagExtensible, channels, rate, bits)[8:]...)
	b = binary.LittleEndian.AppendUint16(b, 22)
	b = binary.LittleEndian.AppendUint16(b, uint16(validBits))
	b = binary.LittleEndian.AppendUint32(b, 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(tag))
	return chunk("fmt ", append(b, extensibleGUID...))
}

// encode writes samples the way a decoder of the same name must read them.
func encode(x []float32, kind string) []byte {
	var b []byte
	for _, v := range x {
		switch kind {
		case "u8":
			b = append(b, byte(math.Round(float64(v)*127)+128))
		case "s16":
			b = binary.LittleEndian.AppendUint16(b, uint16(int16(math.Round(float64(v)*32767))))
		case "s16be":
			b = binary.BigEndian.AppendUint16(b, uint16(int16(math.Round(float64(v)*32767))))
		case "s24":
			n := int32(math.Round(float64(v) * (1<<23 - 1)))
			b = append(b, byte(n), byte(n>>8), byte(n>>16))
		case "s32":
			b = binary.LittleEndian.AppendUint32(b, uint32(int32(float64(v)*(1<<31-1))))
		case "f32":
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
		case "f64":
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(float64(v)))
		case "alaw":
			b = append(b, nearest(&aLawTable, v))
		case "mulaw":
			b = append(b, nearest(&muLawTable, v))
		}
	}
	return b
}

func nearest(table *[256]float32, v float32) byte {
	best := 0
	for i, w := range table {
		if math.Abs(float64(w-v)) < math.Abs(float64(table[best]-v)) {
			best = i
		}
	}
	return byte(best)
}

func decodeBytes(b []byte) (*PCM, error) { return decodeWith(b, Options{}) }

func decodeWith(b []byte, opt Options) (*PCM, error) {
	return Decode(context.Background(), bytes.NewReader(b), opt)
}

// maxDiff is the largest difference of two signals, or infinite if their
// lengths differ.
func maxDiff(a, b []float32) float64 {
	if len(a) != len(b) {
		return math.Inf(1)
	}
	d := 0.0
	for i := range a {
		d = max(d, math.Abs(float64(a[i]-b[i])))
	}
	return d
}

// TestG711 checks single values of ITU-T G.711 (tables 1a and 2a).
func TestG711(t *testing.T) {
	for _, c := range []struct {
		name  string
		table *[256]float32
		code  byte
		want  int
	}{
		{"A-law", &aLawTable, 0xd5, 8}, {"A-law", &aLawTable, 0x55, -8}, {"A-law", &aLawTable, 0xaa, 32256},
		{"A-law", &aLawTable, 0x2a, -32256}, {"A-law", &aLawTable, 0x80, 5504},
		{"µ-law", &muLawTable, 0xff, 0}, {"µ-law", &muLawTable, 0x7f, 0}, {"µ-law", &muLawTable, 0x80, 32124},
		{"µ-law", &muLawTable, 0x00, -32124}, {"µ-law", &muLawTable, 0xfe, 8}, {"µ-law", &muLawTable, 0xf0, 120},
	} {
		if got := c.table[c.code] * 32768; got != float32(c.want) {
			t.Errorf("%s %#02x: got %v, want %d", c.name, c.code, got, c.want)
		}
	}
}

// TestWAVCodecs: each way to write samples comes back within its own step.
func TestWAVCodecs(t *testing.T) {
	x := sine(1601, 440, SampleRate, 0.5)
	scaled(x, 0.9)
	for _, c := range []struct {
		name, kind, codec string
		format            []byte
		tolerance         float64
	}{
		{"8-bit", "u8", "pcm_u8", fmtChunk(tagPCM, 1, SampleRate, 8), 0.013},
		{"16-bit", "s16", "pcm_s16", fmtChunk(tagPCM, 1, SampleRate, 16), 5e-5},
		{"24-bit", "s24", "pcm_s24", fmtChunk(tagPCM, 1, SampleRate, 24), 3e-7},
		{"32-bit", "s32", "pcm_s32", fmtChunk(tagPCM, 1, SampleRate, 32), 2e-7},
		{"float", "f32", "pcm_f32", fmtChunk(tagFloat, 1, SampleRate, 32), 0},
		{"double", "f64", "pcm_f64", fmtChunk(tagFloat, 1, SampleRate, 64), 0},
		{"A-law", "alaw", "alaw", fmtChunk(tagALaw, 1, SampleRate, 8), 0.03},
		{"µ-law", "mulaw", "mulaw", fmtChunk(tagMuLaw, 1, SampleRate, 8), 0.03},
		{"extensible 16-bit", "s16", "pcm_s16", extensible(tagPCM, 1, SampleRate, 16, 16), 5e-5},
		{"extensible 24 in 32", "s32", "pcm_s32", extensible(tagPCM, 1, SampleRate, 32, 24), 2e-7},
		{"extensible float", "f32", "pcm_f32", extensible(tagFloat, 1, SampleRate, 32, 32), 0},
		{"extensible µ-law", "mulaw", "mulaw", extensible(tagMuLaw, 1, SampleRate, 8, 8), 0.03},
	} {
		pcm, err := decodeBytes(riff(c.format, chunk("data", encode(x, c.kind))))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		checkPCM(t, pcm)
		if d := maxDiff(pcm.Samples, x); d > c.tolerance {
			t.Errorf("%s: samples differ by %v", c.name, d)
		}
		if pcm.Info.Codec != c.codec || pcm.Info.Container != "wav" || pcm.Info.Faults != nil {
			t.Errorf("%s: got %+v", c.name, pcm.Info)
		}
	}
}

// TestWAVChunks: the chunks around the samples in every order and shape.
func TestWAVChunks(t *testing.T) {
	x := scaled(sine(1600, 300, SampleRate, 0), 0.8)
	body := encode(x, "s16")
	format, data := fmtChunk(tagPCM, 1, SampleRate, 16), chunk("data", body)
	list := chunk("LIST", []byte("INFOISFT\x05\x00\x00\x00test\x00\x00"))
	odd := chunk("junk", []byte("abc"))
	unpadded := odd[:len(odd)-1]
	streamed := func(size uint32) []byte {
		b := riff(format, list, data)
		binary.LittleEndian.PutUint32(b[4:], size)
		binary.LittleEndian.PutUint32(b[len(b)-len(body)-4:], size)
		return b
	}
	rf64 := riff(chunk("ds64", append(binary.LittleEndian.AppendUint64(make([]byte, 8), uint64(len(body))), make([]byte, 12)...)), format, data, list)
	copy(rf64, "RF64")
	binary.LittleEndian.PutUint32(rf64[bytes.Index(rf64, []byte("data"))+4:], streamedSize)
	for _, c := range []struct {
		name  string
		file  []byte
		fault string
	}{
		{"plain", riff(format, data), ""},
		{"list before", riff(format, list, data), ""},
		{"list after", riff(format, data, list), ""},
		{"odd chunk", riff(odd, format, odd, data), ""},
		{"odd chunk without its pad byte", riff(unpadded, format, unpadded, data), ""},
		{"data before fmt", riff(data, format), ""},
		{"two data chunks", riff(format, chunk("data", body[:1600]), list, chunk("data", body[1600:])), ""},
		{"size 0", streamed(0), ""},
		{"size 0xffffffff", streamed(streamedSize), ""},
		{"rf64", rf64, ""},
		{"garbage behind", append(riff(format, data), "\r\n--boundary--\r\n"...), ""},
		{"20000 empty chunks", riff(format, bytes.Repeat(chunk("void", nil), 20000), data), ""},
		{"behind an ID3 tag", append([]byte("ID3\x04\x00\x00\x00\x00\x00\x05abcde"), riff(format, data)...), ""},
		{"claims 4 GB", func() []byte {
			b := riff(format, data)
			binary.LittleEndian.PutUint32(b[len(b)-len(body)-4:], 0xfffffff0)
			return b
		}(), "truncated: the data chunk claims 4294967280 bytes, 3200 are there"},
		{"half a sample", riff(format, chunk("data", append(body[:len(body):len(body)], 7))), "the last 1 bytes of the data chunk are less than one sample frame"},
		{"block align 0", func() []byte {
			b := riff(format, data)
			binary.LittleEndian.PutUint16(b[32:], 0)
			return b
		}(), "the fmt chunk says 0 bytes per sample frame, 2 are right"},
	} {
		pcm, err := decodeBytes(c.file)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if d := maxDiff(pcm.Samples, x); d > 5e-5 {
			t.Errorf("%s: samples differ by %v", c.name, d)
		}
		if got := strings.Join(pcm.Info.Faults, "; "); got != c.fault {
			t.Errorf("%s: faults: got %q, want %q", c.name, got, c.fault)
		}
	}
}

func TestWAVBigEndian(t *testing.T) {
	x := scaled(sine(800, 300, SampleRate, 0), 0.8)
	b := riff(fmtChunk(tagPCM, 1, SampleRate, 16), chunk("data", encode(x, "s16be")))
	copy(b, "RIFX")
	for _, at := range []int{4, 16, 24, 28, 40} {
		binary.BigEndian.PutUint32(b[at:], binary.LittleEndian.Uint32(b[at:]))
	}
	for _, at := range []int{20, 22, 32, 34} {
		binary.BigEndian.PutUint16(b[at:], binary.LittleEndian.Uint16(b[at:]))
	}
	pcm, err := decodeBytes(b)
	if err != nil {
		t.Fatal(err)
	}
	if d := maxDiff(pcm.Samples, x); d > 5e-5 {
		t.Errorf("samples differ by %v", d)
	}
}

// TestWAVErrors: what cannot be decoded says why, in the right type.
func TestWAVErrors(t *testing.T) {
	data := chunk("data", make([]byte, 640))
	for _, c := range []struct {
		name, want string
		file       []byte
	}{
		{"nothing", "empty", nil},
		{"no samples", "empty", riff(fmtChunk(tagPCM, 1, SampleRate, 16), chunk("data", nil))},
		{"cut header", "corrupt", []byte("RIFF\x00\x00\x00\x00WA")},
		{"no fmt", "corrupt", riff(data)},
		{"no data", "corrupt", riff(fmtChunk(tagPCM, 1, SampleRate, 16))},
		{"0 channels", "corrupt", riff(fmtChunk(tagPCM, 0, SampleRate, 16), data)},
		{"65535 channels", "corrupt", riff(fmtChunk(tagPCM, 65535, SampleRate, 16), data)},
		{"0 Hz", "corrupt", riff(fmtChunk(tagPCM, 1, 0, 16), data)},
		{"1 Hz", "corrupt", riff(fmtChunk(tagPCM, 1, 1, 16), data)},
		{"4294967295 Hz", "corrupt", riff(fmtChunk(tagPCM, 1, math.MaxUint32, 16), data)},
		{"0 bits", "corrupt", riff(fmtChunk(tagPCM, 1, SampleRate, 0), data)},
		{"64-bit integers", "format", riff(fmtChunk(tagPCM, 1, SampleRate, 64), data)},
		{"16-bit floats", "format", riff(fmtChunk(tagFloat, 1, SampleRate, 16), data)},
		{"GSM", "format", riff(fmtChunk(0x31, 1, 8000, 0), data)},
		{"unknown codec", "format", riff(fmtChunk(0xbeef, 1, SampleRate, 16), data)},
		{"list past the end", "corrupt", append(riff(fmtChunk(tagPCM, 1, SampleRate, 16)), "LIST\xff\xff\xff\xff1234"...)},
	} {
		_, err := decodeBytes(c.file)
		var fe *FormatError
		var ce *CorruptError
		got := "none"
		switch {
		case errors.Is(err, ErrEmpty):
			got = "empty"
		case errors.As(err, &fe):
			got = "format"
			if fe.Found == "" || len(fe.Accepted) == 0 {
				t.Errorf("%s: names nothing: %+v", c.name, fe)
			}
		case errors.As(err, &ce):
			got = "corrupt"
			if ce.Container != "wav" || errors.Unwrap(err) == nil {
				t.Errorf("%s: got %+v", c.name, ce)
			}
		}
		if got != c.want {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
	}
}

// TestHostileFloats: NaN and the like become silence, loud ones are clipped, and
// both are named.
func TestHostileFloats(t *testing.T) {
	x := sine(1600, 440, SampleRate, 0)
	scaled(x, 0.5)
	for i, v := range []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), 1e30, -1e30} {
		x[100*i+7] = v
	}
	x[1000] = 1.5
	pcm, err := decodeBytes(riff(fmtChunk(tagFloat, 1, SampleRate, 32), chunk("data", encode(x, "f32"))))
	if err != nil {
		t.Fatal(err)
	}
	checkPCM(t, pcm)
	want := []string{
		"5 samples were NaN, infinite or absurdly large and were silenced",
		"1 samples were beyond full scale and were clipped",
	}
	if got := pcm.Info.Faults; len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("got %q, want %q", got, want)
	}
	if pcm.Samples[7] != 0 || pcm.Samples[1000] != 1 || pcm.Samples[8] != x[8] {
		t.Errorf("got %v, %v, %v", pcm.Samples[7], pcm.Samples[1000], pcm.Samples[8])
	}
}

// TestMaxDuration: decoding stops early, for a bomb as for a long file.
func TestMaxDuration(t *testing.T) {
	file := riff(fmtChunk(tagPCM, 1, 8000, 8), chunk("data", make([]byte, 8000*100)))
	_, err := Decode(context.Background(), bytes.NewReader(file), Options{MaxDuration: 10 * time.Second})
	var le *LimitError
	if !errors.As(err, &le) || le.What != "duration" || le.Max != 10*time.Second || le.Got != 100*time.Second {
		t.Fatalf("got %v", err)
	}
	// FLAC is only known to be too long once it is.
	bomb := flacFile([][]float32{make([]float32, 8000*30)}, 8000, 8, 0)
	if _, err = Decode(context.Background(), bytes.NewReader(bomb), Options{MaxDuration: 10 * time.Second}); !errors.As(err, &le) || le.Got > 11*time.Second {
		t.Errorf("flac: got %v", err)
	}
	pcm, err := Decode(context.Background(), bytes.NewReader(file), Options{MaxDuration: 100 * time.Second})
	if err != nil || pcm.Info.Duration != 100*time.Second {
		t.Errorf("at the limit: %v", err)
	}
}

// brokenReader fails in the middle.
type brokenReader struct{ *bytes.Reader }

var errBroken = errors.New("disk on fire")

func (r brokenReader) Read(p []byte) (int, error) {
	if r.Len() < 100_000 {
		return 0, errBroken
	}
	return r.Reader.Read(p)
}

// TestReadErrors: what the reader reports comes back as it is, and so does the
// end of the context.
func TestReadErrors(t *testing.T) {
	file := riff(fmtChunk(tagPCM, 1, 8000, 16), chunk("data", make([]byte, 400_000)))
	if _, err := Decode(context.Background(), brokenReader{bytes.NewReader(file)}, Options{}); !errors.Is(err, errBroken) {
		t.Errorf("got %v, want the reader's error", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Decode(ctx, bytes.NewReader(file), Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}
