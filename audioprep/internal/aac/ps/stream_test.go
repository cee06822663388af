package ps_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"hark/audioprep/internal/aac"
	"hark/audioprep/internal/aac/ps"
)

// No encoder at hand writes phases or 34 bands. writer writes them, at random.
type writer struct {
	b   []byte
	bit int
	rng *rand.Rand
}

func (w *writer) put(v, n int) {
	for i := n - 1; i >= 0; i-- {
		if w.bit%8 == 0 {
			w.b = append(w.b, 0)
		}
		w.b[w.bit/8] |= byte(v>>i&1) << (7 - w.bit%8)
		w.bit++
	}
}

// code puts the code word of a difference, given the leaves of its tree.
func (w *writer) code(leaves string, difference int) {
	digit := func(c byte) int {
		if c >= 'a' {
			return int(c-'a') + 10
		}
		return int(c - '0')
	}
	at := uint64(0)
	for i := 0; i < len(leaves); i += 3 {
		n := digit(leaves[i])
		if digit(leaves[i+1])<<4|digit(leaves[i+2]) == difference+64 {
			w.put(int(at>>(32-n)), n)
			return
		}
		at += 1 << (32 - n)
	}
	panic(fmt.Sprintf("no code for %d", difference))
}

// form is what a test stream uses.
type form struct {
	iid, icc int // modes; -1: none
	phases   bool
	borders  bool // written
}

var bandCounts = [6]int{10, 20, 34, 10, 20, 34}

// payload writes ps_data of one packet. last keeps the values of the packet before.
func (f form) payload(w *writer, last *[4][34]int) {
	w.put(1, 1)
	for _, mode := range [2]int{f.iid, f.icc} {
		if mode < 0 {
			w.put(0, 1)
		} else {
			w.put(1, 1)
			w.put(mode, 3)
		}
	}
	w.put(index(f.phases), 1)
	envelopes := [4]int{0, 1, 2, 4}
	n := w.rng.IntN(4)
	w.put(index(f.borders), 1)
	w.put(n, 2)
	count := envelopes[n]
	if f.borders {
		count = n + 1
		for e := range count {
			w.put(7*(e+1)+w.rng.IntN(4), 5)
		}
	}
	if f.iid >= 0 {
		fine := index(f.iid > 2)
		for range count {
			w.row(&last[0], bandCounts[f.iid], [2]string{ps.IIDLeaves[fine], ps.IIDTime[fine]}, -7-8*fine, 7+8*fine, false)
		}
	}
	if f.icc >= 0 {
		for range count {
			w.row(&last[1], bandCounts[f.icc], ps.ICCLeaves, 0, 7, false)
		}
	}
	if !f.phases {
		return
	}
	// The extension stands in whole bytes.
	ext := &writer{rng: w.rng}
	ext.put(0, 2)
	ext.put(1, 1)
	bands := [6]int{5, 11, 17, 5, 11, 17}[f.iid]
	for range count {
		ext.row(&last[2], bands, ps.IPDLeaves, 0, 7, true)
		ext.row(&last[3], bands, ps.OPDLeaves, 0, 7, true)
	}
	ext.put(0, 1)
	if len(ext.b) < 15 {
		w.put(len(ext.b), 4)
	} else {
		w.put(15, 4)
		w.put(len(ext.b)-15, 8)
	}
	for _, b := range ext.b {
		w.put(int(b), 8)
	}
}

// row writes random values between least and most; of many bands those in the middle, since a
// fill element has but 269 bytes.
func (w *writer) row(last *[34]int, bands int, leaves [2]string, least, most int, phase bool) {
	along := w.rng.IntN(2)
	w.put(along, 1)
	before := 0
	if bands > 20 {
		least, most = least+(most-least)*3/8, most-(most-least)*3/8
	}
	for b := range bands {
		v := least + w.rng.IntN(most-least+1)
		if phase && (b < 3 || b == 10) {
			v = 0 // ffmpeg turns bands of negative frequency the wrong way between envelopes
		}
		if along == 1 {
			before = last[b]
		}
		d := v - before
		if phase {
			d &= 7
		}
		w.code(leaves[along], d)
		before, last[b] = v, v
	}
	clear(last[bands:])
}

func index(b bool) int {
	if b {
		return 1
	}
	return 0
}

