//go:build linux && amd64 && !nocuda

package cuda

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"hark/engine"
	"hark/engine/cuda/driver"
	"hark/engine/cuda/emu"
)

// What a beamDecoder has room for.
const (
	beamWidth, beamHeads    = 16, 2
	beamSlots, beamWindows  = 9, 4
	beamLength, beamHearing = 24, 70 // positions of a slot and of a window
	beamWords               = 11
)

// beamDecoder is a layer of a decoder on a device: as little as has caches, beams and windows in it.
type beamDecoder struct {
	d         *Device
	words     engine.Tensor // [words][3D], what each becomes as query, key and value
	heard     engine.Tensor // [words*hearing][2D], what windows may listen to
	out       engine.Linear
	cache     engine.Cache
	cross     engine.Cross
	qkv, x, y engine.Tensor
}

func newBeamDecoder(d *Device) *beamDecoder {
	r := rand.New(rand.NewPCG(3, 4))
	filled := func(rows, cols int) engine.Tensor {
		t, values := engine.NewTensor(must(d.Alloc(rows*cols)), rows, cols), make([]float32, rows*cols)
		for i := range values {
			values[i] = float32(r.NormFloat64())
		}
		d.Upload(t, values)
		return t
	}
	w := make([]float32, beamWidth*beamWidth)
	for i := range w {
		w[i] = float32(r.NormFloat64()) / 4
	}
	return &beamDecoder{
		d: d, words: filled(beamWords, 3*beamWidth), heard: filled(beamWords*beamHearing, 2*beamWidth),
		out:   must(d.NewLinear(w, nil, beamWidth, beamWidth)),
		cache: must(d.NewCache(1, beamSlots, beamLength, beamWidth)), cross: must(d.NewCross(1, beamWindows, beamHearing, beamWidth, beamHeads)),
		qkv: filled(beamSlots, 3*beamWidth), x: filled(beamSlots, beamWidth), y: filled(beamSlots, beamWidth),
	}
}

// step runs rows, each a word at a place of the cache and a window, and returns what comes out of them.
func (b *beamDecoder) step(t *testing.T, words []int32, rows []engine.CacheRow, windows []int32) []float32 {
	t.Helper()
	n, none := len(rows), engine.Tensor{}
	x, y := b.x.Slice(0, n), b.y.Slice(0, n)
	b.d.Gather(b.qkv.Slice(0, n), b.words, words)
	b.d.CachedAttention(x, b.qkv.Slice(0, n), b.cache, 0, beamHeads, rows)
	b.d.Linear(y, x, b.out, engine.NoActivation, none)
	b.d.CrossAttention(x, y, b.cross, 0, windows, none, nil)
	b.d.Linear(y, x, b.out, engine.NoActivation, y)
	got := make([]float32, n*beamWidth)
	if err := b.d.Download(got, y); err != nil {
		t.Fatal(err)
	}
	return got
}

// beamWindow is a window that is being decoded: where its hypotheses have their places, all of one length.
type beamWindow struct {
	slot   int32 // of the cross-attention
	slots  []int32
	length int32
}

