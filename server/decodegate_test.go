package server

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestRecordingsGiveWay lets the decoding of a recording meet batches of clips.
func TestRecordingsGiveWay(t *testing.T) {
	const work = 10 * time.Millisecond
	for _, c := range []struct {
		name    string
		worked  time.Duration
		clips   time.Duration // how long their batch runs yet; 0: none does
		cut     time.Duration // when the request ends; 0: not before
		pauses  time.Duration
		noFirst bool
	}{
		{name: "nothing runs", worked: work},
		{name: "until the clips are through", worked: work, clips: 3 * work, pauses: 3 * work},
		{name: "no longer than its work deserves", worked: work, clips: 100 * work, pauses: givesWayTimes * work},
		{name: "hardly any work since", worked: givesWayAfter / 2, clips: 100 * work},
		{name: "the request ends", worked: work, clips: 100 * work, cut: work, pauses: work},
		{name: "a clip itself", worked: work, clips: 100 * work, noFirst: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var ended chan struct{}
				place := &decodePlace{all: make(chan struct{}, 1), first: func() <-chan struct{} { return ended }}
				if c.noFirst {
					place.first = nil
				}
				if err := place.goOn(ctx); err != nil {
					t.Fatal(err)
				}
				time.Sleep(c.worked)
				if c.clips > 0 {
					ended = make(chan struct{})
					time.AfterFunc(c.clips, func() { close(ended) })
				}
				if c.cut > 0 {
					time.AfterFunc(c.cut, cancel)
				}
				begin := time.Now()
				place.giveWay(ctx)
				if got := time.Since(begin); got != c.pauses {
					t.Errorf("paused for %v, want %v", got, c.pauses)
				}
			})
		})
	}
}
