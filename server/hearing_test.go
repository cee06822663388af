package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"hark/engine"
)

// listened is what Heard and Kept were told.
type listened struct {
	segments []engine.Segment
	pieces   []Piece
	calls    int // of Heard
}

func (l *listened) listen(in Input) Input {
	in.Heard = func(s []engine.Segment) {
		l.segments = append(l.segments, s...)
		l.calls++
	}
	in.Kept = func(p Piece) { l.pieces = append(l.pieces, p) }
	return in
}

// dialogue is two speakers on two channels, who fall silent in turns.
func dialogue() []byte {
	speech := speechWAV(12, 1)
	left := joined(joined(speech, silentWAV(35)), speech)
	right := joined(joined(silentWAV(10), speechWAV(35, 2)), speech)
	return stereoWAV(left, right)
}

func inJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestHeardIsTheTranscript: what is told on the way is the transcript, to the byte, and so it is when any of the
// windows were heard by an earlier run, of which none runs again.
func TestHeardIsTheTranscript(t *testing.T) {
	words, long := engine.Options{WordTimestamps: true}, speechWAV(100, 1)
	for _, c := range []struct {
		name string
		in   Input
		wav  []byte
	}{
		{"clip", Input{Model: "careful"}, speechWAV(10, 1)},
		{"recording", Input{Model: "careful", Options: words}, long},
		{"channels", Input{Model: "careful", Choice: Choice{Separate: true}}, dialogue()},
		{"two models", Input{Model: AutoModel, Options: words}, long},
		{"two models, channels", Input{Model: AutoModel, Choice: Choice{Separate: true}}, dialogue()},
		{"two models, one of use", Input{Model: AutoModel, Options: engine.Options{Language: "pt"}}, long},
		{"silence", Input{Model: AutoModel}, silentWAV(40)},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr, quick, careful := newPair(t, "careful", "quick")
			for _, m := range []*fakeModel{quick, careful} {
				m.set(func(m *fakeModel) { m.shuffles = true })
			}
			run := func(in Input) *engine.Result {
				t.Helper()
				for _, m := range []*fakeModel{quick, careful} {
					m.set(func(m *fakeModel) { m.plans = 0 })
				}
				in.Audio = bytes.NewReader(c.wav)
				got, err := tr.Transcribe(t.Context(), in)
				if err != nil {
					t.Fatal(err)
				}
				return got.Result
			}
			want := run(c.in)
			var first listened
			if got := run(first.listen(c.in)); inJSON(t, got) != inJSON(t, want) || inJSON(t, first.segments) != inJSON(t, want.Segments) {
				t.Errorf("told %s\ngot  %s\nwant %s", inJSON(t, first.segments), inJSON(t, got), inJSON(t, want))
			}
			random := rand.New(rand.NewPCG(1, 2))
			for part := range 3 {
				pieces := slices.Clone(first.pieces)
				random.Shuffle(len(pieces), func(i, j int) { pieces[i], pieces[j] = pieces[j], pieces[i] })
				in := c.in
				if err := json.Unmarshal([]byte(inJSON(t, pieces[:len(pieces)*part/2])), &in.Resume); err != nil {
					t.Fatal(err)
				}
				before := quick.windows.Load() + careful.windows.Load()
				var again listened
				if got := run(again.listen(in)); inJSON(t, got) != inJSON(t, want) || inJSON(t, again.segments) != inJSON(t, want.Segments) {
					t.Errorf("resumed with %d of %d: told %s\ngot  %s\nwant %s", len(in.Resume), len(pieces), inJSON(t, again.segments), inJSON(t, got), inJSON(t, want))
				}
				ran := int(quick.windows.Load() + careful.windows.Load() - before)
				if ran != len(pieces)-len(in.Resume) || len(again.pieces) != ran {
					t.Errorf("resumed with %d of %d: %d ran, %d were kept", len(in.Resume), len(pieces), ran, len(again.pieces))
				}
			}
		})
	}
}

// TestHeardBeforeTheEnd: the first window's text comes while the second one still waits.
func TestHeardBeforeTheEnd(t *testing.T) {
	tr, model := newTestTranscriber(t, TranscriberConfig{})
	hold := make(chan struct{})
	model.set(func(m *fakeModel) { m.info.MaxBatch = 1; m.holdAfter = hold })
	first := make(chan []engine.Segment, 100)
	ended := make(chan error)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, err := tr.Transcribe(ctx, Input{Model: "fake", Audio: bytes.NewReader(speechWAV(100, 1)), Heard: func(s []engine.Segment) { first <- s }})
		ended <- err
	}()
	if s := <-first; len(s) != 1 || s[0].Start != 0 {
		t.Errorf("%+v came first", s)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	close(hold)
	if n := len(first); n != 0 {
		t.Errorf("%d calls after the end", n)
	}
}

// TestPiecesThatDoNotFit are passed over.
func TestPiecesThatDoNotFit(t *testing.T) {
	tr, model := newTestTranscriber(t, TranscriberConfig{})
	in := Input{Model: "fake", Audio: bytes.NewReader(speechWAV(10, 1)), Resume: []Piece{
		{Model: "other", Kept: engine.Kept{End: 160000, State: json.RawMessage(`[{"Text":"no"}]`)}},
		{Model: "fake", Channel: 1, Kept: engine.Kept{End: 160000, State: json.RawMessage(`[{"Text":"no"}]`)}},
		{Model: "fake", Kept: engine.Kept{End: 159999, State: json.RawMessage(`[{"Text":"no"}]`)}},
		{Model: "fake", Kept: engine.Kept{End: 160000, State: json.RawMessage(`{`)}},
		{Model: "fake"},
	}}
	got, err := tr.Transcribe(t.Context(), in)
	if err != nil || len(got.Result.Segments) != 1 || got.Result.Segments[0].Text == "no" || model.windows.Load() != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestMergeIsStable holds merging bit by bit to sorting all by time.
func TestMergeIsStable(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		h := &hearing{}
		var all []engine.Segment
		rest := make([][]engine.Segment, 1+random.IntN(4))
		for i := range rest {
			h.track()
			at := 0.0
			for k := range random.IntN(6) {
				at += float64(random.IntN(3))
				rest[i] = append(rest[i], engine.Segment{Start: at, Text: fmt.Sprint(i, k)})
			}
			all = append(all, rest[i]...)
		}
		slices.SortStableFunc(all, func(a, b engine.Segment) int { return int(a.Start - b.Start) })
		for left := true; left; {
			i := random.IntN(len(rest))
			n := random.IntN(len(rest[i]) + 1)
			h.tracks[i].waiting = append(h.tracks[i].waiting, rest[i][:n]...)
			if rest[i] = rest[i][n:]; len(rest[i]) > 0 {
				h.tracks[i].from = rest[i][0].Start
			} else {
				h.tracks[i].from = 1e9
			}
			h.merge()
			left = len(h.segments) < len(all)
		}
		for i := range all {
			if h.segments[i].Text != all[i].Text {
				t.Fatalf("merged %+v\nsorted %+v", h.segments, all)
			}
		}
	}
}
