package sbr

import (
	"math"
	"math/rand/v2"
	"testing"

	"hark/audioprep/internal/bits"
)

// TestFilterBanks: what goes through both without SBR comes out at twice the rate, late, and
// clean.
func TestFilterBanks(t *testing.T) {
	const packets = 4
	e := New(16000, 1, false)
	var core [1][CoreFrame]float32
	var got []float32
	tone := func(i, rate int) float64 { return 0.5 * math.Sin(2*math.Pi*3000*float64(i)/float64(rate)) }
	for p := range packets {
		for i := range core[0] {
			core[0][i] = float32(tone(p*CoreFrame+i, 16000))
		}
		block := make([]float32, Frame)
		e.Process(core[:], block, 1)
		got = append(got, block...)
	}
	// The best fit of the tone leaves what the banks add.
	x := got[Frame : 3*Frame]
	var ss, cc, sc, xs, xc, xx float64
	for i, v := range x {
		sin, cos := math.Sincos(2 * math.Pi * 3000 * float64(i) / 32000)
		ss, cc, sc = ss+sin*sin, cc+cos*cos, sc+sin*cos
		xs, xc, xx = xs+float64(v)*sin, xc+float64(v)*cos, xx+float64(v)*float64(v)
	}
	det := ss*cc - sc*sc
	a, b := (xs*cc-xc*sc)/det, (xc*ss-xs*sc)/det
	if size := math.Hypot(a, b); math.Abs(size-0.5) > 0.001 {
		t.Errorf("got a tone of %.4f, want 0.5", size)
	}
	// The window of the banks is that of a filter whose stop band is some 60 dB down.
	if db := 10 * math.Log10((xx-a*xs-b*xc)/xx+1e-20); db > -60 {
		t.Errorf("the rest is at %.1f dB", db)
	}
}

// TestAnalysis holds a column to the sum that defines it.
func TestAnalysis(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var core [CoreFrame]float32
	for i := range core {
		core[i] = rng.Float32() - 0.5
	}
	var s analysisState
	var out [columns][coreBands]complex64
	newAnalysis().run(&s, &core, &out)
	const l = 20
	var u [64]float64
	for n := range analysisLength {
		u[n%64] += float64(core[l*coreBands+coreBands-1-n]) * window[2*n] * fullScale
	}
	for k := range coreBands {
		var re, im float64
		for n, v := range u {
			sin, cos := math.Sincos(math.Pi / 64 * (float64(k) + 0.5) * (2*float64(n) - 0.5))
			re, im = re+2*v*cos, im+2*v*sin
		}
		if d := math.Hypot(float64(real(out[l][k]))-re, float64(imag(out[l][k]))-im); d > 0.05 {
			t.Errorf("band %d: got %v, want %v", k, out[l][k], complex(re, im))
		}
	}
}

// TestSynthesis holds the values before the window to the sum that defines them.
func TestSynthesis(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	var x column
	for k := range x {
		x[k] = complex(rng.Float32()-0.5, rng.Float32()-0.5)
	}
	s := newSynthesis()
	s.transform(&x)
	for n, got := range s.v[s.newest] {
		want := 0.0
		for k, v := range x {
			sin, cos := math.Sincos(math.Pi / 128 * (float64(k) + 0.5) * float64(2*n-255))
			want += float64(real(v))*cos - float64(imag(v))*sin
		}
		if math.Abs(float64(got)-want) > 1e-4 {
			t.Errorf("value %d: got %v, want %v", n, got, want)
		}
	}
}

// TestBands: whatever the header says, tables are in order and within bounds.
func TestBands(t *testing.T) {
	good := 0
	for _, rate := range []int{16000, 22050, 24000, 32000, 44100, 48000, 64000, 88200, 96000} {
		for i := range 16 * 16 * 8 * 4 * 2 {
			p := bandParameters{start: i & 15, stop: i >> 4 & 15, crossover: i >> 8 & 7, scale: i >> 11 & 3, alter: i>>13&1 == 1, noiseBands: 2}
			f, err := newBandTables(rate, p)
			if err != nil {
				continue
			}
			good++
			for limiter := range 4 {
				f.setLimits(limiter)
				for name, table := range map[string][]int{"master": f.master, "high": f.high, "low": f.low, "noise": f.noise, "limits": f.limits} {
					for b := 1; b < len(table); b++ {
						if table[b] < table[b-1] || table[b] == table[b-1] && name != "noise" {
							t.Fatalf("%d Hz, %+v: %s is %v", rate, p, name, table)
						}
					}
					// Limiter bands end with what is copied, which may be a little less.
					end := table[len(table)-1]
					if name != "master" && (table[0] != f.kx || end > f.kx+f.m || name != "limits" && end != f.kx+f.m) {
						t.Fatalf("%d Hz, %+v: %s is %v", rate, p, name, table)
					}
				}
			}
			to := f.kx
			for _, c := range f.patches {
				if c.from < 0 || c.n <= 0 || c.from+c.n > f.k0 {
					t.Fatalf("%d Hz, %+v: patches %v below %d", rate, p, f.patches, f.k0)
				}
				to += c.n
			}
			if f.m > maxBands || to > f.kx+f.m {
				t.Fatalf("%d Hz, %+v: %d bands, patches %v", rate, p, f.m, f.patches)
			}
		}
	}
	if good < 10000 {
		t.Errorf("only %d headers make tables", good)
	}
}

// payload is a header, one envelope and one noise floor, as few bits as can be.
var payload = []byte{0x59, 0x90 | 0x0a, 0x80, 0x00, 0x05, 0x00, 0x00, 0x14, 0x00, 0x00, 0x00}

// FuzzRead: no payload makes a panic, numbers that are none, or samples beyond all measure.
func FuzzRead(f *testing.F) {
	f.Add(uint8(0), payload, payload)
	f.Add(uint8(1), payload, []byte{0x00, 0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0, 0x11, 0x22, 0x33})
	f.Add(uint8(2), append([]byte{0xd9, 0x90, 0x0a}, payload...), []byte{0x40, 0x00})
	f.Fuzz(func(t *testing.T, form uint8, one, two []byte) {
		e := New([]int{8000, 16000, 22050, 24000, 48000}[int(form>>2)%5], int(form&1)+1, form&2 != 0)
		core := make([][CoreFrame]float32, len(e.ch))
		rng := rand.New(rand.NewPCG(1, 4))
		out := make([]float32, Frame*e.Outputs())
		for _, b := range [][]byte{one, two, one, two} {
			for c := range core {
				for i := range core[c] {
					core[c][i] = rng.Float32() - 0.5
				}
			}
			r, _ := bits.Padded(nil, b)
			_ = e.Read(r, false)
			e.Process(core, out, e.Outputs())
			for i, v := range out {
				if math.IsNaN(float64(v)) {
					t.Fatalf("sample %d is not a number", i)
				}
			}
		}
	})
}
