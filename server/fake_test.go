package server

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"hark/engine"
)

// fakeModel hears a number in any audio: a hash of its samples, so that each upload has an answer of its own.
type fakeModel struct {
	info engine.ModelInfo

	mu   sync.Mutex
	hold chan struct{} // if set, a batch waits until it's closed or its context ends
	// holdAfter, if set, has every batch but the first wait like hold.
	holdAfter chan struct{}
	fail      error             // if set, every window fails with it
	ran       func(text string) // is told of each window that has run; not to be changed once it runs
	slow      time.Duration     // for each window; not to be changed once it runs
	shuffles  bool              // windows of a batch end in any order
	panics    bool
	sure      []float64        // log-probabilities of windows as they are planned, over and over; -0.25 if empty
	plans     int              // windows planned so far
	jobs      []engine.Options // of all jobs but the warm-up's
	last      *fakeJob

	begun   chan struct{} // gets one for each batch that begins, while there is room
	windows atomic.Int64
	batches atomic.Int64
	closed  atomic.Bool
}

func newFakeModel(name string) *fakeModel {
	return &fakeModel{
		info: engine.ModelInfo{
			Name: name, Family: "whisper", Device: "cpu", Languages: []string{"en", "de", "pt", "yue", "zh"},
			Translates: true, Prompts: true, WordTimes: true,
			MaxWindowSamples: 30 * engine.SampleRate, MaxBatch: 12, BudgetMillis: 720_000, WeightBytes: 1000,
		},
		begun: make(chan struct{}, 4096),
	}
}

func (m *fakeModel) Info() engine.ModelInfo { return m.info }

func (m *fakeModel) NewJob(samples []float32, spans []engine.Span, o engine.Options) (engine.Job, error) {
	if o.Language != "" && !slices.Contains(m.info.Languages, o.Language) {
		return nil, &engine.OptionError{Option: "language", Reason: "this model does not know " + o.Language}
	}
	if o.Task == engine.Translate && !m.info.Translates {
		return nil, &engine.OptionError{Option: "task", Reason: "this model can't translate"}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.jobs = append(m.jobs, o)
	m.last = &fakeJob{samples: samples, options: o}
	for _, span := range spans {
		sure := -0.25
		if len(m.sure) > 0 {
			sure = m.sure[m.plans%len(m.sure)]
		}
		m.last.windows = append(m.last.windows, &fakeWindow{job: m.last, span: span, sure: sure})
		m.plans++
	}
	return m.last, nil
}

func (m *fakeModel) Run(ctx context.Context, batch []engine.Window, _ func(int) []engine.Window, done func(engine.Window, error)) {
	first := m.batches.Add(1) == 1
	select {
	case m.begun <- struct{}{}:
	default:
	}
	m.mu.Lock()
	hold, fail, panics, shuffles := m.hold, m.fail, m.panics, m.shuffles
	if m.holdAfter != nil && !first {
		hold = m.holdAfter
	}
	m.mu.Unlock()
	if shuffles {
		rand.Shuffle(len(batch), func(i, k int) { batch[i], batch[k] = batch[k], batch[i] })
	}
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			for _, w := range batch {
				done(w, ctx.Err())
			}
			return
		}
	}
	if panics {
		panic("the fake was told to")
	}
	for _, w := range batch {
		if !m.pass(ctx) {
			done(w, ctx.Err())
			continue
		}
		w.(*fakeWindow).run()
		m.windows.Add(1)
		if m.ran != nil {
			m.ran(w.(*fakeWindow).heard[0].Text)
		}
		done(w, fail)
	}
}

// pass takes a window's time, unless the context ends meanwhile.
func (m *fakeModel) pass(ctx context.Context) bool {
	select {
	case <-time.After(m.slow):
		return true
	case <-ctx.Done():
		return false
	}
}

func (m *fakeModel) Close() error {
	m.closed.Store(true)
	return nil
}

// set changes what the model does from the next batch on.
func (m *fakeModel) set(change func(m *fakeModel)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(m)
}

func (m *fakeModel) lastJob() *fakeJob {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.last
}

func (m *fakeModel) lastOptions() engine.Options {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.jobs[len(m.jobs)-1]
}

type fakeJob struct {
	samples []float32
	options engine.Options
	windows []*fakeWindow
	next    int
	final   int // windows that Settled has told of
	done    atomic.Int64

	dropped atomic.Bool // a window of it
}

type fakeWindow struct {
	job   *fakeJob
	span  engine.Span
	sure  float64
	heard []engine.Segment // nil until it has run
}

func (w *fakeWindow) Drop() { w.job.dropped.Store(true) }

func (w *fakeWindow) Samples() int { return w.span.End - w.span.Start }

func (j *fakeJob) Next(max int) []engine.Window {
	var out []engine.Window
	for ; j.next < len(j.windows) && len(out) < max; j.next++ {
		if w := j.windows[j.next]; w.heard == nil {
			out = append(out, w)
		}
	}
	return out
}

