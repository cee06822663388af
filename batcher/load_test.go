package batcher

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestEveryRequestGetsItsOwnEnd puts the batcher under a load of clients that ask again and again, hang up at odd
// times and send what fails, and checks of every request that what Do said is what happened to its windows.
func TestEveryRequestGetsItsOwnEnd(t *testing.T) {
	for seed := range uint64(24) {
		inBubble(t, Config{MaxBatch: 1 + int(seed)%13, CostCapMillis: 4096 << (seed % 8)}, func(t *testing.T, b *Batcher[string], r *fakeRunner) {
			type asked struct {
				name  string
				want  int // windows
				bad   bool
				stats Stats
				err   error
			}
			var mu sync.Mutex
			var all []asked
			var wg sync.WaitGroup
			for client := range 20 {
				rng := rand.New(rand.NewPCG(seed, uint64(client)))
				wg.Go(func() {
					for i := range 10 {
						a := asked{name: fmt.Sprintf("c%d.%d", client, i), bad: rng.IntN(8) == 0}
						var s script
						for step := range 1 + rng.IntN(3) {
							var windows []string
							for range 1 + rng.IntN(3) {
								windows = append(windows, fmt.Sprintf("%s/%d", a.name, a.want))
								a.want++
							}
							if a.bad && step == 0 {
								windows[0] = "bad " + windows[0]
							}
							s = append(s, windows)
						}
						ctx, cancel := context.WithCancel(t.Context())
						if rng.IntN(3) == 0 {
							cancel()
							ctx, cancel = context.WithTimeout(t.Context(), time.Duration(rng.IntN(3000))*time.Millisecond)
						}
						a.stats, a.err = b.Do(ctx, Request[string]{
							Lane:       Lane(rng.IntN(5) / 4),
							CostMillis: int64(rng.IntN(30_000)),
							Work:       &s,
						})
						cancel()
						mu.Lock()
						all = append(all, a)
						mu.Unlock()
						time.Sleep(time.Duration(rng.IntN(50)) * time.Millisecond)
					}
				})
			}
			wg.Wait()
			synctest.Wait()

			ran := map[string]int{} // by request
			once := map[string]bool{}
			for _, batch := range r.batches {
				for _, w := range batch {
					if once[w] {
						t.Fatalf("seed %d: window %q ran twice", seed, w)
					}
					once[w] = true
					name, _, _ := strings.Cut(strings.TrimPrefix(w, "bad "), "/")
					ran[name]++
				}
			}
			for _, a := range all {
				if ran[a.name] != a.stats.Windows {
					t.Errorf("seed %d: %s ran %d windows, its stats say %d", seed, a.name, ran[a.name], a.stats.Windows)
				}
				switch {
				case errors.Is(a.err, context.DeadlineExceeded):
				case a.bad:
					if !errors.Is(a.err, errBroken) {
						t.Errorf("seed %d: %s: got %v, want its own failure", seed, a.name, a.err)
					}
				case a.err != nil || ran[a.name] != a.want:
					t.Errorf("seed %d: %s: %d of %d windows, %v", seed, a.name, ran[a.name], a.want, a.err)
				}
			}
		})
	}
}
