package conform

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// apiError is OpenAI's form of an error.
type apiError struct{ message, kind, param, code string }

// apiErrorOf reads an error. All four keys must be there: clients read them without looking.
func apiErrorOf(a *answer) (*apiError, error) {
	if contentType := a.header.Get("Content-Type"); !strings.HasPrefix(contentType, "application/json") {
		return nil, fmt.Errorf("%s, as %q and not JSON", a, contentType)
	}
	var v struct{ Error map[string]*json.RawMessage }
	if err := json.Unmarshal(a.body, &v); err != nil || v.Error == nil {
		return nil, fmt.Errorf("%s: not an object error with message, type, param and code", a)
	}
	read := func(key string, nullable bool) (string, error) {
		raw, ok := v.Error[key]
		if !ok || raw == nil && !nullable {
			return "", fmt.Errorf("%s: error.%s is missing", a, key)
		}
		if raw == nil {
			return "", nil
		}
		var text string
		if json.Unmarshal(*raw, &text) != nil {
			return "", fmt.Errorf("%s: error.%s is not a string", a, key)
		}
		return text, nil
	}
	var e apiError
	for _, f := range []struct {
		key      string
		into     *string
		nullable bool
	}{{"message", &e.message, false}, {"type", &e.kind, false}, {"param", &e.param, true}, {"code", &e.code, true}} {
		var err error
		if *f.into, err = read(f.key, f.nullable); err != nil {
			return nil, err
		}
	}
	return &e, nil
}

// refused returns an error unless an answer is an error with one of the statuses, in
// OpenAI's form, and names the field.
func refused(a *answer, param string, statuses ...int) (string, error) {
	if !slices.Contains(statuses, a.status) {
		return "", fmt.Errorf("%s", a)
	}
	e, err := apiErrorOf(a)
	if err != nil {
		return "", err
	}
	if param != "" && strings.TrimSuffix(e.param, "[]") != param {
		return "", fmt.Errorf("%s: error.param is %q", a, e.param)
	}
	return a.String(), nil
}

// refuses is the check of a form that must be refused.
func refuses(param string, make func(s *session) *form, statuses ...int) check {
	return func(ctx context.Context, s *session) (string, error) {
		a, err := s.post(ctx, make(s))
		if err != nil {
			return "", err
		}
		return refused(a, param, statuses...)
	}
}

func noFile(s *session) *form {
	f := &form{}
	f.add("model="+s.cfg.Model, "response_format=json")
	return f
}

func noModel(s *session) *form {
	f := &form{}
	f.addFile(s.clip())
	return f
}

func emptyFile(s *session) *form { return s.form(file("empty.wav", "audio/x-wav", nil)) }

func textFile(s *session) *form {
	return s.form(file("speech.wav", "audio/x-wav", []byte(strings.Repeat("These are words and not a sound. ", 40))))
}

func withField(field string) func(s *session) *form {
	return func(s *session) *form { return s.form(s.clip(), field) }
}

// cutShort is an MP3 that ends in the middle: what is there may be heard, or refused.
func cutShort(ctx context.Context, s *session) (string, error) {
	whole := asset("clip.mp3")
	a, err := s.post(ctx, s.form(file("speech.mp3", "audio/mpeg", whole[:len(whole)/2+3])))
	if err != nil {
		return "", err
	}
	if a.status != http.StatusOK {
		return refused(a, "file", 400, 415, 422)
	}
	var v struct{ Text string }
	if err := a.decode(&v); err != nil {
		return "", err
	}
	_, _, added := compareWords(normal(s.speech.text(0, clipSeconds)), normal(v.Text))
	if added > maxMissing || v.Text == "" {
		return "", fmt.Errorf("%q", brief(v.Text))
	}
	return a.String(), nil
}

// tooLarge is T12: a body that announces a terabyte is refused by its announcement.
func tooLarge(ctx context.Context, s *session) (string, error) {
	link, err := s.dial(ctx)
	if err != nil {
		return "", err
	}
	defer link.Close()
	link.SetDeadline(time.Now().Add(10 * time.Second))
	fmt.Fprintf(link, "%sContent-Type: multipart/form-data; boundary=%s\r\nContent-Length: %d\r\n\r\n--%s\r\n"+
		"Content-Disposition: form-data; name=\"file\"; filename=\"speech.wav\"\r\n\r\nRIFF",
		s.requestHead(http.MethodPost, transcriptions), boundary, int64(1)<<40, boundary)
	a, err := readAnswer(link, http.MethodPost)
	if err != nil {
		return "", fmt.Errorf("no refusal of a terabyte within 10 s: %w", err)
	}
	return refused(a, "", http.StatusRequestEntityTooLarge)
}

// readAnswer reads one answer from a link.
func readAnswer(link io.Reader, method string) (*answer, error) {
	response, err := http.ReadResponse(bufio.NewReader(link), &http.Request{Method: method})
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes))
	return &answer{status: response.StatusCode, header: response.Header, body: body}, err
}

// wrongKey is T12: another key than the right one is refused.
func wrongKey(ctx context.Context, s *session) (string, error) {
	if s.cfg.Key == "" {
		return "", skip("needs a server with keys, and one of them by --key")
	}
	r, err := s.newPost(ctx, transcriptions, s.form(s.clip()))
	if err != nil {
		return "", err
	}
	r.Header.Set("Authorization", "Bearer not-"+s.cfg.Key)
	a, err := s.do(r)
	if err != nil {
		return "", err
	}
	return refused(a, "", http.StatusUnauthorized)
}

func unknownPath(ctx context.Context, s *session) (string, error) {
	a, err := s.get(ctx, s.base.JoinPath("audio/no-such-call"), nil)
	if err != nil {
		return "", err
	}
	return refused(a, "", http.StatusNotFound)
}

func wrongMethod(ctx context.Context, s *session) (string, error) {
	a, err := s.get(ctx, s.base.JoinPath(transcriptions), nil)
	if err != nil {
		return "", err
	}
	if a.header.Get("Allow") == "" && a.status == http.StatusMethodNotAllowed {
		return "", errors.New("405 without Allow")
	}
	return refused(a, "", http.StatusMethodNotAllowed)
}
