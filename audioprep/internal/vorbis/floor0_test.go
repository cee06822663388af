package vorbis

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// bitWriter writes a stream with floors of type 0, which nothing else does any more.
type bitWriter struct {
	b   []byte
	bit int
}

func (w *bitWriter) put(v, n int) {
	for i := range n {
		if w.bit%8 == 0 {
			w.b = append(w.b, 0)
		}
		w.b[w.bit/8] |= byte(v>>i&1) << (w.bit % 8)
		w.bit++
	}
}

// book puts a codebook of 2^bits entries with vectors on a lattice of 2^bits values for one
// dimension: least, least+step and so on, each an integer times 2^exponent.
func (w *bitWriter) book(bits, least, step, exponent int) {
	w.put(0x564342, 24)
	w.put(1, 16)
	w.put(1<<bits, 24)
	w.put(0, 2) // in no order, all used
	for range 1 << bits {
		w.put(bits-1, 5)
	}
	w.put(1, 4)
	for _, v := range [2]int{least, step} {
		sign := 0
		if v < 0 {
			v, sign = -v, 1
		}
		w.put(v, 21)
		w.put(exponent+788, 10)
		w.put(sign, 1)
	}
	w.put(7, 4) // 8 bits a value
	w.put(0, 1)
	for i := range 1 << bits {
		w.put(i, 8)
	}
}

// floor0Stream returns the three headers and some audio packets of random floors and lines.
func floor0Stream(order int) [][]byte {
	identification := append([]byte("\x01vorbis\x00\x00\x00\x00\x01"), 0x80, 0x3e, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x86, 1)
	comments := []byte("\x03vorbis\x00\x00\x00\x00\x00\x00\x00\x00\x01")
	s := &bitWriter{}
	s.put(1, 8) // two codebooks
	// Frequencies lie apart by about as much as they would for a flat curve.
	s.book(4, int(64*math.Pi/float64(order+1))-1, 1, -6)
	s.book(3, -4, 1, -2)
	s.put(0, 6+16)
	s.put(0, 6)
	s.put(0, 16) // floor 0
	s.put(order, 8)
	s.put(16000, 16)
	s.put(60, 16)
	s.put(6, 6)
	s.put(100, 8)
	s.put(0, 4)
	s.put(0, 8)
	s.put(0, 6)
	s.put(0, 16) // residue 0: lines 0 to 32 in one class, whose book has the class too
	s.put(0, 24)
	s.put(32, 24)
	s.put(31, 24)
	s.put(0, 6)
	s.put(1, 8)
	s.put(1, 3)
	s.put(0, 1)
	s.put(1, 8)
	s.put(0, 6)
	s.put(0, 16+1+1+2+8+8+8) // mapping 0
	s.put(1, 6)              // a mode for short blocks, one for long ones
	s.put(0, 1+32+8)
	s.put(1, 1)
	s.put(0, 32+8)
	s.put(1, 1)
	packets := [][]byte{identification, comments, append([]byte("\x05vorbis"), s.b...)}
	rng := rand.New(rand.NewPCG(3, uint64(order)))
	before, long, behind := 0, 0, rng.IntN(2)
	for range 60 {
		before, long, behind = long, behind, rng.IntN(2)
		p := &bitWriter{}
		p.put(0, 1)
		p.put(long, 1)
		if long == 1 {
			p.put(before, 1)
			p.put(behind, 1)
		}
		p.put(1+rng.IntN(20), 6)
		p.put(0, 1)
		for range order {
			p.put(rng.IntN(4)<<2, 4) // of the first four values
		}
		p.put(0, 3)
		for range 32 {
			p.put(rng.IntN(8), 3)
		}
		packets = append(packets, p.b)
	}
	return packets
}

// ogg puts every packet in a page.
func ogg(packets [][]byte) (out []byte) {
	position := int64(0)
	for i, p := range packets {
		page := append([]byte("OggS\x00\x00"), make([]byte, 21)...)
		if i == 0 {
			page[5] = 2
		}
		if i > 2 {
			position += 32
		}
		binary.LittleEndian.PutUint64(page[6:], uint64(position))
		binary.LittleEndian.PutUint32(page[18:], uint32(i))
		page[26] = byte(len(p)/255 + 1)
		for range len(p) / 255 {
			page = append(page, 255)
		}
		page = append(append(page, byte(len(p)%255)), p...)
		crc := uint32(0)
		for _, b := range page {
			crc ^= uint32(b) << 24
			for range 8 {
				crc = crc<<1 ^ (crc >> 31 * 0x04c11db7)
			}
		}
		binary.LittleEndian.PutUint32(page[22:], crc)
		out = append(out, page...)
	}
	return out
}

// TestFloor0 holds floors of type 0 to what ffmpeg makes of them.
func TestFloor0(t *testing.T) {
	ffmpeg, err := exec.LookPath("ffmpeg")
	if err != nil {
		t.Skip("no ffmpeg on PATH: nothing to compare with")
	}
	for _, order := range []int{7, 8, 16} {
		p := floor0Stream(order)
		d := newTestDecoder(t, p)
		var got []float32
		for _, b := range p[3:] {
			x, err := d.Decode(b)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, x...)
		}
		path := filepath.Join(t.TempDir(), "x.ogg")
		if err := os.WriteFile(path, ogg(p), 0o600); err != nil {
			t.Fatal(err)
		}
		raw, err := exec.Command(ffmpeg, "-v", "error", "-i", path, "-f", "f32le", "-").Output()
		if err != nil {
			t.Fatal(err)
		}
		var signal, wrong float64
		n := min(len(got), len(raw)/4)
		for i, v := range got[:n] {
			want := float64(math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:])))
			signal += want * want
			wrong += (float64(v) - want) * (float64(v) - want)
		}
		// ffmpeg computes steps and floors with 24 bits.
		db := 10 * math.Log10(signal/(wrong+1e-30))
		if n < 1000 || !(db > 90) {
			t.Errorf("order %d: %d samples of %d, %.1f dB", order, n, len(got), db)
		}
	}
}
