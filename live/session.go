package live

import (
	"context"
	"crypto/rand"
	"strings"
	"sync"
	"time"

	"hark/audioprep"
)

// maxPiece is the longest stretch that is transcribed at once, unless there is no pause in
// it: what models take, and what is a clip.
const maxPiece = 30 * audioprep.SampleRate

// lookBack is how much sound before speech is noticed is kept, padding aside: what the Detector may go back.
const lookBack = audioprep.SampleRate

// Session is one client's live transcription. Its methods may be called from any goroutine.
type Session struct {
	transcriber Transcriber
	emit        func(Event)
	observer    Observer
	limits      Limits
	ctx         context.Context
	cancel      context.CancelFunc
	worker      sync.WaitGroup

	mu       sync.Mutex
	news     sync.Cond // there may be work, or none is left
	settings Settings
	decoder  *audioprep.RawDecoder
	decoded  []float32 // for the decoder
	ear      *audioprep.Detector
	sound    sound
	border   int                // the place behind the last turn
	open     *piece             // of the turn that goes on, or nil
	closed   []*piece           // whole, in order; the first may be under way
	previous string             // the last committed item
	giveUp   context.CancelFunc // ends the partial that is under way, or nil
	rest     time.Time          // no partial begins before
}

// New begins a session. Events are emitted one at a time, in order, while the session is locked:
// emit must not block, nor call it. Close it.
func New(t Transcriber, settings Settings, limits Limits, o Observer, emit func(Event)) (*Session, error) {
	decoder, err := audioprep.NewRawDecoder(settings.Codec, settings.Rate)
	if err != nil {
		return nil, err
	}
	s := &Session{transcriber: t, emit: emit, observer: o, limits: limits, settings: settings, decoder: decoder}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.news.L = &s.mu
	s.ear = audioprep.NewDetector(0, 0)
	s.tune()
	s.worker.Go(s.work)
	return s, nil
}

// Close ends the session, with whatever is under way. No event comes once it has returned.
func (s *Session) Close() {
	s.cancel()
	s.wakeAll()
	s.worker.Wait()
}

// wakeAll has everybody look again who waits for news.
func (s *Session) wakeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.news.Broadcast()
}

// tune sets the Detector as the settings say.
func (s *Session) tune() {
	if t := s.settings.Turns; t != nil {
		s.ear.Tune(t.Threshold, samples(t.Silence))
	} else {
		s.ear.Tune(0.5, audioprep.SampleRate/2) // for pauses to cut in
	}
}

// Update changes the settings for what comes. A turn that goes on is committed if
// turns are found another way from now on.
func (s *Session) Update(settings Settings) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if settings.Codec != s.settings.Codec || settings.Rate != s.settings.Rate {
		decoder, err := audioprep.NewRawDecoder(settings.Codec, settings.Rate)
		if err != nil {
			return err
		}
		s.hear(s.decoder.Flush(nil))
		s.decoder = decoder
	}
	if (settings.Turns == nil) != (s.settings.Turns == nil) {
		s.flush()
		if s.open != nil {
			s.commit(s.sound.end())
		}
		s.startOver()
	}
	s.settings = settings
	s.tune()
	return nil
}

// Append takes sound in the form of the settings, cut anywhere. ErrAhead says that the session is too far behind.
func (s *Session) Append(raw []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	const most = 1 << 16 // bytes at a time, so that a long piece is looked at as a short one
	for len(raw) > 0 {
		n := min(len(raw), most)
		s.decoded = s.decoder.Write(s.decoded[:0], raw[:n])
		s.hear(s.decoded)
		raw = raw[n:]
		if s.ahead() > samples(s.limits.Ahead) {
			return ErrAhead
		}
	}
	s.news.Signal()
	return nil
}

// Commit makes an item of what was appended since the last one, or, where turns are found, of the turn that goes on.
// ErrNothing says that there is none.
func (s *Session) Commit() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flush()
	if s.open == nil {
		return ErrNothing
	}
	s.commit(s.sound.end())
	s.startOver()
	return nil
}

// Clear forgets what was appended and isn't of an item yet.
func (s *Session) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flush()
	if s.open != nil {
		s.open.item.dead = true
		s.drop(s.open.item)
		s.open = nil
	}
	s.startOver()
	s.emit(Cleared{})
}

