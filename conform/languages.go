package conform

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

// english is T9: a way to say English, or to leave it open.
func english(name string) check {
	return hearsForm(func(s *session) *form { return s.form(s.clip(), "language="+name) })
}

// otherLanguage is T9: a language by tag or name is understood. A model of English alone may refuse it, but
// by name, and as it refuses the plain code.
func otherLanguage(tag, code string) check {
	return func(ctx context.Context, s *session) (string, error) {
		a, err := s.post(ctx, s.form(s.clip(), "language="+tag))
		if err != nil {
			return "", err
		}
		plain, err := s.post(ctx, s.form(s.clip(), "language="+code))
		if err != nil {
			return "", err
		}
		if a.status != plain.status {
			return "", fmt.Errorf("%s; with language=%s: %s", a, code, plain)
		}
		if a.status == http.StatusOK {
			return a.String(), nil
		}
		return refused(a, "language", http.StatusBadRequest)
	}
}

// maxAudioBytes bounds a file of Config.Audio.
const maxAudioBytes = 64 << 20

// knows returns an error for a language that the model lacks: there is nothing to try with it.
func (s *session) knows(ctx context.Context, code string) error {
	a, err := s.post(ctx, s.form(s.clip(), "language="+code))
	if err != nil {
		return err
	}
	if _, err := refused(a, "language", http.StatusBadRequest); err == nil {
		return skip("the model does not know %q", code)
	}
	return nil
}

// recordingIn is a file of the folder with speech in other languages, and its text, "" if there is none beside it.
func (s *session) recordingIn(ctx context.Context, code string) (u upload, text string, err error) {
	if s.cfg.Audio == "" {
		return u, "", skip("needs speech in %q: a folder with %s.wav in it, by --audio", code, code)
	}
	if err := s.knows(ctx, code); err != nil {
		return u, "", err
	}
	found, err := filepath.Glob(filepath.Join(s.cfg.Audio, code+".*"))
	if err != nil {
		return u, "", err
	}
	for _, path := range found {
		if filepath.Ext(path) == ".txt" {
			continue
		}
		info, err := os.Stat(path)
		if err != nil || info.IsDir() || info.Size() > maxAudioBytes {
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return u, "", err
		}
		said, err := os.ReadFile(strings.TrimSuffix(path, filepath.Ext(path)) + ".txt")
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return u, "", err
		}
		return file(filepath.Base(path), "application/octet-stream", data), string(said), nil
	}
	return u, "", skip("%s holds no %s.wav or other audio of that name", s.cfg.Audio, code)
}

// staysGerman is T9: German speech is written in German, whether the language is named or found.
func staysGerman(fields ...string) check {
	return func(ctx context.Context, s *session) (string, error) {
		u, said, err := s.recordingIn(ctx, "de")
		if err != nil {
			return "", err
		}
		t, err := s.verbose(ctx, u, fields...)
		if err != nil {
			return "", err
		}
		if t.Language != "german" {
			return "", fmt.Errorf("language is %q: %q", t.Language, brief(t.Text))
		}
		return brief(t.Text), resembles(t.Text, said)
	}
}

// resembles returns an error for a text that shares less than half its words with what was said, if that is known.
func resembles(text, said string) error {
	if said == "" {
		return nil
	}
	want := normal(said)
	if wrong, _, _ := compareWords(want, normal(text)); wrong > len(want)/2 {
		return fmt.Errorf("%q, said is %q", brief(text), brief(said))
	}
	return nil
}

// foreignStream is T15: a stream of text that is not ASCII.
func foreignStream(code string) check {
	return func(ctx context.Context, s *session) (string, error) {
		u, _, err := s.recordingIn(ctx, code)
		if err != nil {
			return "", err
		}
		return s.wholeStream(ctx, u, "language="+code)
	}
}
