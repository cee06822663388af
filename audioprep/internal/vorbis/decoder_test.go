package vorbis

import (
	"bytes"
	"errors"
	"math"
	"os"
	"testing"
)

// packets returns the packets of an Ogg file with one stream.
func packets(t testing.TB, name string) (out [][]byte) {
	t.Helper()
	b, err := os.ReadFile("../../testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var packet []byte
	for len(b) > 27 {
		lacing := b[27 : 27+int(b[26])]
		b = b[27+len(lacing):]
		for _, n := range lacing {
			packet = append(packet, b[:n]...)
			b = b[n:]
			if n < 255 {
				out = append(out, packet)
				packet = nil
			}
		}
	}
	if len(out) < 10 {
		t.Fatalf("%s: got %d packets", name, len(out))
	}
	return out
}

func newTestDecoder(t testing.TB, p [][]byte) *Decoder {
	t.Helper()
	d, err := NewDecoder(p[0], p[2])
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestTones: each channel is the sine that was encoded, and the lengths are as
// foretold.
func TestTones(t *testing.T) {
	for _, c := range []struct {
		file string
		rate int
		hz   []float64
	}{{"stereo-vorbis.ogg", 44100, []float64{440, 1000}}, {"mono-vorbis.ogg", 16000, []float64{440}}} {
		p := packets(t, c.file)
		d := newTestDecoder(t, p)
		if d.Rate() != c.rate || d.Channels() != len(c.hz) {
			t.Fatalf("%s: got %d Hz, %d channels", c.file, d.Rate(), d.Channels())
		}
		var x []float32
		all := d.Length(p[3:])
		for _, b := range p[3:] {
			want := d.Length([][]byte{b})
			y, err := d.Decode(b)
			if err != nil || len(y) != want*len(c.hz) {
				t.Fatalf("%s: got %d values, want %d (%v)", c.file, len(y), want*len(c.hz), err)
			}
			x = append(x, y...)
		}
		if len(x) != all*len(c.hz) {
			t.Errorf("%s: got %d values, want %d", c.file, len(x), all*len(c.hz))
		}
		n := c.rate / 10
		x = x[len(x)/len(c.hz)/2*len(c.hz):][:n*len(c.hz)]
		for ch, hz := range c.hz {
			re, im, total := 0.0, 0.0, 0.0
			for i := range n {
				v := float64(x[i*len(c.hz)+ch])
				sin, cos := math.Sincos(2 * math.Pi * hz * float64(i) / float64(c.rate))
				re, im, total = re+v*cos, im+v*sin, total+v*v
			}
			amplitude := 2 * math.Hypot(re, im) / float64(n)
			rest := 10 * math.Log10(math.Abs(1-amplitude*amplitude/2*float64(n)/total)+1e-12)
			if math.Abs(amplitude-0.3) > 0.01 || rest > -25 {
				t.Errorf("%s: channel %d: %.3f of %.0f Hz, the rest at %.1f dB", c.file, ch, amplitude, hz, rest)
			}
		}
	}
}

// TestReset: after it a packet gives nothing, and then all is as before.
func TestReset(t *testing.T) {
	p := packets(t, "mono-vorbis.ogg")[:9]
	d, e := newTestDecoder(t, p), newTestDecoder(t, p)
	for _, b := range p[3:7] {
		if _, err := d.Decode(b); err != nil {
			t.Fatal(err)
		}
	}
	d.Reset()
	for i, b := range p[6:9] {
		x, err := d.Decode(b)
		y, err2 := e.Decode(b)
		if err != nil || err2 != nil || len(x) != len(y) || i == 0 && len(x) != 0 {
			t.Fatalf("packet %d: got %d and %d values, %v, %v", i, len(x), len(y), err, err2)
		}
		for k := range x {
			if x[k] != y[k] {
				t.Fatalf("packet %d: value %d differs", i, k)
			}
		}
	}
}

func TestNotAudio(t *testing.T) {
	p := packets(t, "mono-vorbis.ogg")
	d := newTestDecoder(t, p)
	for _, b := range [][]byte{nil, {1}, p[0], p[1], p[2]} {
		if x, err := d.Decode(b); !errors.Is(err, ErrPacket) {
			t.Errorf("%.8q: got %d values and %v", b, len(x), err)
		}
	}
}

// TestHeaders: a header that is cut, changed or asks for too much is refused.
func TestHeaders(t *testing.T) {
	p := packets(t, "mono-vorbis.ogg")
	for n := 0; n < len(p[2]); n += 7 {
		if _, err := NewDecoder(p[0], p[2][:n]); err == nil {
			t.Fatalf("a setup header cut after %d bytes was taken", n)
		}
	}
	for at, v := range map[int]byte{7: 1, 11: 0, 28: 0x5a, 29: 0} {
		b := bytes.Clone(p[0])
		if b[at] = v; at == 11 {
			b[11] = 0
		}
		if _, err := NewDecoder(b, p[2]); err == nil {
			t.Errorf("byte %d of the identification as %#x was taken", at, v)
		}
	}
	// 2^24-1 entries of 65535 dimensions.
	huge := []byte("\x05vorbis\x00BCV\xff\xff\xff\xff\xff" + string(make([]byte, 100)))
	if _, err := NewDecoder(p[0], huge); !errors.Is(err, errTooLarge) {
		t.Errorf("got %v, want %v", err, errTooLarge)
	}
}

func TestLatticeSide(t *testing.T) {
	for _, c := range [][3]int{{81, 4, 3}, {80, 4, 2}, {1, 5, 1}, {0, 3, 0}, {1 << 20, 2, 1024}, {7, 1, 7}, {1000, 65535, 1}, {124, 3, 4}, {125, 3, 5}} {
		if got := latticeSide(c[0], c[1]); got != c[2] {
			t.Errorf("%d entries of %d dimensions: got %d, want %d", c[0], c[1], got, c[2])
		}
	}
}

// FuzzPacket decodes packets with a good setup: nothing but finite samples, as
// many as foretold.
func FuzzPacket(f *testing.F) {
	p := packets(f, "stereo-vorbis.ogg")
	for _, b := range p[3:8] {
		f.Add(b, p[9])
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		d := newTestDecoder(t, p)
		for _, packet := range [][]byte{a, b, a} {
			want := d.Length([][]byte{packet})
			x, err := d.Decode(packet)
			if err != nil {
				continue
			}
			if len(x) != want*d.Channels() {
				t.Fatalf("got %d values, want %d", len(x), want*d.Channels())
			}
			for i, v := range x {
				if v != v || math.IsInf(float64(v), 0) {
					t.Fatalf("value %d is %v", i, v)
				}
			}
		}
	})
}

// FuzzHeaders decodes packets with any setup.
func FuzzHeaders(f *testing.F) {
	for _, name := range []string{"stereo-vorbis.ogg", "mono-vorbis.ogg"} {
		p := packets(f, name)
		f.Add(p[0], p[2], p[5])
	}
	p := floor0Stream(8)
	f.Add(p[0], p[2], p[5])
	f.Fuzz(func(t *testing.T, identification, setup, packet []byte) {
		d, err := NewDecoder(identification, setup)
		if err != nil {
			return
		}
		for range 2 {
			want := d.Length([][]byte{packet})
			if x, err := d.Decode(packet); err == nil && len(x) != want*d.Channels() {
				t.Fatalf("got %d values, want %d", len(x), want*d.Channels())
			}
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	p := packets(b, "stereo-vorbis.ogg")
	d := newTestDecoder(b, p)
	n := 0
	for b.Loop() {
		for _, v := range p[3:] {
			x, err := d.Decode(v)
			if err != nil {
				b.Fatal(err)
			}
			n += len(x)
		}
	}
	b.ReportMetric(float64(n/d.Channels())/float64(d.Rate())/b.Elapsed().Seconds(), "audio-s/s")
}
