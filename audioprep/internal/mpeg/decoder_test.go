package mpeg

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func testFiles(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.mp3")
	if err != nil || len(files) < 10 {
		t.Fatalf("got %d files of testdata (%v)", len(files), err)
	}
	return files
}

// decodeAll decodes all frames of a file without tags inside.
func decodeAll(t testing.TB, d *Decoder, b []byte) (channels [2][]float32, h Header) {
	t.Helper()
	var block [MaxSamples]float32
	for at := 0; at+HeaderBytes <= len(b); {
		n, ok := ParseHeader(b[at:])
		if !ok || n.Bytes == 0 || at+n.Bytes > len(b) {
			at++
			continue
		}
		h = n
		got, err := d.Decode(block[:], b[at:])
		// Layers I and II find only now that there are too few bits.
		if err != nil && !errors.Is(err, ErrReservoir) && (h.Layer == 3 || !errors.Is(err, ErrFrame)) {
			t.Fatalf("byte %d: %v", at, err)
		}
		if err == nil && got != h.Samples*h.Channels {
			t.Fatalf("byte %d: got %d samples, want %d", at, got, h.Samples*h.Channels)
		}
		for i := 0; i < got; i += h.Channels {
			for c := range h.Channels {
				channels[c] = append(channels[c], block[i+c])
			}
		}
		at += h.Bytes
	}
	return channels, h
}

// residualDB fits a sine of hz to x and returns its amplitude, and what is left
// over below it.
func residualDB(x []float32, hz float64, rate int) (amplitude, db float64) {
	var ss, cc, sc, xs, xc, xx float64
	for i, v := range x {
		sin, cos := math.Sincos(2 * math.Pi * hz * float64(i) / float64(rate))
		ss += sin * sin
		cc += cos * cos
		sc += sin * cos
		xs += float64(v) * sin
		xc += float64(v) * cos
		xx += float64(v) * float64(v)
	}
	det := ss*cc - sc*sc
	a, b := (xs*cc-xc*sc)/det, (xc*ss-xs*sc)/det
	rest := xx - a*xs - b*xc
	return math.Hypot(a, b), 10 * math.Log10(rest/xx+1e-20)
}

// TestTones: in every version, rate and stereo mode each channel is the sine
// that was encoded, 35 dB clear of all else. LAME takes 5 % off the amplitude at
// some settings.
func TestTones(t *testing.T) {
	for _, name := range testFiles(t) {
		if strings.Contains(name, "clicks") || strings.Contains(name, "tagged") {
			continue
		}
		t.Run(filepath.Base(name), func(t *testing.T) {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			channels, h := decodeAll(t, new(Decoder), b)
			for c := range h.Channels {
				x := channels[c]
				// The middle: ends hold the encoder's delay and padding.
				x = x[len(x)/2-h.Rate/20 : len(x)/2+h.Rate/20]
				hz := [2]float64{440, 1000}[c]
				amplitude, db := residualDB(x, hz, h.Rate)
				if db > -35 || amplitude < 0.37 || amplitude > 0.41 {
					t.Errorf("channel %d: %.3f of %.0f Hz, the rest at %.1f dB", c, amplitude, hz, db)
				}
			}
		})
	}
}

// TestClicks: bursts come out where they went in, and between them it is quiet:
// short blocks work.
func TestClicks(t *testing.T) {
	for _, rate := range []string{"44100", "22050", "8000"} {
		t.Run(rate, func(t *testing.T) {
			b, err := os.ReadFile("testdata/" + rate + "-clicks.mp3")
			if err != nil {
				t.Fatal(err)
			}
			channels, h := decodeAll(t, new(Decoder), b)
			x := channels[0]
			// 10 ms bins relative to the second burst.
			peak := 0
			for i := range x[:h.Rate*3/20+2000] {
				if math.Abs(float64(x[i])) > math.Abs(float64(x[peak])) {
					peak = i
				}
			}
			energy := func(from, to float64) float64 {
				sum := 0.0
				a := max(0, peak+int(from*float64(h.Rate)))
				for _, v := range x[a : peak+int(to*float64(h.Rate))] {
					sum += float64(v) * float64(v)
				}
				return sum
			}
			burst, gap, next := energy(-0.005, 0.005), energy(0.03, 0.08), energy(0.095, 0.105)
			if burst < 0.1 || gap > burst/50 || next < burst/2 {
				t.Errorf("energy: burst %.3f, after it %.4f, the next %.3f", burst, gap, next)
			}
		})
	}
}

// TestMaxHz: leaving out the upper subbands changes nothing below.
func TestMaxHz(t *testing.T) {
	b, err := os.ReadFile("testdata/44100-joint.mp3")
	if err != nil {
		t.Fatal(err)
	}
	full, _ := decodeAll(t, new(Decoder), b)
	low, h := decodeAll(t, &Decoder{MaxHz: 2000}, b)
	x, y := full[0][4000:12000], low[0][4000:12000]
	_, db := residualDB(x, 440, h.Rate)
	_, lowDB := residualDB(y, 440, h.Rate)
	if lowDB > db+0.1 {
		t.Errorf("got the rest at %.1f dB, %.1f dB with all subbands", lowDB, db)
	}
}

