package live

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hark/audioprep"
	"hark/engine"
)

func TestItemsOfTheClient(t *testing.T) {
	s, events := open(t, newListener(), manual)
	mustAppend(t, s, counting(0, 300))
	mustCommit(t, s)
	mustAppend(t, s, counting(300, 450))
	mustAppend(t, s, counting(450, 600))
	mustCommit(t, s)
	await[Completed](t, events, 2)
	texts := events.check(t)
	if want := counted(0, 300); texts[0] != want {
		t.Errorf("got %q, want %q", texts[0], want)
	}
	if want := counted(300, 600); texts[1] != want {
		t.Errorf("got %q, want %q", texts[1], want)
	}
	if err := s.Commit(); !errors.Is(err, ErrNothing) {
		t.Errorf("got %v for a commit of nothing", err)
	}
	if got := await[Segment](t, events, len(strings.Fields(texts[0]))+1); got.Start != 3 || got.Text != " w10" {
		t.Errorf("the second item's first segment is %#v, want w10 at 3 s", got)
	}
	if got := await[Completed](t, events, 1); got.Seconds != 3 || got.Language != "en" {
		t.Errorf("got %#v, want 3 s of en", got)
	}
}

// TestLongItem holds an item of several pieces to having every word once.
func TestLongItem(t *testing.T) {
	const slots = 12_345
	s, events := open(t, newListener(), manual)
	for at := 0; at < slots; at += 100 {
		mustAppend(t, s, counting(at, min(slots, at+100)))
	}
	mustCommit(t, s)
	await[Completed](t, events, 1)
	if texts := events.check(t); texts[0] != counted(0, slots) {
		t.Errorf("got %q", texts[0])
	}
}

func TestLongItemAtOnce(t *testing.T) {
	l := newListener()
	s, events := open(t, l, manual)
	mustAppend(t, s, counting(0, 12_345))
	mustCommit(t, s)
	await[Completed](t, events, 1)
	if texts := events.check(t); texts[0] != counted(0, 12_345) {
		t.Errorf("got %q", texts[0])
	}
	l.set(func(l *listener) {
		for _, r := range l.requests {
			if len(r.Samples) > maxPiece {
				t.Errorf("%d samples are transcribed at once, at most %d should be", len(r.Samples), maxPiece)
			}
		}
	})
}

// TestRandomSessions has clients append, commit and clear as they like.
func TestRandomSessions(t *testing.T) {
	for seed := range uint64(10) {
		r := rand.New(rand.NewPCG(seed, 1))
		s, events := open(t, newListener(), manual)
		var want []string
		from, at := 0, 0
		for range 60 {
			switch r.IntN(8) {
			case 0:
				if at > from {
					mustCommit(t, s)
					want = append(want, counted(from, at))
					from = at
				}
			case 1:
				if r.IntN(3) == 0 {
					s.Clear()
					from = at
				}
			default:
				n := r.IntN(700)
				mustAppend(t, s, counting(at, at+n))
				at += n
			}
		}
		if len(want) > 0 {
			await[Completed](t, events, len(want))
		}
		if got := events.check(t); strings.Join(got, "|") != strings.Join(want, "|") {
			t.Errorf("seed %d: got %q, want %q", seed, got, want)
		}
		s.Close()
	}
}

// voice is hark's own sample as 16-bit PCM at 16 kHz, with silence around it.
func voice(t *testing.T) []byte {
	t.Helper()
	data, err := os.ReadFile("../testdata/sample.wav")
	if err != nil {
		t.Fatal(err)
	}
	const header, second = 44, 2 * audioprep.SampleRate
	return append(append(make([]byte, second), data[header:]...), make([]byte, second)...)
}

// scribe hears a word for every 300 ms of any sound.
type scribe struct{}

func (c *scribe) Transcribe(_ context.Context, r Request) (*engine.Result, error) {
	var b strings.Builder
	for i := 1; i <= len(r.Samples)/4800; i++ {
		fmt.Fprintf(&b, " word%d", i)
	}
	return &engine.Result{Segments: []engine.Segment{{Text: b.String(), End: seconds(len(r.Samples))}}}, nil
}

var vad = Settings{
	Rate: audioprep.SampleRate, Text: &Text{Every: 200 * time.Millisecond},
	Turns: &Turns{Threshold: 0.5, Padding: 300 * time.Millisecond, Silence: 500 * time.Millisecond},
}

