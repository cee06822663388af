package conform

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

// plainly is request B of T17: the clip, and what came of it in a form that can be compared.
func (s *session) plainly(ctx context.Context) (string, error) {
	a, err := s.transcribe(ctx, s.clip(), "response_format=verbose_json")
	if err != nil {
		return "", err
	}
	var all, known map[string]json.RawMessage
	if err := a.decode(&all); err != nil {
		return "", err
	}
	known = map[string]json.RawMessage{}
	// Beside these there may be times and names.
	for _, key := range []string{"task", "language", "duration", "text", "segments", "words"} {
		known[key] = all[key]
	}
	return canonical(known), nil
}

// settings are request A of T17: all that could stay behind. A model of English alone may refuse the German ones.
var settings = [][]string{
	{"language=de", "prompt=Vorsicht an Gleis drei.", "temperature=1"},
	{"language=en", "prompt=THE LAST TRAM, THE COLDEST COAT.", "temperature=1", "response_format=verbose_json", "timestamp_granularities[]=word"},
}

// withSettings sends request A in both its forms.
func (s *session) withSettings(ctx context.Context) error {
	for _, fields := range settings {
		a, err := s.post(ctx, s.form(s.clip(), fields...))
		if err != nil {
			return err
		}
		if a.status != http.StatusOK && a.status != http.StatusBadRequest {
			return fmt.Errorf("with %v: %s", fields, a)
		}
	}
	return nil
}

// nothingStays is T17: a plain request after one with settings is as if it came alone.
func nothingStays(ctx context.Context, s *session) (string, error) {
	alone, err := s.plainly(ctx)
	if err != nil {
		return "", err
	}
	if err := s.withSettings(ctx); err != nil {
		return "", err
	}
	after, err := s.plainly(ctx)
	if err == nil && after != alone {
		err = fmt.Errorf("after it %s, alone %s", brief(after), brief(alone))
	}
	return "the same answer", err
}

// nothingLeaks is T17: the same beside requests with settings, in one batch with them where the server forms batches.
func nothingLeaks(ctx context.Context, s *session) (string, error) {
	alone, err := s.plainly(ctx)
	if err != nil {
		return "", err
	}
	const neighbours = 4
	others := make(chan error, neighbours)
	for range neighbours {
		go func() { others <- s.withSettings(ctx) }()
	}
	for range neighbours {
		beside, plainErr := s.plainly(ctx)
		if plainErr == nil && beside != alone {
			plainErr = fmt.Errorf("beside others %s, alone %s", brief(beside), brief(alone))
		}
		if err == nil {
			err = plainErr
		}
	}
	for range neighbours {
		if otherErr := <-others; err == nil {
			err = otherErr
		}
	}
	return "the same answer", err
}
