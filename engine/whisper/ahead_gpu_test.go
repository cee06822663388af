//go:build linux && amd64 && !nocuda

package whisper

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"hark/engine"
	"hark/engine/cuda"
	"hark/models"
)

// aheadVocabulary is Whisper's vocabulary in small: ASCII, of which only letters are written, special tokens, and 0.6 s of timestamps.
func aheadVocabulary(t testing.TB, dir string) *vocabulary {
	t.Helper()
	tokenizer, err := models.LoadTokenizer(filepath.Join(dir, "tokenizer.json"))
	if err != nil {
		t.Fatal(err)
	}
	v := &vocabulary{
		size: 170, languages: []string{"en"}, tokenizer: tokenizer,
		endOfText: 128, startOfTranscript: 129, firstLanguage: 130, translate: 131, transcribe: 132, startOfLM: 133, startOfPrev: 134,
		noSpeech: 135, noTimestamps: 136, firstTimestamp: 140, suppressFirst: []int32{'e', 128},
	}
	for id := range v.firstTimestamp {
		if (id < 'a' || id > 'z') && id != v.endOfText && id != v.noTimestamps {
			v.suppress = append(v.suppress, id)
		}
	}
	return v
}

// aheadModel is a tiny model with such a vocabulary, and without an encoder.
func aheadModel(t testing.TB, dev engine.Device) *Model {
	t.Helper()
	dir := t.TempDir()
	v := aheadVocabulary(t, writeAheadModel(t, dir))
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
	if l.err != nil {
		t.Fatal(l.err)
	}
	if m.rules, err = newRuleset(dev, v); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

func writeAheadModel(t testing.TB, dir string) string {
	t.Helper()
	writeRandomModel(t, dir, 36, 170)
	return dir
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

// hear decodes windows that join and leave a batch of at most three, after noise in the place of an encoder's output. It returns the jobs' results.
func hear(t *testing.T, m *Model, options []engine.Options, before []int32) []string {
	t.Helper()
	var jobs []engine.Job
	var waiting []engine.Window
	for i, o := range options {
		o.LogProbs = true
		samples := noise(8000, uint64(i)) // 0.5 s
		j, err := m.NewJob(samples, whole(samples), o)
		if err != nil {
			t.Fatal(err)
		}
		j.(*job).chains[0].written = slices.Clone(before[:i%(len(before)+1)])
		jobs, waiting = append(jobs, j), append(waiting, j.Next(1)...)
	}
	s := &session{m: m, windows: []int32{0, 1, 2}, slots: []int32{0, 1, 2, 3, 4, 5}}
	s.more = func(free int) []engine.Window {
		n := min(1, len(waiting)) // one by one, so that they begin at different steps
		joining := waiting[:n]
		waiting = waiting[n:]
		return joining
	}
	s.done = func(_ engine.Window, err error) {
		if err != nil {
			t.Error(err)
		}
	}
	buf, err := m.dev.Alloc(32 * m.config.Width)
	if err != nil {
		t.Fatal(err)
	}
	positions := engine.NewTensor(buf, 32, m.config.Width)
	defer m.dev.Free(buf)
	for {
		s.admit()
		if len(s.active) == 0 {
			break
		}
		for _, p := range s.active {
			if !p.encoded {
				m.dev.Upload(positions, noise(positions.Rows*positions.Cols, uint64(slices.Index(jobs, engine.Job(p.chain.job))*1000+p.chain.seek)))
				m.dec.listen(p.window, positions)
				p.encoded, p.rung, p.frames = true, 0, framesPerWindow
				s.begin(p)
			}
		}
		if err := s.step(context.Background()); err != nil {
			t.Fatal(err)
		}
		s.leave()
	}
	var results []string
	for _, j := range jobs {
		results = append(results, toJSON(t, j.Result()))
	}
	return results
}

// TestGPUAhead: windows that the GPU decodes ahead of the host, while others join and leave, hear what they hear step by step, at any
// temperature, after any text, and beside a beam.
func TestGPUAhead(t *testing.T) {
	for _, storage := range []cuda.Storage{cuda.F16, cuda.BF16} {
		t.Run(storage.String(), func(t *testing.T) {
			m := aheadModel(t, sharedGPU(t, storage))
			options := []engine.Options{
				{Temperatures: []float32{0}}, {Temperatures: []float32{0, 0.4, 1}}, {Temperatures: []float32{1}}, {Temperatures: []float32{0}, BeamSize: 2},
				{}, {Temperatures: []float32{0}},
			}
			before := []int32{'a', 'b', 'c', 'd'}
			counter := &aheadCounter{AheadDevice: m.ahead}
			m.ahead = counter
			got := hear(t, m, options, before)
			m.ahead = nil
			want := hear(t, m, options, before)
			if counter.steps < 20 || counter.texts < 2 {
				t.Errorf("%d calls with up to %d texts, %d steps", counter.calls, counter.texts, counter.steps)
			}
			for i := range want {
				if got[i] != want[i] {
					t.Errorf("window %d:\nahead        %.300s\nstep by step %.300s", i, got[i], want[i])
				}
			}
			t.Logf("%d calls with up to %d texts, %d steps; %.200s", counter.calls, counter.texts, counter.steps, want[0])
		})
	}
}

// TestGPURulesAhead holds the rules that a GPU makes for itself to those of the host, over random logits after random texts.
func TestGPURulesAhead(t *testing.T) {
	dev := sharedGPU(t, cuda.F16)
	v := aheadVocabulary(t, writeAheadModel(t, t.TempDir()))
	rules, err := newRuleset(dev, v)
	if err != nil {
		t.Fatal(err)
	}
	const steps, texts, rounds = 12, 24, 8
	buf, err := dev.AllocSingle(steps * texts * v.size)
	if err != nil {
		t.Fatal(err)
	}
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
		var ahead [steps][]engine.Choice
		got, ended := 0, make([]bool, texts)
		step := 0
		err := dev.Ahead(list, func(engine.Device) engine.Tensor {
			step++
			return logits.Slice((step-1)*texts, step*texts)
		}, func(choices []engine.Choice) bool {
			ahead[got] = choices
			got++
			return got+2 < steps
		})
		if err != nil {
			t.Fatal(err)
		}
		for n := range got {
			var asked []engine.Rule
			for i, s := range searches {
				if ended[i] {
					s.live = []hypothesis{{written: []int32{'a'}}} // any rule will do
				}
				asked = s.rule(asked)
			}
			chosen, err := dev.Select(logits.Slice(n*texts, (n+1)*texts), asked, 1)
			if err != nil {
				t.Fatal(err)
			}
			for i, s := range searches {
				if ended[i] {
					continue
				}
				if g, w := fmt.Sprint(ahead[n][i]), fmt.Sprint(chosen[i]); g != w {
					t.Fatalf("step %d after %v: got %s, want %s", n, s.live[0].written, g, w)
				}
				ended[i] = s.advanceOne(chosen[i])
			}
		}
	}
}

// randomLogits are rows in which letters, timestamps and the end have a fair chance each.
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
		id := 'a' + r.Int32N(26)
		if r.IntN(2) == 0 {
			id = v.firstTimestamp + r.Int32N(int32(v.size)-v.firstTimestamp)
		}
		ids = append(ids, id)
	}
	return ids
}
