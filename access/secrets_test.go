package access

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestSecrets(t *testing.T) {
	var s Secrets[string]
	if s.Find("", day) != nil || s.Find("ek_nobody", day) != nil {
		t.Error("a secret that nobody made is good")
	}
	text, err := s.New(Secret[string]{Caller: "ann", Expires: day.Add(time.Minute), For: "it"}, day)
	if err != nil || !strings.HasPrefix(text, SecretPrefix) || CheckKey(text) != nil {
		t.Fatalf("got %q, %v", text, err)
	}
	other, err := s.New(Secret[string]{Expires: day.Add(time.Hour)}, day)
	if err != nil || other == text {
		t.Fatalf("got %q, %v", other, err)
	}
	if got := s.Find(text, day.Add(59*time.Second)); got == nil || got.Caller != "ann" || got.For != "it" {
		t.Errorf("got %+v", got)
	}
	if s.Find(text, day.Add(time.Minute)) != nil || s.Find(text[:len(text)-1], day) != nil {
		t.Error("it is good after its time, or in part")
	}
	if s.Find(other, day.Add(time.Minute)) == nil {
		t.Error("the other one is gone")
	}
}

// TestSecretsAreBounded: no more are kept than that, and those that are over make room.
func TestSecretsAreBounded(t *testing.T) {
	var s Secrets[int]
	for range maxSecrets {
		if _, err := s.New(Secret[int]{Expires: day.Add(time.Minute)}, day); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.New(Secret[int]{Expires: day.Add(time.Minute)}, day); !errors.Is(err, ErrTooManySecrets) {
		t.Errorf("got %v", err)
	}
	if _, err := s.New(Secret[int]{Expires: day.Add(time.Hour)}, day.Add(time.Minute)); err != nil || len(s.byHash) != 1 {
		t.Errorf("got %v, and %d are kept", err, len(s.byHash))
	}
}
