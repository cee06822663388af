package conform

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// timing is what came of a request that ran beside others.
type timing struct {
	text string
	took time.Duration
	err  error
}

// start sends a file in the background.
func (s *session) start(ctx context.Context, file upload) <-chan timing {
	done := make(chan timing, 1)
	go func() {
		begin := time.Now()
		text, err := s.text(ctx, file)
		done <- timing{text, time.Since(begin), err}
	}()
	return done
}

// bearable is how long a clip may take beside other work of some length: as long as some clips, and a part of that
// work. It's far above one turn of a fair server and far below what waiting for the work's end takes.
func bearable(idle, work time.Duration) time.Duration { return time.Second + 3*idle + work/3 }

// behindRecording is T2: a clip that comes half a second after a recording does not wait for its end.
func behindRecording(ctx context.Context, s *session) (string, error) {
	idle, err := s.idle(ctx)
	if err != nil {
		return "", err
	}
	seconds, err := s.within(ctx, 10*time.Second, 600)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	recording := s.start(ctx, s.loop(seconds))
	if err := pause(ctx, 500*time.Millisecond); err != nil {
		return "", err
	}
	clip := <-s.start(ctx, s.loop(3))
	long := <-recording
	if err := errors.Join(clip.err, long.err); err != nil {
		return "", err
	}
	got := fmt.Sprintf("clip %.2f s, idle %.2f s, recording %.1f s", clip.took.Seconds(),
		idle.Seconds(), long.took.Seconds())
	if clip.took > bearable(idle, long.took) {
		return "", errors.New(got)
	}
	return got, s.speech.matches(clip.text, 0, 3)
}

// steadyClips is T2: clips and recordings together, and both get on.
func steadyClips(ctx context.Context, s *session) (string, error) {
	idle, err := s.idle(ctx)
	if err != nil {
		return "", err
	}
	seconds, err := s.within(ctx, 30*time.Second, 3600)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	begin := time.Now()
	var recordings []<-chan timing
	for range 4 {
		recordings = append(recordings, s.start(ctx, s.loop(seconds)))
	}
	ended := make(chan error, 1)
	go func() {
		var errs []error
		for _, r := range recordings {
			errs = append(errs, (<-r).err)
		}
		ended <- errors.Join(errs...)
	}()
	worst, clips := time.Duration(0), 0
	for {
		clip := <-s.start(ctx, s.loop(3)) // the last one, too, that may have waited for the recordings' end
		if clip.err != nil {
			return "", clip.err
		}
		worst = max(worst, clip.took)
		clips++
		select {
		case err := <-ended:
			all := time.Since(begin)
			got := fmt.Sprintf("4 recordings of %.0f s in %.0f s, %d clips, the slowest %.2f s, idle %.2f s", seconds,
				all.Seconds(), clips, worst.Seconds(), idle.Seconds())
			if err == nil && worst > bearable(idle, all/4) {
				err = errors.New(got)
			}
			return got, err
		default:
		}
	}
}

// together sends many files at once and returns what came of each.
func (s *session) together(ctx context.Context, files []upload) []timing {
	out := make([]timing, len(files))
	var all sync.WaitGroup
	for i, f := range files {
		all.Go(func() { out[i] = <-s.start(ctx, f) })
	}
	all.Wait()
	return out
}

// crowdSize is how many clips T3 sends at once.
func (s *session) crowdSize() int {
	if s.cfg.All {
		return 64
	}
	return 16
}

// sameCrowd is T3: many identical clips, one answer.
func sameCrowd(ctx context.Context, s *session) (string, error) {
	n := s.crowdSize()
	alone, err := s.text(ctx, s.loop(2.83))
	if err != nil {
		return "", err
	}
	files := make([]upload, n)
	for i := range files {
		files[i] = s.loop(2.83)
	}
	for i, r := range s.together(ctx, files) {
		if r.err != nil || r.text != alone {
			return "", fmt.Errorf("clip %d of %d: %q, %v; alone: %q", i+1, n, brief(r.text), r.err, brief(alone))
		}
	}
	return fmt.Sprintf("%d answers as the lone one", n), nil
}

// differentCrowd is T3: many different clips, to each its own answer, and no slower than one after another.
func differentCrowd(ctx context.Context, s *session) (string, error) {
	n := s.crowdSize()
	files, alone := make([]upload, n), make([]string, n)
	begin := time.Now()
	for i := range files {
		from := float64(i) * 0.19
		files[i] = plain(s.speech.cut(from, from+2+float64(i%7)*0.2))
		var err error
		if alone[i], err = s.text(ctx, files[i]); err != nil {
			return "", err
		}
	}
	apart := time.Since(begin)
	begin = time.Now()
	for i, r := range s.together(ctx, files) {
		if r.err != nil || r.text != alone[i] {
			return "", fmt.Errorf("clip %d of %d: %q, %v; alone: %q", i+1, n, brief(r.text), r.err, brief(alone[i]))
		}
	}
	at := time.Since(begin)
	got := fmt.Sprintf("%d answers as alone, %.1f times as fast as one after another", n, apart.Seconds()/at.Seconds())
	if at > apart*3/2+time.Second {
		return "", errors.New(got)
	}
	return got, nil
}