// TestTurnsAreFound speaks twice, as slowly as the text comes: each piece of sound waits
// until what came before has been looked at.
func TestTurnsAreFound(t *testing.T) { synctest.Test(t, testTurnsAreFound) }

func testTurnsAreFound(t *testing.T) {
	s, events := open(t, &scribe{}, vad)
	sound := voice(t)
	for range 2 {
		for at := 0; at < len(sound); at += 640 {
			mustAppend(t, s, sound[at:min(len(sound), at+640)])
			synctest.Wait()
		}
	}
	await[Completed](t, events, 2)
	events.check(t)
	started, stopped := await[SpeechStarted](t, events, 2), await[SpeechStopped](t, events, 2)
	length := time.Duration(len(sound)) * time.Second / 32000
	if d := started.At - length - time.Second; d < -500*time.Millisecond || d > 200*time.Millisecond {
		t.Errorf("the second turn begins at %v, want about %v", started.At, length+time.Second)
	}
	if d := stopped.At - 2*length + time.Second; d < -200*time.Millisecond || d > 600*time.Millisecond {
		t.Errorf("the second turn ends at %v, want about %v", stopped.At, 2*length-time.Second)
	}
	if started.Item != stopped.Item || started.Item != await[Completed](t, events, 2).Item {
		t.Error("the events of a turn name different items")
	}
	events.set(func() {
		if events.partials[Shown] == 0 || events.first == 0 {
			t.Errorf("nothing was shown while it was spoken: %v", events.partials)
		}
		if events.turns != 2 || events.failed != 0 {
			t.Errorf("got %d turns and %d failures, want 2 and none", events.turns, events.failed)
		}
	})
}

func TestCommitWithinSpeech(t *testing.T) {
	s, events := open(t, &scribe{}, vad)
	sound := voice(t)
	half := len(sound) / 2 &^ 1
	mustAppend(t, s, sound[:half])
	mustCommit(t, s)
	mustAppend(t, s, sound[half:])
	await[Completed](t, events, 2)
	events.check(t)
	if got, want := await[SpeechStarted](t, events, 2).At, span(half/2); got < want {
		t.Errorf("the second turn begins at %v, within the first, which ends at %v", got, want)
	}
}

// TestWholePiecesGoFirst has a partial hypothesis under way when its turn ends.
func TestWholePiecesGoFirst(t *testing.T) {
	l := newListener()
	l.hold = make(chan struct{}) // nobody opens it
	s, events := open(t, l, vad)
	mustAppend(t, s, voice(t)[:4*32000])
	<-l.begun
	l.set(func(l *listener) {
		if !l.requests[0].Partial {
			t.Error("the first request is not a partial one")
		}
		l.hold = nil
	})
	mustCommit(t, s)
	await[Completed](t, events, 1)
	events.set(func() {
		if n := events.partials[Given]; n != 1 {
			t.Errorf("%d partial hypotheses were given up, want 1", n)
		}
	})
}

func TestBusyTranscriberIsAskedAgain(t *testing.T) {
	l := newListener()
	l.errs = []error{ErrBusy, fmt.Errorf("full: %w", ErrBusy)}
	s, events := open(t, l, manual)
	mustAppend(t, s, counting(0, 100))
	mustCommit(t, s)
	await[Completed](t, events, 1)
	if texts := events.check(t); texts[0] != counted(0, 100) {
		t.Errorf("got %q", texts[0])
	}
}

func TestFailure(t *testing.T) {
	l := newListener()
	l.errs = []error{errors.New("broken")}
	s, events := open(t, l, manual)
	mustAppend(t, s, counting(0, 5000)) // several pieces
	mustCommit(t, s)
	mustAppend(t, s, counting(5000, 5100))
	mustCommit(t, s)
	failed := await[Failed](t, events, 1)
	if failed.Err == nil || failed.Err.Error() != "broken" {
		t.Errorf("got %v", failed.Err)
	}
	done := await[Completed](t, events, 1)
	if done.Item == failed.Item || done.Text != counted(5000, 5100) {
		t.Errorf("got %#v after a failed item", done)
	}
}

