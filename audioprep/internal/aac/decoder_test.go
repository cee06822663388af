package aac

import (
	"encoding/binary"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// seen counts which tools of the format the packets of a stream used.
type seen struct{ short, shapes, tns, midSide, intensity, noise, pulses int }

// decodeADTS decodes a whole stream, frame after frame.
func decodeADTS(t testing.TB, b []byte) (samples []float32, cfg Config, tools seen) {
	t.Helper()
	var d *Decoder
	shapes := map[int]bool{}
	for len(b) > 0 {
		h, ok := ParseADTS(b)
		if !ok || h.Bytes > len(b) {
			t.Fatalf("no frame %d bytes before the end", len(b))
		}
		if d == nil {
			var err error
			if cfg, err = h.Config(b); err != nil {
				t.Fatal(err)
			}
			cfg = cfg.Discover(b[h.HeaderBytes:h.Bytes])
			d = NewDecoder(cfg)
		}
		block := make([]float32, cfg.Frame()*cfg.Channels)
		n, err := d.Decode(block, b[h.HeaderBytes:h.Bytes])
		if err != nil {
			t.Fatal(err)
		}
		if n != h.Bytes-h.HeaderBytes {
			t.Errorf("%d bytes of a packet of %d were read", n, h.Bytes-h.HeaderBytes)
		}
		samples = append(samples, block...)
		b = b[h.Bytes:]
		tools.count(d, shapes)
	}
	tools.shapes = len(shapes)
	return samples, cfg, tools
}

func (s *seen) count(d *Decoder, shapes map[int]bool) {
	if d.ms.present > 0 {
		s.midSide++
	}
	for i := range d.used {
		c := &d.ch[i]
		shapes[c.info.shape] = true
		if c.info.sequence == sequenceShort {
			s.short++
		}
		for _, n := range c.tns.count {
			s.tns += n
		}
		s.pulses += len(c.pulses)
		for g := range c.info.groups {
			for b := range c.info.maxBand {
				switch c.book[g][b] {
				case bookNoise:
					s.noise++
				case bookIntensity, bookIntensity2:
					s.intensity++
				}
			}
		}
	}
}

// signalToError is in dB.
func signalToError(want, got []float32) float64 {
	var signal, wrong float64
	for i, v := range want {
		d := float64(v) - float64(got[i])
		signal += float64(v) * float64(v)
		wrong += d * d
	}
	return 10 * math.Log10(signal/(wrong+1e-30))
}

// channelOf picks channel c of interleaved samples.
func channelOf(x []float32, c, channels int) (y []float32) {
	for i := c; i < len(x); i += channels {
		y = append(y, x[i])
	}
	return y
}

func readS16(t *testing.T, name string) (x []float32) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for ; len(b) >= 2; b = b[2:] {
		x = append(x, float32(int16(binary.LittleEndian.Uint16(b)))/32768)
	}
	return x
}

// fromStream is where ffmpeg puts the channels of a stream of six: centre, left, right,
// left and right behind, low frequencies.
var fromStream = map[int][]int{1: {0}, 2: {0, 1}, 6: {2, 0, 1, 4, 5, 3}}

// TestDecode holds samples of every tool to what ffmpeg decodes of them.
func TestDecode(t *testing.T) {
	for _, c := range []struct {
		name           string
		rate, channels int
		used           func(seen) bool
		leastDB        float64
	}{
		{"16000-mono", 16000, 1, func(s seen) bool { return true }, 75},
		{"44100-clicks", 44100, 2, func(s seen) bool { return s.short > 0 && s.intensity > 0 && s.midSide > 0 && s.shapes == 2 }, 70},
		{"8000-bursts", 8000, 1, func(s seen) bool { return s.tns > 0 && s.short > 0 }, 70},
		{"32000-six", 32000, 6, func(s seen) bool { return true }, 60},
	} {
		b, err := os.ReadFile(filepath.Join("testdata", c.name+".aac"))
		if err != nil {
			t.Fatal(err)
		}
		got, cfg, tools := decodeADTS(t, b)
		if cfg.Rate != c.rate || cfg.Channels != c.channels || cfg.SBR {
			t.Errorf("%s: got %+v", c.name, cfg)
		}
		if !c.used(tools) {
			t.Errorf("%s: it does not use what it is there for: %+v", c.name, tools)
		}
		want := readS16(t, filepath.Join("testdata", c.name+".s16"))
		if len(got) != len(want) {
			t.Errorf("%s: got %d samples, want %d", c.name, len(got), len(want))
			continue
		}
		for i, at := range fromStream[c.channels] {
			// 16 bits of a signal of about -12 dB are good to some 80 dB.
			db := signalToError(channelOf(want, at, c.channels), channelOf(got, i, c.channels))
			if db < c.leastDB {
				t.Errorf("%s: channel %d: got %.1f dB, want %v", c.name, i, db, c.leastDB)
			}
		}
	}
}

