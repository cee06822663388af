package opus

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
)

// streams are those of testdata. loose is by how much samples may differ, of 32768,
// besides rounding: SILK is exact; made-up frames of CELT hang on decisions of floats.
var streams = []struct {
	name     string
	channels int
	loose    float64
}{
	{"silk-narrow-10ms", 1, 0}, {"silk-medium-20ms", 1, 0}, {"silk-wide-40ms-stereo", 2, 0},
	{"silk-wide-60ms-copies", 2, 0}, {"silk-lost", 1, 0}, {"silk-lost-narrow", 2, 0},
	{"hybrid-24khz-10ms", 1, 0.1}, {"hybrid-48khz-20ms-stereo", 2, 0.1}, {"hybrid-lost", 1, 0.1},
	{"celt-8khz-2.5ms", 1, 0.1}, {"celt-16khz-5ms-stereo", 2, 0.1}, {"celt-24khz-10ms", 1, 0.1},
	{"celt-48khz-20ms-stereo", 2, 0.1}, {"celt-48khz-20ms-low", 2, 0.1}, {"celt-lost", 1, 8},
	{"packets-of-120ms", 2, 0.1}, {"switching", 2, 0.1}, {"stereo-as-mono", 1, 0.1}, {"mono-as-stereo", 2, 0.1},
	{"cut-together", 2, 8},
}

// packets reads a stream of testdata.
func packets(t testing.TB, name string) (all [][]byte) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name+".packets"))
	if err != nil {
		t.Fatal(err)
	}
	for len(b) > 0 {
		n := int(binary.BigEndian.Uint16(b))
		all = append(all, b[2:2+n])
		b = b[2+n:]
	}
	return all
}

// decode returns the interleaved samples of packets.
func decode(t testing.TB, d *Decoder, packets [][]byte) (all []float32) {
	t.Helper()
	for i, p := range packets {
		x, err := d.Decode(p)
		if err != nil {
			t.Fatalf("packet %d: %v", i, err)
		}
		for k := range x[0] {
			for c := range x {
				all = append(all, x[c][k])
			}
		}
	}
	return all
}

// TestReference holds every mode to the reference implementation's output.
func TestReference(t *testing.T) {
	const step = 11 // of the samples kept
	for _, s := range streams {
		t.Run(s.name, func(t *testing.T) {
			got := decode(t, NewDecoder(s.channels), packets(t, s.name))
			want, err := os.ReadFile(filepath.Join("testdata", s.name+".s16"))
			if err != nil {
				t.Fatal(err)
			}
			if n := (len(got) + step - 1) / step; 2*n != len(want) {
				t.Fatalf("got %d samples, want %d", n, len(want)/2)
			}
			worst := 0.0
			for i := 0; 2*i < len(want); i++ {
				w := float64(int16(binary.LittleEndian.Uint16(want[2*i:])))
				worst = max(worst, math.Abs(float64(got[step*i])*32768-w))
			}
			// Half a unit was lost when the reference was rounded, but not of what is whole.
			if allowed := s.loose + 0.5; s.loose > 0 && worst > allowed || s.loose == 0 && worst > 0 {
				t.Errorf("samples differ by up to %.3f of 32768", worst)
			}
		})
	}
}

// TestBadPackets: a packet that is none leaves the decoder as it was.
func TestBadPackets(t *testing.T) {
	for _, s := range streams {
		good := packets(t, s.name)
		d := NewDecoder(s.channels)
		want := decode(t, NewDecoder(s.channels), good)
		var got []float32
		for _, p := range good {
			for _, bad := range []string{"", "\x03", "\xff\x00", "\x02\xff", "\xff\x0d"} {
				if _, err := d.Decode([]byte(bad)); err != ErrPacket {
					t.Fatalf("%q: got %v", bad, err)
				}
			}
			got = append(got, decode(t, d, [][]byte{p})...)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("%s: sample %d is %v, without bad packets %v", s.name, i, got[i], want[i])
			}
		}
	}
}

// TestSilence: before the first frame there is nothing to go on with.
func TestSilence(t *testing.T) {
	for _, toc := range []byte{0x0b << 3, 0x0f << 3, 0x1f << 3} {
		for i, v := range decode(t, NewDecoder(1), [][]byte{{toc}, {toc}}) {
			if v != 0 {
				t.Fatalf("%#x: sample %d is %v", toc, i, v)
			}
		}
	}
}

// FuzzDecode: whatever the packets, as many finite samples come out as their headers say,
// each time the same.
func FuzzDecode(f *testing.F) {
	for _, s := range streams {
		b, err := os.ReadFile(filepath.Join("testdata", s.name+".packets"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b[:min(len(b), 600)], s.channels == 2)
	}
	f.Fuzz(func(t *testing.T, b []byte, stereo bool) {
		channels := 1
		if stereo {
			channels = 2
		}
		d, again := NewDecoder(channels), NewDecoder(channels)
		for total := 0; len(b) > 2 && total < 20*MaxSamples; {
			n := min(int(binary.BigEndian.Uint16(b)), len(b)-2)
			p := b[2 : 2+n]
			b = b[2+n:]
			x, err := d.Decode(p)
			y, err2 := again.Decode(p)
			if err != err2 || len(x) != len(y) {
				t.Fatalf("got %v, then %v", err, err2)
			}
			if err != nil {
				continue
			}
			_, frames, _ := split(nil, p)
			if want := len(frames) * readHeader(p[0]).samples; len(x) != channels || len(x[0]) != want {
				t.Fatalf("got %d channels, want %d of %d samples", len(x), channels, want)
			}
			total += len(x[0])
			for c := range x {
				for i, v := range x[c] {
					if v-v != 0 {
						t.Fatalf("sample %d is %v", i, v)
					}
					if v != y[c][i] {
						t.Fatalf("sample %d is %v, then %v", i, v, y[c][i])
					}
				}
			}
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	for _, s := range streams {
		b.Run(s.name, func(b *testing.B) {
			all := packets(b, s.name)
			samples := 0
			for b.Loop() {
				d := NewDecoder(s.channels)
				for _, p := range all {
					x, err := d.Decode(p)
					if err != nil {
						b.Fatal(err)
					}
					samples += len(x[0])
				}
			}
			b.ReportMetric(float64(samples)/48000/b.Elapsed().Seconds(), "audio-s/s")
		})
	}
}

func ExampleDecoder() {
	d := NewDecoder(2)
	x, err := d.Decode([]byte{0x1f << 3}) // a frame that was not sent, 20 ms of CELT
	fmt.Println(len(x), len(x[0]), err)
	// Output: 2 960 <nil>
}