// TestReservoir: a stream that begins in its middle has no data for its first
// frames; it says so and is the same as the whole from some frames on.
func TestReservoir(t *testing.T) {
	b, err := os.ReadFile("testdata/44100-joint.mp3")
	if err != nil {
		t.Fatal(err)
	}
	whole, _ := decodeAll(t, new(Decoder), b)
	h, _ := ParseHeader(b)
	skip := 0
	for range 4 {
		n, _ := ParseHeader(b[skip:])
		skip += n.Bytes
	}
	part, _ := decodeAll(t, new(Decoder), b[skip:])
	n := 4 * h.Samples
	a, c := whole[0][len(whole[0])-n:], part[0][len(part[0])-n:]
	if !slices.Equal(a, c) {
		t.Error("the last four frames differ")
	}
}

func TestErrors(t *testing.T) {
	b, err := os.ReadFile("testdata/16000-mono.mp3")
	if err != nil {
		t.Fatal(err)
	}
	h, _ := ParseHeader(b)
	for name, frame := range map[string][]byte{
		"nothing": nil, "header": b[:4], "cut": b[:h.Bytes-1], "zeros": make([]byte, 1000),
		"layer II without samples": {0xff, 0xfd, 0x04, 0x00, 0xff, 0xff}, "free format without side information": {0xff, 0xfb, 0x00, 0x00},
	} {
		if _, err := new(Decoder).Decode(make([]float32, MaxSamples), frame); !errors.Is(err, ErrFrame) {
			t.Errorf("%s: got %v, want ErrFrame", name, err)
		}
	}
}

// TestCodeTables: each table holds every value once. That it is a complete code is seen to
// where it is built.
func TestCodeTables(t *testing.T) {
	check := func(name string, leaves string, values int) {
		seen := map[string]bool{}
		for i := 0; i < len(leaves); i += 3 {
			seen[leaves[i+1:i+3]] = true
		}
		if len(seen) != values || len(leaves) != 3*values {
			t.Errorf("%s: %d values of %d codes, want %d", name, len(seen), len(leaves)/3, values)
		}
	}
	for n, leaves := range pairLeaves {
		side := map[int]int{1: 2, 2: 3, 3: 3, 5: 4, 6: 4, 7: 6, 8: 6, 9: 6, 10: 8, 11: 8, 12: 8}[n]
		if side == 0 {
			side = 16
		}
		check(fmt.Sprintf("pairs %d", n), leaves, side*side)
	}
	for _, leaves := range quadLeaves {
		check("quads", leaves, 16)
	}
}

// TestDCT32 against its definition.
func TestDCT32(t *testing.T) {
	var x, y [32]float32
	for i := range x {
		x[i] = float32(math.Sin(float64(i*i) * 0.7))
	}
	y = x
	dct32(&y)
	for n := range y {
		want := 0.0
		for k, v := range x {
			want += float64(v) * math.Cos(math.Pi/64*float64(n*(2*k+1)))
		}
		if math.Abs(float64(y[n])-want) > 1e-5 {
			t.Errorf("result %d: got %v, want %v", n, y[n], want)
		}
	}
}

// TestIMDCT against the definition, windows left out.
func TestIMDCT(t *testing.T) {
	var x [18]float32
	for i := range x {
		x[i] = float32(math.Cos(float64(i*i) * 0.3))
	}
	var ones, y [36]float32
	for i := range ones {
		ones[i] = 1
	}
	imdctLong(&x, &y, &ones)
	for n := range y {
		want := 0.0
		for k, v := range x {
			want += float64(v) * math.Cos(math.Pi/72*float64((2*n+19)*(2*k+1)))
		}
		if math.Abs(float64(y[n])-want) > 1e-5 {
			t.Errorf("long, output %d: got %v, want %v", n, y[n], want)
		}
	}
	imdctShort(&x, &y)
	var want [36]float64
	for w := range 3 {
		for n := range 12 {
			sum := 0.0
			for k := range 6 {
				sum += float64(x[3*k+w]) * math.Cos(math.Pi/24*float64((2*n+7)*(2*k+1)))
			}
			want[6+6*w+n] += sum * math.Sin(math.Pi/12*(float64(n)+0.5))
		}
	}
	for n := range y {
		if math.Abs(float64(y[n])-want[n]) > 1e-5 {
			t.Errorf("short, output %d: got %v, want %v", n, y[n], want[n])
		}
	}
}

// FuzzDecode: whatever the frames hold, the decoder neither panics nor writes
// more than the header says.
func FuzzDecode(f *testing.F) {
	for _, name := range testFiles(f) {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b[:min(len(b), 1500)])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var d Decoder
		channels, h := decodeAll(t, &d, b)
		if n := len(channels[0]) + len(channels[1]); n > len(b)/20*MaxSamples+MaxSamples {
			t.Errorf("got %d samples of %d bytes (%+v)", n, len(b), h)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	data, err := os.ReadFile("testdata/44100-joint.mp3")
	if err != nil {
		b.Fatal(err)
	}
	for _, maxHz := range []int{0, 8000} {
		b.Run(map[int]string{0: "all", 8000: "to-8-kHz"}[maxHz], func(b *testing.B) {
			seconds := 0.0
			for b.Loop() {
				channels, h := decodeAll(b, &Decoder{MaxHz: maxHz}, data)
				seconds += float64(len(channels[0])) / float64(h.Rate)
			}
			b.ReportMetric(seconds/b.Elapsed().Seconds(), "audio-s/s")
		})
	}
}
