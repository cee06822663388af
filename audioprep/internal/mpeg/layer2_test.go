package mpeg

import (
	"encoding/binary"
	"fmt"
	"math"
	mathbits "math/bits"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// throughFFmpeg returns what ffmpeg decodes of a stream.
func throughFFmpeg(t *testing.T, name, decoder string) (x []float32) {
	t.Helper()
	ffmpeg, err := exec.LookPath("ffmpeg")
	if err != nil {
		t.Skip("no ffmpeg on PATH: nothing to compare with")
	}
	raw, err := exec.Command(ffmpeg, "-v", "error", "-c:a", decoder, "-i", name, "-f", "f32le", "-").Output()
	if err != nil {
		t.Fatal(err)
	}
	for ; len(raw) >= 4; raw = raw[4:] {
		x = append(x, math.Float32frombits(binary.LittleEndian.Uint32(raw)))
	}
	return x
}

// compare holds what is decoded of a stream to what ffmpeg makes of it.
func compare(t *testing.T, name string, b []byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.mp2")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	channels, h := decodeAll(t, new(Decoder), b)
	want := throughFFmpeg(t, path, fmt.Sprintf("mp%dfloat", h.Layer))
	for c := range h.Channels {
		x := channels[c]
		if len(x) != len(want)/h.Channels {
			t.Errorf("%s: got %d samples, ffmpeg %d", name, len(x), len(want)/h.Channels)
			return
		}
		var signal, wrong float64
		for i, v := range x {
			w := float64(want[i*h.Channels+c])
			signal += w * w
			wrong += (float64(v) - w) * (float64(v) - w)
		}
		// Both compute with 24 bits.
		if db := 10 * math.Log10(signal/(wrong+1e-30)); db < 90 {
			t.Errorf("%s: channel %d: %.1f dB", name, c, db)
		}
	}
}

// TestLayer2 encodes every table of allocations with ffmpeg.
func TestLayer2(t *testing.T) {
	ffmpeg, err := exec.LookPath("ffmpeg")
	if err != nil {
		t.Skip("no ffmpeg on PATH: nothing to compare with")
	}
	const source = "aevalsrc='0.3*sin(2*PI*440*t*(1+t))+0.3*(random(0)-0.5)*lt(mod(t,0.21),0.05)" +
		"|0.2*sin(2*PI*660*t)+0.2*(random(1)-0.5)*lt(mod(t,0.3),0.1)':d=0.5:s="
	for _, c := range [][]string{
		{"48000", "mp2", "1", "64k"}, {"48000", "mp2", "2", "192k"}, {"44100", "mp2", "2", "128k"}, {"44100", "mp2", "1", "192k"},
		{"44100", "mp2", "1", "32k"}, {"32000", "mp2", "1", "48k"}, {"32000", "mp2", "2", "320k"}, {"24000", "mp2", "2", "64k"},
		{"22050", "mp2", "1", "32k"}, {"16000", "mp2", "1", "24k"},
		{"48000", "libtwolame", "2", "96k"}, {"44100", "libtwolame", "2", "64k"}, {"24000", "libtwolame", "2", "32k"},
	} {
		path := filepath.Join(t.TempDir(), "x.mp2")
		args := []string{"-v", "error", "-f", "lavfi", "-i", source + c[0], "-c:a", c[1], "-ac", c[2], "-b:a", c[3]}
		if c[1] == "libtwolame" {
			args = append(args, "-mode", "joint_stereo")
		}
		if out, err := exec.Command(ffmpeg, append(args, path)...).CombinedOutput(); err != nil {
			t.Logf("%v: ffmpeg does not encode it: %s", c, out)
			continue
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		compare(t, fmt.Sprint(c), b)
	}
}

// layer1Stream writes frames of layer I, which no encoder at hand does, with random samples.
func layer1Stream(mode byte) []byte {
	rng := rand.New(rand.NewPCG(2, uint64(mode)))
	var b []byte
	for range 20 {
		frame := make([]byte, 0, 1000)
		bit := 0
		put := func(v, n int) {
			for i := n - 1; i >= 0; i-- {
				if bit%8 == 0 {
					frame = append(frame, 0)
				}
				frame[bit/8] |= byte(v>>i&1) << (7 - bit%8)
				bit++
			}
		}
		put(0xffff, 16)
		put(0xe0, 8) // 448 kbit/s, 44.1 kHz
		put(int(mode), 8)
		channels, own := 2, subbands
		switch mode >> 6 {
		case 3:
			channels = 1
		case 1:
			own = 4 * (int(mode>>4&3) + 1)
		}
		var levels [subbands][2]int
		for sb := range subbands {
			for c := range channels {
				if c == 0 || sb < own {
					levels[sb][c] = rng.IntN(6)
					put(levels[sb][c], 4)
				} else {
					levels[sb][c] = levels[sb][0]
				}
			}
		}
		for sb := range subbands {
			for c := range channels {
				if levels[sb][c] > 0 {
					put(9+rng.IntN(40), 6)
				}
			}
		}
		for range 12 {
			for sb := range subbands {
				for c := range channels {
					if n := levels[sb][c]; n > 0 && (c == 0 || sb < own) {
						put(rng.IntN(1<<(n+1)-1), n+1)
					}
				}
			}
		}
		b = append(b, frame...)
		b = append(b, make([]byte, 484-len(frame))...)
	}
	return b
}

func TestLayer1(t *testing.T) {
	for _, mode := range []byte{0x00, 0x40, 0x50, 0x70, 0xc0} {
		compare(t, fmt.Sprintf("mode %#x", mode), layer1Stream(mode))
	}
}

// TestAllocations: a list has as many levels as the bits that choose one count.
func TestAllocations(t *testing.T) {
	for _, table := range [][]stretch{allocation1, allocationA, allocationB, allocationC, allocationD, allocation2} {
		for _, s := range table {
			if mathbits.OnesCount(uint(len(s.levels))) != 1 {
				t.Errorf("up to subband %d there are %d levels", s.to, len(s.levels))
			}
		}
	}
}

// TestFreeFormat: a frame that does not tell its length decodes as one that does.
func TestFreeFormat(t *testing.T) {
	b, err := os.ReadFile("testdata/44100-mono.mp3")
	if err != nil {
		t.Fatal(err)
	}
	var told, free Decoder
	for len(b) > 0 {
		h, _ := ParseHeader(b)
		frame := append([]byte(nil), b[:h.Bytes]...)
		var want, got [MaxSamples]float32
		_, err := told.Decode(want[:], frame)
		frame[2] &= 0x0f
		f, ok := ParseHeader(frame)
		if !ok || !f.Free() || f.Bytes != 0 || f.WithBytes(h.Unpadded()).Bytes != h.Bytes {
			t.Fatalf("got %+v of %+v", f, h)
		}
		if _, again := free.Decode(got[:], frame); again != err || got != want {
			t.Fatalf("%v and %v, or other samples", again, err)
		}
		b = b[h.Bytes:]
	}
}