// TestGraphsFollowBeams decodes windows that join and leave at random between steps, with beams that
// fork, once with graphs and once without: a graph that were replayed with the slots, lengths or windows
// it was recorded with would give other numbers.
func TestGraphsFollowBeams(t *testing.T) {
	graphed, gpu := emulated(t, Config{})
	plain, _ := emulated(t, Config{NoGraphs: true})
	both := []*beamDecoder{newBeamDecoder(graphed), newBeamDecoder(plain)}
	r := rand.New(rand.NewPCG(5, 6))
	freeSlots, freeWindows := []int32{0, 1, 2, 3, 4, 5, 6, 7, 8}, []int32{0, 1, 2, 3}
	shuffle := func(s []int32) { r.Shuffle(len(s), func(i, j int) { s[i], s[j] = s[j], s[i] }) }
	var active []*beamWindow
	for step := range 120 {
		if beam := 1 + r.IntN(3); len(freeWindows) > 0 && len(freeSlots) >= beam && r.IntN(3) == 0 { // one joins
			shuffle(freeSlots)
			shuffle(freeWindows)
			w := &beamWindow{slot: freeWindows[0], slots: slices.Clone(freeSlots[:beam])}
			freeWindows, freeSlots = freeWindows[1:], freeSlots[beam:]
			active = append(active, w)
			from, length := r.IntN(beamWords)*beamHearing, 1+r.IntN(beamHearing)
			for _, b := range both {
				b.d.StoreCross(b.cross, 0, int(w.slot), b.heard.Slice(from, from+length))
			}
		}
		var words, windows []int32
		var rows []engine.CacheRow
		for _, w := range active {
			for _, s := range w.slots {
				words, windows = append(words, int32(r.IntN(beamWords))), append(windows, w.slot)
				rows = append(rows, engine.CacheRow{Slot: s, Position: w.length})
			}
			w.length++
		}
		if got, want := both[0].step(t, words, rows, windows), both[1].step(t, words, rows, windows); !slices.Equal(got, want) {
			t.Fatalf("step %d: rows %v of windows %v come out otherwise with graphs", step, rows, windows)
		}
		var to, from []int32
		var lengths []int
		for _, w := range active { // beams fork
			for _, s := range w.slots {
				if source := w.slots[r.IntN(len(w.slots))]; source != s {
					to, from, lengths = append(to, s), append(from, source), append(lengths, int(w.length))
				}
			}
		}
		for _, b := range both {
			b.d.CopySlots(b.cache, to, from, lengths)
		}
		active = slices.DeleteFunc(active, func(w *beamWindow) bool {
			leaves := w.length == beamLength || r.IntN(12) == 0
			if leaves {
				freeSlots, freeWindows = append(freeSlots, w.slots...), append(freeWindows, w.slot)
			}
			return leaves
		})
	}
	if c := gpu.Counts(); c.GraphLaunches < 40 {
		t.Errorf("only %d steps were replayed, of %d recorded", c.GraphLaunches, c.Captures)
	}
}

// TestTuring: a GPU of compute capability 7.5 gets kernels of its own, which ask for no more shared memory
// than it has, and refuses bf16. What they compute is held to the reference by make test-cuda, on an
// emulated GPU whose primitives are Turing's.
func TestTuring(t *testing.T) {
	gpu := emu.New(t)
	gpu.Set("CAPABILITY", 75)
	c := Config{Driver: driver.Config{Library: gpu.Library}, CuBLAS: "off"}
	turing, ada := open(t, c), newDevice(t, Config{})
	for _, m := range []int{1, 40, 300} {
		for _, k := range []int{36, 64} { // that can't be copied as it is, and that can
			if got, want := productOn(t, turing, m, 72, k, true, true, engine.SiLU), productOn(t, ada, m, 72, k, true, true, engine.SiLU); !slices.Equal(got, want) {
				t.Errorf("a product of %d x 72 x %d comes out otherwise", m, k)
			}
		}
	}
	words, windows := []int32{1, 2}, []int32{0, 0}
	rows := []engine.CacheRow{{Slot: 0}, {Slot: 1}}
	both := []*beamDecoder{newBeamDecoder(turing), newBeamDecoder(ada)}
	for _, b := range both {
		b.d.StoreCross(b.cross, 0, 0, b.heard.Slice(0, beamHearing))
	}
	if got, want := both[0].step(t, words, rows, windows), both[1].step(t, words, rows, windows); !slices.Equal(got, want) {
		t.Error("a decoder's step comes out otherwise")
	}
	c.Storage = BF16
	if _, err := New(c); !errors.Is(err, driver.ErrUnusable) {
		t.Errorf("bf16: got %v", err)
	}
}