// TestNoise: noise is another one in most decoders, but ours is that of ffmpeg.
func TestNoise(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("testdata", "44100-noise.aac"))
	if err != nil {
		t.Fatal(err)
	}
	got, _, tools := decodeADTS(t, b)
	if tools.noise < 50 {
		t.Fatalf("only %d bands are noise", tools.noise)
	}
	want := readS16(t, filepath.Join("testdata", "44100-noise.s16"))
	if db := signalToError(want, got); len(got) != len(want) || db < 70 {
		t.Errorf("got %d samples at %.1f dB, want %d at 70", len(got), db, len(want))
	}
}

// TestHighEfficiency holds HE-AAC of speech, and version 2, to what ffmpeg decodes of it.
func TestHighEfficiency(t *testing.T) {
	for _, c := range []struct {
		name string
		want Config
	}{
		{"he-22050-mono", Config{Rate: 22050, Channels: 1, SBR: true}},
		{"he-24000-coupled", Config{Rate: 24000, Channels: 2, SBR: true}},
		{"he-v2-24000", Config{Rate: 24000, Channels: 2, SBR: true, PS: true}},
	} {
		b, err := os.ReadFile(filepath.Join("testdata", c.name+".aac"))
		if err != nil {
			t.Fatal(err)
		}
		got, cfg, _ := decodeADTS(t, b)
		if cfg != c.want {
			t.Errorf("%s: got %+v, want %+v", c.name, cfg, c.want)
		}
		want := readS16(t, filepath.Join("testdata", c.name+".s16"))
		if len(got) != len(want) {
			t.Errorf("%s: got %d samples, want %d", c.name, len(got), len(want))
			continue
		}
		for i := range cfg.Channels {
			// 16 bits of speech are good to some 75 dB.
			if db := signalToError(channelOf(want, i, cfg.Channels), channelOf(got, i, cfg.Channels)); db < 65 {
				t.Errorf("%s: channel %d: got %.1f dB", c.name, i, db)
			}
		}
	}
}