func (j *fakeJob) Progress() (done, total int) { return int(j.done.Load()), len(j.samples) }

// run hears one segment. Its end is beyond the audio's, as a model's may be.
func (w *fakeWindow) run() {
	j := w.job
	text := hashOf(j.samples[w.span.Start:w.span.End])
	s := engine.Segment{
		Seek: w.span.Start / 160, Start: seconds(w.span.Start), End: seconds(w.span.End) + 0.5,
		Text: " heard " + text + ".", Tokens: []int32{50364, 2198},
		Temperature: 0.2, AvgLogProb: w.sure, CompressionRatio: 1.25, NoSpeechProb: 0.01,
	}
	if j.options.WordTimestamps {
		s.Words = []engine.Word{
			{Text: " heard", Start: s.Start, End: s.Start + 0.3, Probability: 0.9},
			{Text: " " + text + ".", Start: s.Start + 0.3, End: s.End, Probability: 0.8},
		}
	}
	if j.options.LogProbs {
		s.Spelling = []engine.Token{{Bytes: []byte(" heard"), LogProb: -0.5}, {Bytes: []byte(" " + text), LogProb: -0.25}, {Bytes: []byte(".")}}
	}
	w.end([]engine.Segment{s})
}

func (w *fakeWindow) end(heard []engine.Segment) {
	w.heard = heard
	w.job.done.Add(int64(w.Samples()))
}

func (j *fakeJob) Settled() (segments []engine.Segment, from float64) {
	for ; j.final < len(j.windows); j.final++ {
		w := j.windows[j.final]
		if w.heard == nil {
			return segments, seconds(w.span.Start)
		}
		segments = append(segments, w.heard...)
	}
	return segments, math.Inf(1)
}

func (j *fakeJob) Keep(w engine.Window) (engine.Kept, error) {
	own := w.(*fakeWindow)
	state, err := json.Marshal(own.heard)
	return engine.Kept{Start: own.span.Start, End: own.span.End, State: state}, err
}

func (j *fakeJob) Restore(kept []engine.Kept) {
	for _, k := range kept {
		for _, w := range j.windows {
			var heard []engine.Segment
			if w.span.Start == k.Start && w.span.End == k.End && json.Unmarshal(k.State, &heard) == nil {
				w.end(heard)
			}
		}
	}
}

func (j *fakeJob) Result() *engine.Result {
	language := j.options.Language
	if language == "" {
		language = "en"
	}
	r := &engine.Result{Language: language}
	for _, w := range j.windows {
		r.Segments = append(r.Segments, w.heard...)
	}
	return r
}

func hashOf(samples []float32) string {
	h := fnv.New32a()
	var b [4]byte
	for _, x := range samples {
		binary.LittleEndian.PutUint32(b[:], math.Float32bits(x))
		h.Write(b[:])
	}
	return fmt.Sprintf("%08x", h.Sum32())
}

// speechWAV is a 16-bit mono WAV at 16 kHz that passes for speech: a gliding buzz with a moving
// formant, in syllables. The seed makes it differ.
func speechWAV(seconds float64, seed int) []byte {
	n := int(seconds * engine.SampleRate)
	pcm := make([]int16, n)
	phase := 0.0
	for i := range pcm {
		t := float64(i) / engine.SampleRate
		pitch := 140 + 50*math.Sin(2*math.Pi*2.3*t) + 20*math.Sin(2*math.Pi*5.1*t)
		phase += 2 * math.Pi * pitch / engine.SampleRate
		formant := 900 + 600*math.Sin(2*math.Pi*3.7*t)
		voice := 0.0
		for h := 1.0; h <= 20; h++ {
			d := (h*pitch - formant) / 300
			voice += math.Sin(h*phase) / (1 + d*d)
		}
		syllable := math.Max(0.01, math.Sin(2*math.Pi*4*t))
		pcm[i] = int16(4000 * syllable * voice)
	}
	if n > 10 {
		pcm[10] = int16(seed)
	}
	return wavOf(pcm)
}

// silentWAV is digital silence.
func silentWAV(seconds float64) []byte { return wavOf(make([]int16, int(seconds*engine.SampleRate))) }

func wavOf(pcm []int16) []byte {
	le := binary.LittleEndian
	b := []byte("RIFF....WAVEfmt ")
	b = le.AppendUint32(b, 16)
	b = le.AppendUint16(b, 1)
	b = le.AppendUint16(b, 1)
	b = le.AppendUint32(b, engine.SampleRate)
	b = le.AppendUint32(b, 2*engine.SampleRate)
	b = le.AppendUint16(b, 2)
	b = le.AppendUint16(b, 16)
	b = append(b, "data"...)
	b = le.AppendUint32(b, uint32(2*len(pcm)))
	for _, s := range pcm {
		b = le.AppendUint16(b, uint16(s))
	}
	le.PutUint32(b[4:], uint32(len(b)-8))
	return b
}
