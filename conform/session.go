package conform

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// maxAnswerBytes bounds what is kept of an answer: three hours of words are far below.
const maxAnswerBytes = 64 << 20

// session is one examination of one server.
type session struct {
	cfg    Config
	base   *url.URL // of the API, such as http://127.0.0.1:8080/v1
	client *http.Client
	speech *speech

	// What the server does when it has nothing else to do, measured once: see idle, pace and clipText.
	idleTime time.Duration
	speed    float64
	heard    string
}

func newSession(cfg Config) (*session, error) {
	base, err := baseURL(cfg.URL)
	if err != nil {
		return nil, err
	}
	speech, err := newSpeech(cfg.Speech)
	if err != nil {
		return nil, err
	}
	for _, f := range cfg.Fields {
		if !strings.Contains(f, "=") {
			return nil, fmt.Errorf("field %q %w: want NAME=VALUE", f, ErrConfig)
		}
	}
	if cfg.Patience == 0 {
		cfg.Patience = time.Minute
		if cfg.All {
			cfg.Patience = 15 * time.Minute
		}
	}
	if cfg.dial == nil {
		cfg.dial = (&net.Dialer{}).DialContext
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 4
	transport.DialContext = cfg.dial
	transport.DisableCompression = true
	client := &http.Client{Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return &session{cfg: cfg, base: base, client: client, speech: speech}, nil
}

// root is an address beside the API's base, such as /healthz.
func (s *session) root(path string) *url.URL {
	u := *s.base
	u.Path = strings.TrimSuffix(u.Path, "/v1") + path
	return &u
}

// answer is what a server said, whole.
type answer struct {
	status int
	header http.Header
	body   []byte
	took   time.Duration
}

// decode reads the body as JSON.
func (a *answer) decode(v any) error {
	if err := json.Unmarshal(a.body, v); err != nil {
		return fmt.Errorf("%s is not the JSON that was asked for (%v)", a, err)
	}
	return nil
}

// String is an answer in one line.
func (a *answer) String() string { return fmt.Sprintf("%d %s", a.status, brief(string(a.body))) }

// brief cuts a text to what fits into a line or two.
func brief(text string) string {
	const most = 160
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "\uFFFD")), " ")
	if len(text) <= most {
		return text
	}
	cut := most
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}

// do sends a request and reads the answer.
func (s *session) do(r *http.Request) (*answer, error) {
	begin := time.Now()
	response, err := s.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes))
	if err != nil {
		return nil, fmt.Errorf("%d, then the answer broke off: %w", response.StatusCode, err)
	}
	return &answer{response.StatusCode, response.Header, body, time.Since(begin)}, nil
}

// authorize adds the key, if there is one.
func (s *session) authorize(h http.Header) {
	if s.cfg.Key != "" {
		h.Set("Authorization", "Bearer "+s.cfg.Key)
	}
}

// get asks for a page; a header of nil is the usual one, with the key.
func (s *session) get(ctx context.Context, u *url.URL, header http.Header) (*answer, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	if r.Header = header; header == nil {
		r.Header = http.Header{}
		s.authorize(r.Header)
	}
	return s.do(r)
}

// newPost makes the request that posts a form.
func (s *session) newPost(ctx context.Context, path string, f *form) (*http.Request, error) {
	body, size, contentType := f.encode()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.base.JoinPath(path).String(), io.NopCloser(body))
	if err != nil {
		return nil, err
	}
	r.ContentLength = size
	if f.chunked {
		r.ContentLength = -1
	}
	r.Header.Set("Content-Type", contentType)
	r.Header.Set("Accept", "application/json") // as the official clients, whatever they ask for
	s.authorize(r.Header)
	return r, nil
}

const transcriptions = "audio/transcriptions"

// post sends a form to be transcribed and returns the answer, whatever it is.
func (s *session) post(ctx context.Context, f *form) (*answer, error) {
	r, err := s.newPost(ctx, transcriptions, f)
	if err != nil {
		return nil, err
	}
	return s.do(r)
}

// form is a request for a transcript of file as most clients send it: fields, each NAME=VALUE, then the file.
func (s *session) form(file upload, fields ...string) *form {
	f := &form{}
	f.add("model=" + s.cfg.Model)
	f.add(s.cfg.Fields...)
	f.add(fields...)
	f.addFile(file)
	return f
}

// transcribe sends a file and returns the answer, which must be 200.
func (s *session) transcribe(ctx context.Context, file upload, fields ...string) (*answer, error) {
	return s.accepted(ctx, s.form(file, fields...))
}

// accepted posts a form and returns the answer, which must be 200.
func (s *session) accepted(ctx context.Context, f *form) (*answer, error) {
	a, err := s.post(ctx, f)
	if err == nil && a.status != http.StatusOK {
		err = fmt.Errorf("%s", a)
	}
	return a, err
}

// text is the transcript of a file, as json.
func (s *session) text(ctx context.Context, file upload, fields ...string) (string, error) {
	return s.textOf(ctx, s.form(file, fields...))
}

// textOf is the transcript that a form asks for, as json.
func (s *session) textOf(ctx context.Context, f *form) (string, error) {
	a, err := s.accepted(ctx, f)
	if err != nil {
		return "", err
	}
	var v struct{ Text *string }
	if err := a.decode(&v); err != nil {
		return "", err
	}
	if v.Text == nil {
		return "", fmt.Errorf("%s has no text", a)
	}
	return *v.Text, nil
}

// idle is what a clip of 3 s takes while nothing else goes on: the median of three.
func (s *session) idle(ctx context.Context) (time.Duration, error) {
	if s.idleTime > 0 {
		return s.idleTime, nil
	}
	var took []time.Duration
	for range 4 {
		a, err := s.transcribe(ctx, s.loop(3))
		if err != nil {
			return 0, fmt.Errorf("a clip of 3 s alone: %w", err)
		}
		took = append(took, a.took)
	}
	took = took[1:] // the first may have loaded something
	slices.Sort(took)
	s.idleTime = took[1]
	return s.idleTime, nil
}

// pace is how many seconds of a recording the server transcribes in a second.
func (s *session) pace(ctx context.Context) (float64, error) {
	if s.speed > 0 {
		return s.speed, nil
	}
	const seconds = 60
	a, err := s.transcribe(ctx, s.loop(seconds))
	if err != nil {
		return 0, fmt.Errorf("a recording of 60 s alone: %w", err)
	}
	s.speed = seconds / a.took.Seconds()
	return s.speed, nil
}

// within is the length of a recording that keeps the server busy for so long, in
// seconds: at most hours, at least a minute.
func (s *session) within(ctx context.Context, busy time.Duration, most float64) (float64, error) {
	speed, err := s.pace(ctx)
	return max(60, min(most, float64(int(speed*busy.Seconds())))), err
}

// clipText is what the server hears in the clip as plain WAV, which the clip in other forms must match.
func (s *session) clipText(ctx context.Context) (string, error) {
	if s.heard != "" {
		return s.heard, nil
	}
	text, err := s.text(ctx, s.clip())
	if err == nil {
		err = s.speech.matches(text, 0, clipSeconds)
	}
	if err != nil {
		return "", fmt.Errorf("the clip as plain WAV: %w", err)
	}
	s.heard = text
	return text, nil
}

// canonical is v as JSON, for comparing.
func canonical(v any) string {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil { // what came from JSON goes back
		panic(err)
	}
	return out.String()
}