// stream makes HE-AAC v2 of AAC-LC of one channel of 16 kHz.
func (f form) stream(t *testing.T, core []byte, seed uint64) (out []byte) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, seed))
	var last [4][34]int
	for len(core) > 0 {
		h, ok := aac.ParseADTS(core)
		if !ok {
			t.Fatal("no frame")
		}
		// SBR with a header, one envelope of equal levels, and the payload behind it.
		p := &writer{rng: rng}
		p.put(13, 4)
		p.put(1, 1)
		p.put(0b1_0101_1001_000_00_00, 16) // header: from band 5 to 9
		p.put(0, 1+2+2)                    // nothing reserved, one envelope
		p.put(0, 1+2)                      // of low resolution, differences upwards
		p.put(0, 2*noiseBands)
		p.put(40, 7)
		p.put(0, 2*(lowBands-1))
		p.put(10, 5)
		p.put(0, noiseBands-1)
		p.put(0, 1)
		p.put(1, 1)
		e := &writer{rng: rng}
		e.put(2, 2)
		f.payload(e, &last)
		if len(e.b) < 15 {
			p.put(len(e.b), 4)
		} else {
			p.put(15, 4)
			p.put(len(e.b)-15, 8)
		}
		for _, b := range e.b {
			p.put(int(b), 8)
		}
		out = append(out, withFill(core[:h.Bytes], h.HeaderBytes, p.b)...)
		core = core[h.Bytes:]
	}
	return out
}

// noiseBands and lowBands are what the header above makes.
const (
	noiseBands = 3
	lowBands   = 7
)

// withFill puts a fill element before the others' end, which the packet's last three set bits
// are.
func withFill(frame []byte, head int, body []byte) []byte {
	end := 8 * len(frame)
	for frame[(end-1)/8]>>(7-(end-1)%8)&1 == 0 {
		end--
	}
	w := &writer{}
	for i := range end - 3 {
		w.put(int(frame[i/8]>>(7-i%8)&1), 1)
	}
	w.put(6, 3)
	if len(body) < 15 {
		w.put(len(body), 4)
	} else {
		w.put(15, 4)
		w.put(len(body)-14, 8)
	}
	for _, b := range body {
		w.put(int(b), 8)
	}
	w.put(7, 3)
	n := len(w.b)
	w.b[3] = w.b[3]&^3 | byte(n>>11)
	w.b[4], w.b[5] = byte(n>>3), w.b[5]&31|byte(n<<5)
	return w.b
}

// TestForms holds every form of parametric stereo to ffmpeg.
func TestForms(t *testing.T) {
	ffmpeg, err := exec.LookPath("ffmpeg")
	if err != nil {
		t.Skip("no ffmpeg on PATH: nothing to compare with")
	}
	core, err := os.ReadFile(filepath.Join("..", "testdata", "16000-mono.aac"))
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range []form{
		{0, 0, false, false}, {1, 1, false, false}, {2, 2, false, false}, {3, 3, false, true}, {4, 4, false, true}, {5, 5, false, true},
		{0, -1, false, true}, {-1, 4, false, false}, {1, 2, false, false}, {2, 0, false, true}, {5, 3, false, true},
		{0, 0, true, false}, {4, 1, true, true}, {5, 5, true, true}, {2, -1, true, true},
	} {
		stream := f.stream(t, core, uint64(i))
		name := filepath.Join(t.TempDir(), "x.aac")
		if err := os.WriteFile(name, stream, 0o600); err != nil {
			t.Fatal(err)
		}
		raw, err := exec.Command(ffmpeg, "-v", "error", "-i", name, "-f", "f32le", "-").Output()
		if err != nil {
			t.Fatal(err)
		}
		got := decode(t, stream)
		if len(got) != len(raw)/4 {
			t.Errorf("%+v: got %d samples, ffmpeg %d", f, len(got), len(raw)/4)
			continue
		}
		var signal, wrong [2]float64
		for i, v := range got {
			want := float64(math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:])))
			signal[i%2] += want * want
			wrong[i%2] += (float64(v) - want) * (float64(v) - want)
		}
		for c := range 2 {
			db := 10 * math.Log10(signal[c]/(wrong[c]+1e-30))
			// Both compute with 24 bits.
			if db < 100 {
				t.Errorf("%+v: channel %d: %.1f dB", f, c, db)
			}
		}
	}
}

func decode(t *testing.T, stream []byte) (samples []float32) {
	t.Helper()
	var d *aac.Decoder
	var cfg aac.Config
	for len(stream) > 0 {
		h, ok := aac.ParseADTS(stream)
		if !ok {
			t.Fatal("no frame")
		}
		packet := stream[h.HeaderBytes:h.Bytes]
		if d == nil {
			var err error
			if cfg, err = h.Config(stream); err != nil {
				t.Fatal(err)
			}
			if cfg = cfg.Discover(packet); !cfg.PS {
				t.Fatalf("no parametric stereo: %+v", cfg)
			}
			d = aac.NewDecoder(cfg)
		}
		block := make([]float32, cfg.Frame()*cfg.Channels)
		if _, err := d.Decode(block, packet); err != nil {
			t.Fatal(err)
		}
		samples = append(samples, block...)
		stream = stream[h.Bytes:]
	}
	return samples
}
