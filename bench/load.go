package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// refusalPause keeps a client that is refused from asking again at once.
const refusalPause = 200 * time.Millisecond

// maxAnswerBytes bounds what is read of an answer.
const maxAnswerBytes = 16 << 20

// File is a piece of audio that clients send.
type File struct {
	Name    string
	Data    []byte
	Seconds float64
}

// Load is clients that keep a server busy.
type Load struct {
	// URL is where to post: http://127.0.0.1:8080/v1/audio/transcriptions.
	URL string
	// Key is sent as a bearer token, if not empty.
	Key string
	// Fields are sent beside the file: model, language, …
	Fields map[string]string
	// Clips and Recordings are the files of the two classes of clients, of which there are so many.
	Clips, Recordings             []File
	ClipClients, RecordingClients int
	// Duration is how long requests are sent; what is under way then may end. Timeout is a client's patience.
	Duration, Timeout time.Duration
}

// Class is what came of one class of clients.
type Class struct {
	Served   int `json:"served"`
	TimedOut int `json:"timed_out"`
	Refused  int `json:"refused"` // answered 429 or 503
	Failed   int `json:"failed"`  // any other answer, none, or one without a text
	Latency
	AudioPerSecond float64 `json:"audio_s_per_s"` // of what was served within the time
	// Note is the first failure's own words.
	Note string `json:"note,omitempty"`
}

// LoadResult is what came of a Load.
type LoadResult struct {
	URL            string  `json:"url"`
	Seconds        float64 `json:"seconds"`
	Clips          Class   `json:"clips"`
	Recordings     Class   `json:"recordings"`
	AudioPerSecond float64 `json:"audio_s_per_s"`
	// Interrupted says that it ended before its time.
	Interrupted bool `json:"interrupted,omitempty"`
}

// ErrNothingServed says that of all requests that counted none was answered with a text.
var ErrNothingServed = errors.New("bench: nothing was served")

// Run sends one file that does not count, then lets all clients go. It returns an error if that first file is not
// answered with a text, since then nothing can be measured. When ctx ends it returns what came of it until then,
// without the requests that were under way, beside ctx's error. Where nothing was served at all it returns
// ErrNothingServed beside the counts.
func (l Load) Run(ctx context.Context) (*LoadResult, error) {
	first := slices.Concat(l.Clips, l.Recordings)
	if len(first) == 0 || l.ClipClients > 0 && len(l.Clips) == 0 || l.RecordingClients > 0 && len(l.Recordings) == 0 {
		return nil, errors.New("bench: a class of clients has no file to send")
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: l.ClipClients + l.RecordingClients}}
	defer client.CloseIdleConnections()
	if a := l.ask(ctx, client, first[0]); a.err != nil {
		return nil, fmt.Errorf("bench: %s, %s: %w", l.URL, first[0].Name, a.err)
	}

	begin := time.Now()
	end := begin.Add(l.Duration)
	var wg sync.WaitGroup
	var clips, recordings gathered
	for i := range l.ClipClients {
		wg.Go(func() { l.client(ctx, client, l.Clips, i, end, &clips) })
	}
	for i := range l.RecordingClients {
		wg.Go(func() { l.client(ctx, client, l.Recordings, l.ClipClients+i, end, &recordings) })
	}
	wg.Wait()
	seconds := min(l.Duration, time.Since(begin)).Seconds()
	r := &LoadResult{URL: l.URL, Seconds: seconds, Clips: clips.class(seconds), Recordings: recordings.class(seconds),
		Interrupted: ctx.Err() != nil}
	r.AudioPerSecond = r.Clips.AudioPerSecond + r.Recordings.AudioPerSecond
	if !r.Interrupted && r.Clips.Served+r.Recordings.Served == 0 {
		return r, ErrNothingServed
	}
	return r, ctx.Err()
}

// client sends files in an order of its own, over and over, until end.
func (l Load) client(ctx context.Context, c *http.Client, files []File, seed int, end time.Time, g *gathered) {
	rng := rand.New(rand.NewPCG(uint64(seed), 1))
	order := rng.Perm(len(files))
	for i := 0; time.Now().Before(end) && ctx.Err() == nil; i++ {
		f := files[order[i%len(order)]]
		a := l.ask(ctx, c, f)
		if a.err != nil && ctx.Err() != nil {
			return
		}
		a.inTime = !time.Now().After(end)
		g.add(f, a)
		if a.err != nil && !errors.Is(a.err, errTimeout) {
			select {
			case <-time.After(refusalPause):
			case <-ctx.Done():
			}
		}
	}
}

var (
	errTimeout = errors.New("no answer in time")
	errRefused = errors.New("refused")
)

// answer is how one request ended.
type answer struct {
	took   time.Duration
	err    error // nil: a text
	inTime bool
}

// ask sends one file.
func (l Load) ask(ctx context.Context, c *http.Client, f File) answer {
	if l.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, l.Timeout, errTimeout)
		defer cancel()
	}
	begin := time.Now()
	err := l.post(ctx, c, f)
	if err != nil && errors.Is(context.Cause(ctx), errTimeout) {
		err = errTimeout
	}
	return answer{took: time.Since(begin), err: err}
}

func (l Load) post(ctx context.Context, c *http.Client, f File) error {
	body, contentType, err := l.form(f)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.URL, body)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", contentType)
	if l.Key != "" {
		req.Header.Set("Authorization", "Bearer "+l.Key)
	}
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswerBytes))
	if err != nil {
		return err
	}
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return errRefused
	default:
		return fmt.Errorf("answered %s: %s", resp.Status, reason(text))
	}
	var heard struct{ Text *string }
	if err := json.Unmarshal(text, &heard); err != nil || heard.Text == nil || strings.TrimSpace(*heard.Text) == "" {
		return fmt.Errorf("answered without a text: %.200s", bytes.TrimSpace(text))
	}
	return nil
}

func (l Load) form(f File) (body *bytes.Buffer, contentType string, err error) {
	body = &bytes.Buffer{}
	w := multipart.NewWriter(body)
	for name, value := range l.Fields {
		if err := w.WriteField(name, value); err != nil {
			return nil, "", err
		}
	}
	part, err := w.CreateFormFile("file", f.Name)
	if err != nil {
		return nil, "", err
	}
	if _, err := part.Write(f.Data); err != nil {
		return nil, "", err
	}
	return body, w.FormDataContentType(), w.Close()
}

// gathered is what came of a class so far.
type gathered struct {
	mu    sync.Mutex
	took  []time.Duration
	audio float64 // seconds of what was served in time
	c     Class
}

func (g *gathered) add(f File, a answer) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case a.err == nil:
		g.c.Served++
		g.took = append(g.took, a.took)
		if a.inTime {
			g.audio += f.Seconds
		}
	case errors.Is(a.err, errTimeout):
		g.c.TimedOut++
	case errors.Is(a.err, errRefused):
		g.c.Refused++
	default:
		g.c.Failed++
		if g.c.Note == "" {
			g.c.Note = a.err.Error()
		}
	}
}

func (g *gathered) class(seconds float64) Class {
	c := g.c
	c.Latency = latencyOf(g.took)
	c.AudioPerSecond = g.audio / seconds
	return c
}
