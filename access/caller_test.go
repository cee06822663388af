package access

import (
	"errors"
	"testing"
	"time"
)

// day is the clock of these tests.
var day = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)

func refusal(t *testing.T, err error) *LimitError {
	t.Helper()
	var limit *LimitError
	if !errors.As(err, &limit) {
		t.Fatalf("got %v, want a *LimitError", err)
	}
	return limit
}

func TestRequestsPerMinute(t *testing.T) {
	c := newCaller("a", Limits{RequestsPerMinute: 6})
	for i := range 6 {
		if err := c.Enter(day); err != nil {
			t.Fatalf("request %d: %v", i, err)
		}
		c.Leave()
	}
	e := refusal(t, c.Enter(day.Add(4*time.Second)))
	if e.Kind != Requests || e.Limit != "6 requests a minute" || e.Wait != 6*time.Second {
		t.Errorf("got %+v", e)
	}
	if s := c.Standings(day.Add(4 * time.Second))[Requests]; s != (Standing{6, 0, 56 * time.Second}) {
		t.Errorf("got %+v", s)
	}
	if err := c.Enter(day.Add(10 * time.Second)); err != nil {
		t.Errorf("ten seconds on: %v", err)
	}
	if s := c.Standings(day.Add(time.Hour))[Requests]; s != (Standing{6, 6, 0}) {
		t.Errorf("an hour on: %+v", s)
	}
}

func TestAudio(t *testing.T) {
	c := newCaller("a", Limits{AudioPerMinute: time.Minute, AudioPerHour: 10 * time.Minute})
	if err := c.Enter(day); err != nil {
		t.Fatal(err)
	}
	c.Charge(90*time.Second, day) // more than there was: it's owed
	e := refusal(t, c.Enter(day))
	if e.Kind != Audio || e.Limit != "1m0s of audio a minute" || e.Wait != 31*time.Second {
		t.Errorf("got %+v", e)
	}
	if s := c.Standings(day)[Audio]; s != (Standing{60, 0, 90 * time.Second}) {
		t.Errorf("got %+v", s)
	}
	if err := c.Enter(day.Add(31 * time.Second)); err != nil {
		t.Errorf("with a second of audio: %v", err)
	}
	c.Charge(9*time.Minute, day.Add(time.Minute))
	e = refusal(t, c.Enter(day.Add(5*time.Minute)))
	if e.Kind != Audio || e.Limit != "1m0s of audio a minute" {
		t.Errorf("got %+v", e)
	}
	if s := c.Standings(day.Add(20 * time.Minute))[Audio]; s.Limit != 600 {
		t.Errorf("the tighter is the hour's, got %+v", s)
	}
}

func TestAudioJustUsedUp(t *testing.T) {
	c := newCaller("a", Limits{AudioPerHour: time.Hour})
	c.Charge(time.Hour, day)
	if e := refusal(t, c.Enter(day)); e.Wait <= 0 {
		t.Errorf("got %+v, want a wait", e)
	}
}

func TestConcurrent(t *testing.T) {
	c := newCaller("a", Limits{Concurrent: 2, RequestsPerMinute: 3})
	for range 2 {
		if err := c.Enter(day); err != nil {
			t.Fatal(err)
		}
	}
	for range 5 { // a refusal uses nothing up
		if e := refusal(t, c.Enter(day)); e.Kind != Concurrent || e.Limit != "2 requests at once" || e.Wait != 0 {
			t.Errorf("got %+v", e)
		}
	}
	c.Leave()
	if err := c.Enter(day); err != nil {
		t.Error(err)
	}
}

func TestUnlimited(t *testing.T) {
	c := newCaller("a", Limits{})
	for range 1000 {
		if err := c.Enter(day); err != nil {
			t.Fatal(err)
		}
		c.Charge(time.Hour, day)
	}
	if s := c.Standings(day); len(s) != 0 {
		t.Errorf("got %v", s)
	}
}

// TestChangedLimits: what was used counts under the new limits too.
func TestChangedLimits(t *testing.T) {
	c := newCaller("a", Limits{RequestsPerMinute: 2})
	c.Enter(day)
	c.Enter(day)
	c.setLimits(Limits{RequestsPerMinute: 3})
	if err := c.Enter(day); err != nil {
		t.Error(err)
	}
	refusal(t, c.Enter(day))
	c.setLimits(Limits{})
	if err := c.Enter(day); err != nil {
		t.Error(err)
	}
}
