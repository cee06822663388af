//go:build linux && amd64 && !nocuda

package whisper

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"hark/engine"
	"hark/engine/cuda"
	"hark/models"
)

// smallVocabulary is Whisper's vocabulary in small: 30 words, special tokens, and 0.6 s of timestamps.
func smallVocabulary() *vocabulary {
	return &vocabulary{
		size: 80, languages: []string{"en"},
		endOfText: 30, startOfTranscript: 31, firstLanguage: 32, translate: 33, transcribe: 34, startOfLM: 35, startOfPrev: 36,
		noSpeech: 37, noTimestamps: 38, firstTimestamp: 50,
		suppress:      []int32{1, 2, 31, 32, 33, 34, 35, 36, 37, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49},
		suppressFirst: []int32{5, 30},
	}
}

// decoderModel is a tiny model with such a vocabulary, and without an encoder.
func decoderModel(t testing.TB, dev engine.Device) *Model {
	t.Helper()
	dir, v := t.TempDir(), smallVocabulary()
	writeRandomModel(t, dir, 36, v.size)
	weights, err := models.OpenWeights(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer weights.Close()
	config, err := readConfig(dir, weights)
	if err != nil {
		t.Fatal(err)
	}
	m := &Model{config: config, dev: dev, vocabulary: v, mel: engine.NewMel(config.Mels)}
	m.ahead, _ = engine.DeviceAs[engine.AheadDevice](dev)
	l := &loader{dev: dev, weights: weights}
	m.dec = loadDecoder(l, config, cacheSlots, maxBatch, logitRows)
	t.Cleanup(func() { m.Close() })
	if l.err != nil {
		t.Fatal(l.err)
	}
	m.rules = must(newRuleset(dev, v))
	return m
}

// aheadCounter counts what a device does ahead.
type aheadCounter struct {
	engine.AheadDevice
	calls, texts, steps int
}

func (c *aheadCounter) Ahead(texts []engine.Continuation, step func(engine.Device) engine.Tensor, take func([]engine.Choice) bool) error {
	c.calls++
	c.texts = max(c.texts, len(texts))
	return c.AheadDevice.Ahead(texts, step, func(choices []engine.Choice) bool {
		c.steps++
		return take(choices)
	})
}

// hearing is what a job's window is to be decoded with.
type hearing struct {
	options engine.Options
	before  []int32 // text said before
	plain   bool    // without timestamps, at first
}

// hear decodes windows that join and leave a batch of three, after noise in the place of an encoder's output. It
// returns what every try came to, window by window. A limit above zero ends them after as many tokens, and a window
// after a pass.
func hear(t *testing.T, m *Model, list []hearing, limit int) []string {
	t.Helper()
	var waiting []engine.Window
	number, outcomes := map[*chain]int{}, make([]string, len(list))
	for i, h := range list {
		samples := noise(8000, uint64(i)) // 0.5 s
		j := must(m.NewJob(samples, whole(samples), h.options)).(*job)
		j.language, j.chains[0].language = "en", "en"
		j.chains[0].written = slices.Clone(h.before)
		number[j.chains[0]] = i
		w := j.Next(1)[0].(*window)
		w.whole = limit == 0
		waiting = append(waiting, w)
	}
	s := &session{m: m, windows: []int32{0, 1, 2}, slots: []int32{0, 1, 2, 3, 4, 5}}
	s.more = func(free int) []engine.Window {
		n := min(1, len(waiting))
		joining := waiting[:n]
		waiting = waiting[n:]
		return joining
	}
	s.done = func(_ engine.Window, err error) {
		if err != nil {
			t.Error(err)
		}
	}
	positions := engine.NewTensor(must(m.dev.Alloc(32*m.config.Width)), 32, m.config.Width)
	defer m.dev.Free(positions.Buf)
	begin := func(p *place) {
		i := number[p.chain]
		m.dev.Upload(positions, noise(32*m.config.Width, uint64(1000*i+p.chain.seek)))
		m.dec.listen(p.window, positions, wholeView)
		p.encoded, p.rung, p.frames = true, 0, framesPerWindow
		s.begin(p)
		p.search.timestamps = !list[i].plain
		if limit > 0 {
			p.search.limit = limit + i
		}
	}
	for s.admit(); len(s.active) > 0; s.admit() {
		searches := map[*place]*search{}
		for _, p := range s.active {
			if !p.encoded {
				begin(p)
			}
			searches[p] = p.search
		}
		if err := s.step(context.Background()); err != nil {
			t.Fatal(err)
		}
		for p, search := range searches {
			if p.search != search {
				outcomes[number[p.chain]] += fmt.Sprintf("%+v\n", search.outcome())
			}
		}
		s.leave()
	}
	return outcomes
}

// checkAhead holds windows that the GPU decodes ahead of the host to the same step by step.
func checkAhead(t *testing.T, m *Model, list []hearing, limit int) {
	t.Helper()
	counter := &aheadCounter{AheadDevice: m.ahead}
	m.ahead = counter
	got := hear(t, m, list, limit)
	m.ahead = nil
	want := hear(t, m, list, limit)
	m.ahead = counter.AheadDevice
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("window %d:\nahead\n%sstep by step\n%s", i, got[i], want[i])
		}
	}
	if counter.steps < 12 || counter.texts < 2 {
		t.Errorf("%d times ahead with up to %d texts, %d steps", counter.calls, counter.texts, counter.steps)
	}
	t.Logf("%d times ahead with up to %d texts, %d steps; the last came to\n%s", counter.calls, counter.texts, counter.steps, want[len(want)-1])
}