// Finish commits the turn that goes on and waits until all items have ended, or ctx has.
func (s *Session) Finish(ctx context.Context) error {
	defer context.AfterFunc(ctx, s.wakeAll)()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flush()
	if s.open != nil {
		s.commit(s.sound.end())
	}
	for len(s.closed) > 0 && ctx.Err() == nil && s.ctx.Err() == nil {
		s.news.Wait()
	}
	return ctx.Err()
}

// Heard is how much sound was appended.
func (s *Session) Heard() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return span(s.sound.end())
}

// flush takes what the decoder held back.
func (s *Session) flush() { s.hear(s.decoder.Flush(nil)) }

// hear takes samples: turns begin and end with them, and long ones are cut.
func (s *Session) hear(x []float32) {
	s.sound.add(x)
	edges := s.ear.Write(x)
	if t := s.settings.Turns; t != nil {
		for _, e := range edges {
			if e.Speech {
				s.begin(max(s.border, e.At-samples(t.Padding)), e.At)
				s.emit(SpeechStarted{s.open.item.id, span(s.open.start)})
			} else if s.open != nil {
				end := min(e.At+samples(t.Silence), s.sound.end())
				s.emit(SpeechStopped{s.open.item.id, span(end)})
				s.commit(end)
			}
		}
	} else if s.open == nil && s.sound.end() > s.border {
		s.begin(s.border, s.border)
	}
	if s.open != nil {
		s.cut(s.sound.end())
	}
	s.forget()
}

// begin opens a turn at a place. spoken is where its speech begins.
func (s *Session) begin(start, spoken int) {
	it := &item{id: "item_" + strings.ToLower(rand.Text()), start: start}
	it.spoken = time.Now().Add(-span(s.sound.end() - spoken))
	s.open = &piece{item: it, start: start, tried: start}
}

// cut closes pieces of the open turn, up to a place, while they are too long: at a pause, or, where nobody speaks, as
// late as speech can't have begun yet. Where there is no pause, a piece goes on: what is longer than a model takes is
// cut and joined again by the Transcriber.
func (s *Session) cut(end int) {
	for end-s.open.start > maxPiece {
		at, ok := s.ear.Cut(s.open.start, end, maxPiece)
		if silent := s.ear.Spoken() <= s.open.start; !ok && silent {
			at = end - lookBack
		} else if !ok {
			return
		}
		it := s.open.item
		s.close(at)
		s.open = &piece{item: it, start: at, tried: at}
	}
}

// close makes the open piece whole.
func (s *Session) close(end int) {
	p := s.open
	s.open = nil
	s.border = end
	if s.giveUp != nil {
		s.giveUp()
	}
	if s.settings.Text == nil || p.item.dead {
		return
	}
	p.samples = s.sound.part(p.start, end)
	p.item.pieces++
	s.closed = append(s.closed, p)
	s.news.Signal()
}

// commit makes an item of the open turn.
func (s *Session) commit(end int) {
	s.cut(end)
	it := s.open.item
	s.close(end)
	it.whole, it.ended, it.length = true, time.Now(), end-it.start
	s.emit(Committed{it.id, s.previous})
	s.previous = it.id
}

// startOver has turns begin behind what was heard so far.
func (s *Session) startOver() {
	s.border = s.sound.end()
	s.ear.Rest()
	s.forget()
}

// forget drops sound that can't be of a turn any more.
func (s *Session) forget() {
	keep := s.border
	if t := s.settings.Turns; t != nil {
		keep = max(keep, s.sound.end()-samples(t.Padding)-lookBack)
	}
	if s.open != nil {
		keep = s.open.start
	}
	s.sound.forget(keep)
	s.ear.Forget(keep)
}

// ahead is how much sound of turns isn't transcribed.
func (s *Session) ahead() (n int) {
	if s.open != nil {
		n = s.sound.end() - s.open.start
	}
	for _, p := range s.closed {
		n += len(p.samples)
	}
	return n
}

// drop takes an item's pieces out of what waits.
func (s *Session) drop(it *item) {
	kept := s.closed[:0:0]
	for _, p := range s.closed {
		if p.item != it {
			kept = append(kept, p)
		}
	}
	s.closed = kept
	if s.giveUp != nil {
		s.giveUp()
	}
	s.news.Broadcast()
}
