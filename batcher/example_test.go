package batcher_test

import (
	"context"
	"fmt"
	"strings"

	"hark/batcher"
)

// shouter is a device whose windows are words.
type shouter struct{}

func (shouter) Run(_ context.Context, batch []*string, more func(free int) []*string, done func(*string, error)) {
	for ; len(batch) > 0; batch = more(2) { // in two places at once
		for _, word := range batch {
			*word = strings.ToUpper(*word)
			done(word, nil)
		}
	}
}

// words is a request whose windows are independent.
type words struct{ left []*string }

func (w *words) Next(max int) []*string {
	n := min(max, len(w.left))
	next := w.left[:n]
	w.left = w.left[n:]
	return next
}

func Example() {
	b := batcher.New(shouter{}, batcher.Config{})
	text := []string{"and", "so", "my", "fellow", "americans"}
	var w words
	for i := range text {
		w.left = append(w.left, &text[i])
	}
	stats, err := b.Do(context.Background(), batcher.Request[*string]{
		Lane:       batcher.Recordings,
		CostMillis: 31_000,
		Work:       &w,
	})
	fmt.Println(strings.Join(text, " "), stats.Windows, stats.Batches, err)
	fmt.Println(b.Close(context.Background()))
	// Output:
	// AND SO MY FELLOW AMERICANS 5 1 <nil>
	// <nil>
}
