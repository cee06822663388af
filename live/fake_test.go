package live

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"hark/audioprep"
	"hark/engine"
)

// Sound of these tests counts: the magnitude of sample i is i/slot. So whoever hears a stretch of it knows where
// it lies. Its sign makes a tone of 1 kHz, with a pause of a second in seven. A word is spoken in every
// wordSlots slots, and heard if its middle is.
const (
	slot      = 160 // samples
	wordSlots = 30
)

// counting is the sound of slots [from, to), as 16-bit PCM at 16 kHz.
func counting(from, to int) []byte {
	var raw []byte
	for i := from; i < to; i++ {
		for j := range slot {
			v := int16(i)
			if i/100%7 > 0 && j/8%2 > 0 {
				v = -v
			}
			raw = binary.LittleEndian.AppendUint16(raw, uint16(v))
		}
	}
	return raw
}

// counted are the words that are spoken in slots [from, to).
func counted(from, to int) string {
	var b strings.Builder
	for w := (from + wordSlots/2) / wordSlots; w*wordSlots+wordSlots/2 < to; w++ {
		if w*wordSlots+wordSlots/2 >= from {
			fmt.Fprintf(&b, " w%d", w)
		}
	}
	return strings.TrimSpace(b.String())
}

func slotOf(sample float32) int { return int(math.Round(math.Abs(float64(sample)) * (1 << 15))) }

// listener hears words in counting sound. Of a partial request it mishears the last word.
type listener struct {
	mu       sync.Mutex
	requests []Request
	hold     chan struct{} // if set, requests wait for it
	errs     []error       // what the next whole requests fail with
	begun    chan struct{}
}

func newListener() *listener { return &listener{begun: make(chan struct{}, 10_000)} }

func (l *listener) Transcribe(ctx context.Context, r Request) (*engine.Result, error) {
	l.mu.Lock()
	l.requests = append(l.requests, r)
	hold := l.hold
	var err error
	if !r.Partial && len(l.errs) > 0 {
		err, l.errs = l.errs[0], l.errs[1:]
	}
	l.mu.Unlock()
	l.begun <- struct{}{}
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if err != nil || len(r.Samples) == 0 {
		return &engine.Result{}, err
	}
	from, to := slotOf(r.Samples[0]), slotOf(r.Samples[len(r.Samples)-1])+1
	words := strings.Fields(counted(from, to))
	result := &engine.Result{Language: "en"}
	for i, w := range words {
		if r.Partial && i == len(words)-1 {
			w += strconv.Itoa(len(r.Samples)) + "."
		}
		k, _ := strconv.Atoi(words[i][1:])
		start := float64(k*wordSlots-from) / 100
		result.Segments = append(result.Segments, engine.Segment{Text: " " + w, Start: start, End: start + 0.3})
	}
	return result, nil
}

func (l *listener) set(change func(l *listener)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(l)
}

// log keeps events.
type log struct {
	mu       sync.Mutex
	events   []Event
	partials map[Outcome]int
	turns    int
	failed   int
	first    int
	news     chan struct{}
}

func newLog() *log { return &log{news: make(chan struct{}, 100_000), partials: map[Outcome]int{}} }

func (l *log) emit(e Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, e)
	l.news <- struct{}{}
}

func (l *log) TurnDone(_ time.Duration, err error) {
	l.set(func() {
		l.turns++
		if err != nil {
			l.failed++
		}
	})
}

func (l *log) PartialDone(o Outcome)   { l.set(func() { l.partials[o]++ }) }
func (l *log) FirstText(time.Duration) { l.set(func() { l.first++ }) }

// set looks at what was observed, or changes it.
func (l *log) set(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
}

// await waits for the nth event of a kind.
func await[E Event](t *testing.T, l *log, n int) E {
	t.Helper()
	timeout := time.After(time.Minute)
	for {
		l.mu.Lock()
		seen := 0
		for _, e := range l.events {
			if e, ok := e.(E); ok {
				if seen++; seen == n {
					l.mu.Unlock()
					return e
				}
			}
		}
		l.mu.Unlock()
		select {
		case <-l.news:
		case <-timeout:
			t.Fatalf("there is no %T number %d among %v", *new(E), n, l.events)
		}
	}
}

// check holds events to what Session promises, and returns the items' texts, in order.
func (l *log) check(t *testing.T) (texts []string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	deltas, segments, numbers := map[string]string{}, map[string]string{}, map[string]int{}
	committed, ended := map[string]bool{}, map[string]bool{}
	last, previous := 0.0, ""
	for _, e := range l.events {
		switch e := e.(type) {
		case Delta:
			deltas[e.Item] += e.Text
			if e.Text == "" || ended[e.Item] {
				t.Errorf("%#v is empty or too late", e)
			}
		case Segment:
			segments[e.Item] += e.Text
			if e.Number != numbers[e.Item] || e.Start < last-0.001 || e.End < e.Start {
				t.Errorf("%#v: want number %d, from %v on", e, numbers[e.Item], last)
			}
			numbers[e.Item]++
			last = e.Start
		case Committed:
			if committed[e.Item] || e.Previous != previous {
				t.Errorf("%#v after %q", e, previous)
			}
			committed[e.Item], previous = true, e.Item
		case Completed:
			if !committed[e.Item] || ended[e.Item] {
				t.Errorf("%#v comes too early, or again", e)
			}
			ended[e.Item] = true
			if e.Text != deltas[e.Item] || e.Text != strings.TrimSpace(segments[e.Item]) {
				t.Errorf("transcript %q, deltas %q, segments %q", e.Text, deltas[e.Item], segments[e.Item])
			}
			texts = append(texts, e.Text)
		}
	}
	return texts
}

var manual = Settings{Rate: audioprep.SampleRate, Text: &Text{Model: "m", Every: 200 * time.Millisecond}}

func open(t *testing.T, l Transcriber, settings Settings) (*Session, *log) {
	t.Helper()
	events := newLog()
	s, err := New(l, settings, Limits{Ahead: 5 * time.Minute, Patience: time.Minute}, events, events.emit)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s, events
}

func mustAppend(t *testing.T, s *Session, raw []byte) {
	t.Helper()
	if err := s.Append(raw); err != nil {
		t.Fatal(err)
	}
}

func mustCommit(t *testing.T, s *Session) {
	t.Helper()
	if err := s.Commit(); err != nil {
		t.Fatal(err)
	}
}