// TestGPUAhead: windows that the GPU decodes ahead of the host, while others join and leave, come to what they come
// to step by step: at any temperature, after any text, with timestamps and without, and beside a beam.
func TestGPUAhead(t *testing.T) {
	at := func(temperatures ...float32) engine.Options { return engine.Options{Temperatures: temperatures} }
	list := []hearing{
		{options: at(0)}, {options: at(0, 0.4, 1), before: []int32{3, 4}}, {options: at(1)}, {options: engine.Options{Temperatures: []float32{0}, BeamSize: 2}},
		{options: at(0), plain: true}, {options: at(0.5), before: []int32{7, 8, 9}},
	}
	for _, storage := range []cuda.Storage{cuda.F16, cuda.BF16} {
		t.Run(storage.String(), func(t *testing.T) {
			checkAhead(t, decoderModel(t, sharedGPU(t, storage)), list, 0)
		})
	}
}

// TestGPUAheadToyTurbo is the same with a decoder of large-v3-turbo's kind.
func TestGPUAheadToyTurbo(t *testing.T) {
	thorough(t)
	at := func(temperature float32) engine.Options { return engine.Options{Temperatures: []float32{temperature}} }
	list := []hearing{{options: at(0)}, {options: at(0.6)}, {options: at(0), before: []int32{1000, 2000, 3000}}, {options: at(1), plain: true}, {options: at(0)}}
	for _, storage := range []cuda.Storage{cuda.F16, cuda.BF16} {
		t.Run(storage.String(), func(t *testing.T) {
			checkAhead(t, toyTurbo(t, sharedGPU(t, storage)), list, 6)
		})
	}
}

// TestGPURulesAhead holds the rules that a GPU makes for itself to those of the host, over random logits after random
// texts.
func TestGPURulesAhead(t *testing.T) {
	dev := sharedGPU(t, cuda.F16)
	v := smallVocabulary()
	rules := must(newRuleset(dev, v))
	const steps, texts, rounds = 12, 24, 8
	buf := must(dev.AllocSingle(steps * texts * v.size))
	r := rand.New(rand.NewPCG(3, 4))
	logits := engine.NewTensor(buf, steps*texts, v.size)
	for range rounds {
		dev.Upload(logits, randomLogits(r, steps*texts, v))
		var searches []*search
		var list []engine.Continuation
		for i := range texts {
			s := newSearch(rules, []int32{v.startOfTranscript}, i%4 > 0, float32(i%3)/2, 1, []int32{int32(i)}, 40)
			s.live[0].written, s.limit = randomText(r, v), 6+r.IntN(14)
			searches, list = append(searches, s), append(list, s.continuation())
		}
		var ahead [][]engine.Choice
		queued := 0
		err := dev.Ahead(list, func(engine.Device) engine.Tensor {
			queued++
			return logits.Slice((queued-1)*texts, queued*texts)
		}, func(choices []engine.Choice) bool {
			ahead = append(ahead, choices)
			return queued < steps
		})
		if err != nil {
			t.Fatal(err)
		}
		ended := make([]bool, texts)
		for n, choices := range ahead {
			var asked []engine.Rule
			for i, s := range searches {
				if ended[i] {
					s.live = []hypothesis{{written: []int32{0}}} // any rule will do
				}
				asked = s.rule(asked)
			}
			chosen := must(dev.Select(logits.Slice(n*texts, (n+1)*texts), asked, 1))
			for i, s := range searches {
				if ended[i] {
					continue
				}
				if g, w := fmt.Sprint(choices[i]), fmt.Sprint(chosen[i]); g != w {
					t.Fatalf("step %d after %v: got %s, want %s", n, s.live[0].written, g, w)
				}
				ended[i] = s.advanceOne(chosen[i])
			}
		}
	}
}

// randomLogits are rows in which words, timestamps and the end have a fair chance each.
func randomLogits(r *rand.Rand, rows int, v *vocabulary) []float32 {
	x := make([]float32, rows*v.size)
	for i := range x {
		x[i] = float32(r.NormFloat64()) * 2
		if id := int32(i % v.size); v.isTimestamp(id) {
			x[i] -= float32(r.IntN(3))
		} else if id == v.endOfText {
			x[i] += float32(r.IntN(4))
		}
	}
	return x
}

// randomText is one to five tokens, of which the rules need not have allowed every one.
func randomText(r *rand.Rand, v *vocabulary) []int32 {
	var ids []int32
	for range 1 + r.IntN(5) {
		id := r.Int32N(v.endOfText)
		if r.IntN(2) == 0 {
			id = v.firstTimestamp + r.Int32N(int32(v.size)-v.firstTimestamp)
		}
		ids = append(ids, id)
	}
	return ids
}