// flood is T4: far more at once than anybody holds. Each is answered in full or told when to come back.
func flood(n int, file func(ctx context.Context, s *session) (upload, error)) check {
	return func(ctx context.Context, s *session) (string, error) {
		u, err := file(ctx, s)
		if err != nil {
			return "", err
		}
		errs := make([]error, n)
		answered := make([]bool, n)
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() { answered[i], errs[i] = s.answeredOrToldWhen(ctx, u) })
		}
		all.Wait()
		served := 0
		for i := range n {
			if errs[i] != nil {
				return "", fmt.Errorf("request %d of %d: %w", i+1, n, errs[i])
			}
			if answered[i] {
				served++
			}
		}
		if served == 0 {
			return "", fmt.Errorf("all %d refused", n)
		}
		if _, err := s.text(ctx, s.loop(3)); err != nil {
			return "", fmt.Errorf("a clip afterwards: %w", err)
		}
		return fmt.Sprintf("%d served, %d told to come back", served, n-served), nil
	}
}

// answeredOrToldWhen sends a file. True means that it was transcribed, false that it
// was refused with a time to come back.
func (s *session) answeredOrToldWhen(ctx context.Context, file upload) (bool, error) {
	a, err := s.post(ctx, s.form(file))
	switch {
	case err != nil:
		return false, err
	case a.status == http.StatusOK:
		return true, nil
	}
	if _, err := refused(a, "", http.StatusTooManyRequests); err != nil {
		return false, err
	}
	if a.header.Get("x-should-retry") == "false" {
		return false, nil
	}
	if wait, err := strconv.ParseFloat(a.header.Get("Retry-After"), 64); err != nil || wait <= 0 || wait > 8 {
		return false, fmt.Errorf("429 with Retry-After %q, want up to 8 seconds", a.header.Get("Retry-After"))
	}
	return false, nil
}

func secondOfSpeech(_ context.Context, s *session) (upload, error) { return s.loop(1), nil }

// longOfMany is a recording of which fifty take the server two minutes.
func longOfMany(ctx context.Context, s *session) (upload, error) {
	seconds, err := s.within(ctx, 2*time.Minute/50, 3600)
	return s.loop(seconds), err
}

// firstRequests is T8: whoever comes first does not pay for what the server left undone at its start.
func firstRequests(ctx context.Context, s *session) (string, error) {
	first, err := s.transcribe(ctx, s.loop(3))
	if err != nil {
		return "", err
	}
	idle, err := s.idle(ctx)
	if err != nil {
		return "", err
	}
	got := fmt.Sprintf("first %.2f s, later %.2f s", first.took.Seconds(), idle.Seconds())
	if first.took > 2*idle+time.Second/2 {
		return "", errors.New(got)
	}
	return got, nil
}

// hangUps is T11: nobody works for clients that are gone.
func hangUps(ctx context.Context, s *session) (string, error) {
	idle, err := s.idle(ctx)
	if err != nil {
		return "", err
	}
	seconds, err := s.within(ctx, 15*time.Second, 3600)
	if err != nil {
		return "", err
	}
	n := 3
	if s.cfg.All {
		n = 100
	}
	for range n {
		gone, hangUp := context.WithTimeout(ctx, time.Second)
		s.post(gone, s.form(s.loop(seconds))) // its answer is nobody's any more
		hangUp()
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
	}
	clip := <-s.start(ctx, s.loop(3))
	if clip.err != nil {
		return "", clip.err
	}
	got := fmt.Sprintf("after %d recordings of %.0f s dropped, a clip took %.2f s, idle %.2f s", n, seconds,
		clip.took.Seconds(), idle.Seconds())
	if clip.took > 2*time.Second+5*idle {
		return "", errors.New(got)
	}
	return got, nil
}

// slowReader is T24: a client that reads a byte a second keeps nobody else waiting.
func slowReader(ctx context.Context, s *session) (string, error) {
	idle, err := s.idle(ctx)
	if err != nil {
		return "", err
	}
	alone, err := s.transcribe(ctx, s.loop(120), "stream=true")
	if err != nil {
		return "", err
	}
	link, err := s.dial(ctx)
	if err != nil {
		return "", err
	}
	defer link.Close()
	stop := context.AfterFunc(ctx, func() { link.Close() })
	defer stop()
	if small, ok := link.(interface{ SetReadBuffer(int) error }); ok {
		small.SetReadBuffer(4 << 10)
	}
	body, size, contentType := s.form(s.loop(120), "stream=true").encode()
	head := fmt.Sprintf("%sContent-Type: %s\r\nContent-Length: %d\r\n\r\n",
		s.requestHead(http.MethodPost, transcriptions), contentType, size)
	if _, err := io.Copy(link, io.MultiReader(strings.NewReader(head), body)); err != nil {
		return "", err
	}
	go func() {
		for b := make([]byte, 1); ; time.Sleep(time.Second) {
			if _, err := link.Read(b); err != nil {
				return
			}
		}
	}()
	worst := time.Duration(0)
	for range 5 {
		clip := <-s.start(ctx, s.loop(3))
		if clip.err != nil {
			return "", clip.err
		}
		worst = max(worst, clip.took)
	}
	got := fmt.Sprintf("the slowest of 5 clips %.2f s, idle %.2f s", worst.Seconds(), idle.Seconds())
	if worst > bearable(idle, alone.took)+alone.took/2 {
		return "", errors.New(got)
	}
	return got, nil
}

// pause waits, or returns why it could not.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