// TestAgainstFFmpeg encodes other forms with ffmpeg and compares what both decode.
func TestAgainstFFmpeg(t *testing.T) {
	ffmpeg, err := exec.LookPath("ffmpeg")
	if err != nil {
		t.Skip("no ffmpeg on PATH: decoded samples are compared with the committed ones only")
	}
	const source = "aevalsrc='0.3*sin(2*PI*440*t*(1+t))+0.5*(random(0)-0.5)*lt(mod(t,0.21),0.01)" +
		"|0.2*sin(2*PI*660*t)+0.3*(random(1)-0.5)*lt(mod(t,0.3),0.2)':d=1:s="
	for _, c := range [][]string{
		{"96000", "-ac", "2", "-b:a", "192k"}, {"88200", "-ac", "1", "-b:a", "96k"}, {"64000", "-ac", "2", "-b:a", "128k"},
		{"48000", "-ac", "2", "-b:a", "64k"}, {"48000", "-ac", "2", "-b:a", "320k", "-aac_coder", "fast"},
		{"44100", "-ac", "1", "-b:a", "24k"}, {"32000", "-ac", "2", "-b:a", "48k"}, {"22050", "-ac", "2", "-b:a", "32k", "-aac_is", "1"},
		{"12000", "-ac", "1", "-b:a", "16k"}, {"11025", "-ac", "2", "-b:a", "32k"}, {"8000", "-ac", "1", "-b:a", "12k"},
		{"7350", "-ac", "1", "-b:a", "12k"}, {"16000", "-ac", "1", "-b:a", "64k", "-aac_tns", "0"},
	} {
		name := filepath.Join(t.TempDir(), "x.aac")
		args := append([]string{"-v", "error", "-f", "lavfi", "-i", source + c[0], "-aac_pns", "0"}, c[1:]...)
		if out, err := exec.Command(ffmpeg, append(args, "-c:a", "aac", name)...).CombinedOutput(); err != nil {
			t.Errorf("%v: %v: %s", c, err, out)
			continue
		}
		raw, err := exec.Command(ffmpeg, "-v", "error", "-i", name, "-f", "f32le", "-").Output()
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		got, _, _ := decodeADTS(t, b)
		want := make([]float32, len(raw)/4)
		for i := range want {
			want[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
		}
		if len(got) != len(want) {
			t.Errorf("%v: got %d samples, want %d", c, len(got), len(want))
			continue
		}
		// Both compute with 24 bits.
		if db := signalToError(want, got); db < 100 {
			t.Errorf("%v: got %.1f dB, want 100", c, db)
		}
	}
}

func TestConfig(t *testing.T) {
	for _, c := range []struct {
		name string
		b    []byte
		want Config
		err  error
	}{
		{"44.1 kHz stereo", []byte{0x12, 0x10}, Config{Rate: 44100, Channels: 2}, nil},
		{"16 kHz mono", []byte{0x14, 0x08}, Config{Rate: 16000, Channels: 1}, nil},
		{"7.1", []byte{0x11, 0xb8}, Config{Rate: 48000, Channels: 8}, nil},
		{"a rate without a number", []byte{0x17, 0x80, 0x0f, 0xa0, 0x08}, Config{Rate: 8000, Channels: 1}, nil},
		// 5, 24 kHz, 2 channels, 48 kHz, 2.
		{"HE-AAC", []byte{0x2b, 0x11, 0x88, 0x00}, Config{Rate: 48000, Channels: 2, SBR: true}, nil},
		{"HE-AAC v2", []byte{0xeb, 0x09, 0x88, 0x00}, Config{Rate: 48000, Channels: 2, SBR: true, PS: true}, nil},
		// AAC-LC of 24 kHz and the sync word with SBR behind it.
		{"HE-AAC for old decoders", []byte{0x13, 0x10, 0x56, 0xe5, 0x98}, Config{Rate: 48000, Channels: 2, SBR: true}, nil},
		{"scalable", []byte{0x32, 0x10}, Config{}, ErrUnsupported},
		{"frames of 960", []byte{0x12, 0x14}, Config{}, ErrUnsupported},
		{"a reserved rate", []byte{0x16, 0x90}, Config{}, ErrPacket},
		{"one byte", []byte{0x12}, Config{}, ErrPacket},
		{"nothing", nil, Config{}, ErrPacket},
	} {
		got, err := ParseConfig(c.b)
		if !errors.Is(err, c.err) || err == nil && got != c.want {
			t.Errorf("%s: got %+v, %v, want %+v, %v", c.name, got, err, c.want, c.err)
		}
	}
}

// TestDamage: a damaged packet is an error or noise, and the stream goes on behind it.
func TestDamage(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("testdata", "44100-clicks.aac"))
	if err != nil {
		t.Fatal(err)
	}
	want, cfg, _ := decodeADTS(t, b)
	d := NewDecoder(cfg)
	var got []float32
	failed := 0
	for i := 0; len(b) > 0; i++ {
		h, _ := ParseADTS(b)
		packet := b[h.HeaderBytes:h.Bytes]
		if i == 3 {
			packet = packet[:len(packet)/2]
		}
		block := make([]float32, cfg.Frame()*cfg.Channels)
		if _, err := d.Decode(block, packet); err != nil {
			failed++
			for i, v := range block {
				if v != 0 {
					t.Fatalf("sample %d was changed in spite of the error", i)
				}
			}
		}
		got = append(got, block...)
		b = b[h.Bytes:]
	}
	if failed != 1 {
		t.Errorf("%d packets failed, want the one that was cut", failed)
	}
	tail := 5 * frameLines * cfg.Channels // the packet behind it overlaps with it
	if db := signalToError(want[tail:], got[tail:]); db < 200 {
		t.Errorf("behind the damage: got %.1f dB", db)
	}
}

func FuzzDecode(f *testing.F) {
	for _, name := range []string{
		"16000-mono", "44100-clicks", "8000-bursts", "32000-six", "44100-noise", "he-22050-mono", "he-24000-coupled", "he-v2-24000",
	} {
		b, err := os.ReadFile(filepath.Join("testdata", name+".aac"))
		if err != nil {
			f.Fatal(err)
		}
		h, _ := ParseADTS(b)
		n, _ := ParseADTS(b[h.Bytes:])
		var he uint8
		if strings.HasPrefix(name, "he") {
			he = 0x80
		}
		f.Add(he|uint8(h.Configuration-1), b[h.HeaderBytes:h.Bytes], b[h.Bytes+n.HeaderBytes:h.Bytes+n.Bytes])
	}
	f.Fuzz(func(t *testing.T, channels uint8, one, two []byte) {
		cfg := Config{Rate: Rates[int(channels>>3&15)%len(Rates)], Channels: int(channels%MaxChannels) + 1}
		if channels&0x80 != 0 {
			cfg.replicate()
			cfg.parametric()
		}
		d := NewDecoder(cfg)
		block := make([]float32, cfg.Frame()*cfg.Channels)
		for _, b := range [][]byte{one, two, one} {
			n, err := d.Decode(block, b)
			if err != nil {
				continue
			}
			if n > len(b) {
				t.Fatalf("%d bytes of %d were read", n, len(b))
			}
			for i, v := range block {
				if math.IsNaN(float64(v)) {
					t.Fatalf("sample %d is not a number", i)
				}
			}
		}
	})
}

