package cpu

import (
	"slices"
	"sync"
	"testing"

	"hark/engine"
)

// decoder is a small decoder layer with an encoder's attention before it: every operation once, for
// tests that are about all of them.
type decoder struct {
	d                       *Device
	qkv, out, q, kv, vocab  engine.Linear
	stem                    engine.Conv
	norm                    engine.Norm
	table                   engine.Table
	mask                    engine.Mask
	cache                   engine.Cache
	cross                   engine.Cross
	x, conv, wide, att, seq engine.Tensor
	dec, decWide, decAtt    engine.Tensor
	logits                  engine.Tensor
	sound                   []float32
	lens, convLens          []int
	ids, positions, slots   []int32
	rows                    []engine.CacheRow
	rules                   []engine.Rule
	to, from                []int32
	copies                  []int
}

const (
	testWidth, testHeads, testVocab = 32, 2, 700
	testRows                        = 3 // of the decoder
)

func newDecoder(d *Device) *decoder {
	r := rng()
	lin := func(n, k int) engine.Linear { return must(d.NewLinear(random(r, n, k).flat(), nil, n, k)) }
	dense := func(rows, cols int) engine.Tensor { return engine.NewTensor(must(d.Alloc(rows*cols)), rows, cols) }
	const w = testWidth
	g := &decoder{
		d: d, qkv: lin(3*w, w), out: lin(w, w), q: lin(w, w), kv: lin(2*w, w), vocab: lin(testVocab, w),
		stem:  must(d.NewConv(random(r, w, w*3).flat(), random(r, 1, w).flat(), w, w, 3, 2)),
		norm:  must(d.NewNorm(random(r, 1, w).flat(), random(r, 1, w).flat(), 1e-5)),
		table: must(d.NewTable(random(r, 60, w).flat(), 60, w)),
		mask:  must(d.NewMask([]int32{1, 2, 3}, testVocab)),
		cache: must(d.NewCache(1, testRows, 10, w)),
		cross: must(d.NewCross(1, 2, 60, w, testHeads)),
		lens:  []int{100, 31}, convLens: []int{50, 16},
		x: dense(131, w), conv: dense(66, w), wide: dense(66, 3*w), att: dense(66, w), seq: dense(66, 2*w),
		dec: dense(testRows, w), decWide: dense(testRows, 3*w), decAtt: dense(testRows, w), logits: dense(testRows, testVocab),
		sound: random(r, 131, w).flat(),
		ids:   []int32{5, 600, 7}, positions: []int32{0, 0, 0}, slots: []int32{0, 0, 1},
		rows:  []engine.CacheRow{{Slot: 0}, {Slot: 1}, {Slot: 2}},
		rules: make([]engine.Rule, testRows),
		to:    []int32{0, 1, 2}, from: []int32{1, 0, 0}, copies: []int{10, 10, 10},
	}
	for i := range g.rules {
		g.rules[i] = engine.Rule{Mask: g.mask, MassFrom: 650}
	}
	return g
}

// run does everything but what returns something, and leaves logits.
func (g *decoder) run() {
	d, none := g.d, engine.Tensor{}
	d.Upload(g.x, g.sound)
	d.Conv(g.conv, g.x, g.lens, g.stem, engine.GELU)
	d.AddPositions(g.conv, g.convLens, g.table)
	d.LayerNorm(g.conv, g.conv, g.norm)
	d.Linear(g.wide, g.conv, g.qkv, engine.NoActivation, none)
	d.Attention(g.att, g.wide, g.convLens, testHeads, 0)
	d.Linear(g.conv, g.att, g.out, engine.NoActivation, g.conv)
	d.Linear(g.seq, g.conv, g.kv, engine.NoActivation, none)
	d.StoreCross(g.cross, 0, 0, g.seq.Slice(0, 50))
	d.StoreCross(g.cross, 0, 1, g.seq.Slice(50, 66))
	d.Embed(g.dec, g.vocab, g.ids, g.table, g.positions)
	d.Linear(g.decWide, g.dec, g.qkv, engine.NoActivation, none)
	d.CachedAttention(g.decAtt, g.decWide, g.cache, 0, testHeads, g.rows)
	d.Linear(g.dec, g.decAtt, g.out, engine.NoActivation, g.dec)
	d.NormLinear(g.decAtt, g.decWide.Columns(0, testWidth), g.dec, g.norm, g.q, engine.NoActivation)
	d.CrossAttention(g.decWide.Columns(0, testWidth), g.decAtt, g.cross, 0, g.slots, none, nil)
	d.Gather(g.dec, g.decWide.Columns(0, testWidth), g.positions)
	d.CopySlots(g.cache, g.to, g.from, g.copies)
	d.Linear(g.logits, g.decWide.Columns(0, testWidth), g.vocab, engine.NoActivation, none)
}

// TestShared runs the same on one device from several goroutines, each with buffers of its own.
func TestShared(t *testing.T) {
	d := newDevice(t, 2)
	result := func(g *decoder) ([]float32, []float32, engine.Choice) {
		g.run()
		logits := make([]float32, testRows*testVocab)
		if err := d.Download(logits, g.logits); err != nil {
			panic(err)
		}
		probs := must(d.TokenProbs(g.logits, []int32{0, 1, 2}, []int32{1, 2, 3}, 600))
		return logits, probs, must(d.Select(g.logits, g.rules, 5))[1]
	}
	wantLogits, wantProbs, wantChoice := result(newDecoder(d))
	var group sync.WaitGroup
	for range 3 {
		g := newDecoder(d)
		group.Go(func() {
			for range 30 {
				logits, probs, choice := result(g)
				if !slices.Equal(logits, wantLogits) || !slices.Equal(probs, wantProbs) ||
					!slices.Equal(choice.IDs, wantChoice.IDs) || !slices.Equal(choice.LogProbs, wantChoice.LogProbs) {
					t.Error("not the same as alone")
					return
				}
			}
		})
	}
	group.Wait()
}

func TestThreadsRefused(t *testing.T) {
	for _, threads := range []int{-1, MaxThreads + 1} {
		if d, err := New(Config{Threads: threads}); err == nil {
			d.Close()
			t.Errorf("a device of %d threads was made", threads)
		}
	}
}

// TestThreadsAgree holds all operations to the same bits on any number of threads.
func TestThreadsAgree(t *testing.T) {
	var want []float32
	onDevices(t, func(t *testing.T, d *Device) {
		g := newDecoder(d)
		g.run()
		got := make([]float32, testRows*testVocab)
		if err := d.Download(got, g.logits); err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = got
		}
		if !slices.Equal(got, want) {
			t.Error("not the same on another number of threads")
		}
	})
}