func TestAhead(t *testing.T) {
	l := newListener()
	l.hold = make(chan struct{})
	events := newLog()
	s, err := New(l, manual, Limits{Ahead: 10 * time.Second}, events, events.emit)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	mustAppend(t, s, counting(0, 900))
	mustCommit(t, s)
	if err := s.Append(counting(900, 1200)); !errors.Is(err, ErrAhead) {
		t.Errorf("got %v", err)
	}
}

// TestSilenceIsForgotten has nobody speak for long.
func TestSilenceIsForgotten(t *testing.T) {
	s, _ := open(t, newListener(), vad)
	for range 100 {
		mustAppend(t, s, make([]byte, 64000))
	}
	s.mu.Lock()
	n := len(s.sound.x)
	s.mu.Unlock()
	if n > 3*audioprep.SampleRate {
		t.Errorf("%d samples are kept", n)
	}
	if got := s.Heard(); got != 200*time.Second {
		t.Errorf("got %v heard", got)
	}
}

// TestSilenceInAnItem has a client whose turns are its own fall silent for longer than a session may be behind.
func TestSilenceInAnItem(t *testing.T) { synctest.Test(t, testSilenceInAnItem) }

func testSilenceInAnItem(t *testing.T) {
	s, events := open(t, new(scribe), manual)
	mustAppend(t, s, voice(t))
	for range 600 {
		mustAppend(t, s, make([]byte, 64000)) // 2 s
		synctest.Wait()
	}
	mustAppend(t, s, voice(t))
	mustCommit(t, s)
	if done := await[Completed](t, events, 1); !strings.HasPrefix(done.Text, "word1 ") {
		t.Errorf("got %.40q", done.Text)
	}
}

func TestUpdate(t *testing.T) {
	l := newListener()
	s, events := open(t, l, manual)
	mustAppend(t, s, counting(0, 100))
	next := manual
	next.Text = &Text{Model: "other", Options: engine.Options{Prompt: "p"}, Every: time.Second}
	if err := s.Update(next); err != nil {
		t.Fatal(err)
	}
	mustCommit(t, s)
	await[Completed](t, events, 1)
	l.set(func(l *listener) {
		if r := l.requests[len(l.requests)-1]; r.Text.Model != "other" || r.Text.Options.Prompt != "p" {
			t.Errorf("got %+v", r.Text)
		}
	})
	mustAppend(t, s, counting(100, 200))
	next.Turns = vad.Turns
	if err := s.Update(next); err != nil {
		t.Fatal(err)
	}
	await[Completed](t, events, 2)
	if texts := events.check(t); texts[1] != counted(100, 200) {
		t.Errorf("got %q of the turn that was open", texts[1])
	}
	next.Rate = 1
	if err := s.Update(next); err == nil {
		t.Error("a rate of 1 Hz was accepted")
	}
	next.Rate, next.Text, next.Turns = 8000, nil, nil
	if err := s.Update(next); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, s, make([]byte, 16000))
	mustCommit(t, s)
	await[Committed](t, events, 3)
	if n := len(events.check(t)); n != 2 {
		t.Errorf("%d transcripts, but the last item was to have none", n)
	}
}

func TestFinish(t *testing.T) {
	s, events := open(t, newListener(), manual)
	mustAppend(t, s, counting(0, 4000))
	if err := s.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	if texts := events.check(t); len(texts) != 1 || texts[0] != counted(0, 4000) {
		t.Errorf("got %q", texts)
	}
	l := newListener()
	l.hold = make(chan struct{})
	s, _ = open(t, l, manual)
	mustAppend(t, s, counting(0, 100))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-l.begun
		cancel()
	}()
	if err := s.Finish(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestDoubtfulHypothesesAreNotShown(t *testing.T) {
	for _, c := range []struct {
		seconds              float64
		logProb, compression float64
		want                 bool
	}{
		{1, -0.9, 1, true}, {5, -0.9, 1, false}, {5, -0.3, 1, true}, {1, -0.3, 3, false}, {20, -0.3, 2.4, true},
	} {
		result := &engine.Result{Segments: []engine.Segment{{AvgLogProb: c.logProb, CompressionRatio: c.compression}}}
		if got := credible(result, int(c.seconds*audioprep.SampleRate)); got != c.want {
			t.Errorf("%+v: got %v", c, got)
		}
	}
}