func FuzzConfig(f *testing.F) {
	f.Add([]byte{0x12, 0x10})
	f.Add([]byte{0x2b, 0x11, 0x88, 0x00})
	f.Add([]byte{0x13, 0x00, 0x04, 0x84, 0x00, 0x20, 0x00})
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := ParseConfig(b)
		if err == nil && (c.Rate <= 0 || c.Channels < 1 || c.Channels > MaxChannels) {
			t.Fatalf("got %+v", c)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	file, err := os.ReadFile(filepath.Join("testdata", "44100-clicks.aac"))
	if err != nil {
		b.Fatal(err)
	}
	samples := 0
	for b.Loop() {
		got, cfg, _ := decodeADTS(b, file)
		samples += len(got) / cfg.Channels
	}
	b.ReportMetric(float64(samples)/44100/b.Elapsed().Seconds(), "audio-s/s")
}

// TestPulses: a pulse makes a line larger, whatever its sign.
func TestPulses(t *testing.T) {
	c := &channel{info: icsInfo{groups: 1, windows: 1, length: [shortWindows]int{1}, maxBand: 1, bands: []int{0, 4, 1024}}}
	c.book[0][0], c.scale[0][0] = 1, 100 // a gain of 1
	c.quant = [frameLines]int16{2, -2, 0, 5}
	c.pulses = []pulse{{0, 6}, {1, 6}, {3, 3}}
	c.dequantise()
	for i, want := range []float32{16, -16, 0, 16} { // 8 to the power of 4/3
		if math.Abs(float64(c.coef[i]-want)) > 1e-5 {
			t.Errorf("line %d: got %v, want %v", i, c.coef[i], want)
		}
	}
}

// TestLateSBR: what a packet holds beyond the configuration is passed over, and that is known.
func TestLateSBR(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("testdata", "he-22050-mono.aac"))
	if err != nil {
		t.Fatal(err)
	}
	h, _ := ParseADTS(b)
	packet := b[h.HeaderBytes:h.Bytes]
	d := NewDecoder(Config{Rate: h.Rate, Channels: 1})
	block := make([]float32, frameLines)
	if n, err := d.Decode(block, packet); err != nil || n != len(packet) || !d.CoreOnly() {
		t.Errorf("got %d of %d bytes, %v, core only %v", n, len(packet), err, d.CoreOnly())
	}
}

// TestWithoutSBR: packets of HE-AAC that hold no SBR, or a damaged one, have twice the rate and
// nothing above.
func TestWithoutSBR(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("testdata", "he-22050-mono.aac"))
	if err != nil {
		t.Fatal(err)
	}
	d := NewDecoder(Config{Rate: 22050, Channels: 1, SBR: true})
	core := NewDecoder(Config{Rate: 11025, Channels: 1})
	var got, want []float32
	for len(b) > 0 {
		h, _ := ParseADTS(b)
		packet := append([]byte(nil), b[h.HeaderBytes:h.Bytes]...)
		block, half := make([]float32, 2*frameLines), make([]float32, frameLines)
		if _, err := core.Decode(half, packet); err != nil {
			t.Fatal(err)
		}
		// The payload is at the end.
		for i := len(packet) - 4; i < len(packet)-1; i++ {
			packet[i] = 0xff
		}
		if _, err := d.Decode(block, packet); err != nil {
			t.Fatal(err)
		}
		got, want = append(got, block...), append(want, half...)
		b = b[h.Bytes:]
	}
	var low, high float64
	for i, v := range want {
		low += float64(v) * float64(v)
		high += float64(got[2*i]) * float64(got[2*i])
	}
	if r := high / low; r < 0.8 || r > 1.25 {
		t.Errorf("got %.2f times the energy of the core", r)
	}
}
