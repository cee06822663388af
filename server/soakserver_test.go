package server

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	runtimemetrics "runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/rs/zerolog"

	"hark/engine"
	"hark/jobs"
)

// soakSize is how much a soak test does: HARK_LONG has it do all.
func soakSize(little, all int) int {
	if os.Getenv("HARK_LONG") != "" {
		return all
	}
	return little
}

// soaker is a server with jobs on a real link, to be flooded, and what is known of its answers.
type soaker struct {
	*testServer
	client *http.Client // with a link for each request

	start holdings
	peak  *peaks
	spare int64 // bytes that the heap may grow by, beside what is bounded by settings

	mu       sync.Mutex
	statuses map[int]int // of answers, by status
	accepted []string    // ids of jobs
	resets   int         // links that broke before an answer
}

// narrowListener has links whose buffers hold little of what is written, so that slow readers hold it up.
type narrowListener struct{ net.Listener }

func (l narrowListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if t, ok := c.(*net.TCPConn); ok {
		t.SetWriteBuffer(4 << 10)
	}
	return c, err
}

// newSoaker starts a server, has it do some of everything, and notes what it holds then.
// When the test ends it must hold no more.
func newSoaker(t *testing.T, change func(*Config)) *soaker {
	t.Helper()
	store, err := jobs.Open(jobs.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{Models: []string{"fake"}, SpoolDir: t.TempDir(), Jobs: store, WebhookKeys: testKeys, SpoolThreshold: 64 << 10}
	change(&cfg)
	model := newFakeModel("fake")
	registry := engine.NewRegistry(engine.RegistryConfig{Load: func(context.Context, string) (engine.Model, error) { return model, nil }})
	log := &syncBuffer{}
	s, err := New(cfg, registry, zerolog.New(log))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Warm(t.Context()); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, narrowListener{l}) }()
	k := &soaker{
		testServer: &testServer{s, model, "http://" + l.Addr().String(), log},
		client:     &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
		statuses:   map[int]int{},
	}
	t.Cleanup(func() {
		k.settle(t)
		stop()
		if err := <-ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
		registry.Close()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	k.prime(t)
	k.start = k.holds()
	k.peak = watchPeaks()
	return k
}

// prime does some of everything, so that what is made once is there.
func (k *soaker) prime(t *testing.T) {
	t.Helper()
	for _, c := range []*soakCall{k.clip(1), k.clip(2).streamed(), k.clip(3).asJob()} {
		if a := k.send(t, c); a.status != c.want() {
			t.Fatalf("got %d %s", a.status, a.body)
		}
	}
	conn, _, err := websocket.Dial(t.Context(), k.liveURL(""), nil)
	if err != nil {
		t.Fatal(err)
	}
	conn.CloseNow()
	k.awaitRest(t)
	clear(k.statuses)
	k.accepted = nil
}

// holdings are what a process holds that could leak.
type holdings struct {
	goroutines, files int
	heap              int64
}

// holds is what is held now. The fake's and the log's memory of what was is none of the server's.
func (k *soaker) holds() holdings {
	k.model.set(func(m *fakeModel) { m.jobs, m.last = nil, nil })
	k.log.reset()
	runtime.GC()
	runtime.GC() // frees what the first one finalized
	return holdings{runtime.NumGoroutine(), openFiles(), liveBytes()}
}

// openFiles is how many the process has; 0 where the system doesn't say.
func openFiles() int {
	entries, _ := os.ReadDir("/proc/self/fd")
	return len(entries)
}

// liveBytes is what the collector found in use when it last looked. What it left to be collected later depends on how
// much is in use, and on who else has the processor.
func liveBytes() int64 {
	sample := []runtimemetrics.Sample{{Name: "/gc/heap/live:bytes"}}
	runtimemetrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}

// peaks are the most that was seen at once.
type peaks struct {
	heap, goroutines int64
	quit             chan struct{}
	done             sync.WaitGroup
}

func watchPeaks() *peaks {
	p := &peaks{quit: make(chan struct{})}
	p.done.Go(func() {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				p.heap = max(p.heap, liveBytes())
				p.goroutines = max(p.goroutines, int64(runtime.NumGoroutine()))
			case <-p.quit:
				return
			}
		}
	})
	return p
}

func (p *peaks) stop() {
	close(p.quit)
	p.done.Wait()
}

// await waits until ok, for many minutes if need be: the machine may have much else to do.
func (k *soaker) await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for range 120_000 {
		if ok() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("never came true: %s", what)
}

// awaitRest waits until nothing is under way.
func (k *soaker) awaitRest(t *testing.T) {
	t.Helper()
	live := func() int {
		k.live.mu.Lock()
		defer k.live.mu.Unlock()
		return k.live.n
	}
	k.await(t, "nothing is pending", func() bool { return k.pending.Load() == 0 && live() == 0 && k.streams.Load() == 0 })
	k.await(t, "all jobs are over", func() bool { return len(k.cfg.Jobs.Unfinished()) == 0 })
	k.await(t, "no upload is in memory", func() bool { return k.memory.used.Load() == 0 })
	k.await(t, "no decoded audio is in memory", func() bool { return k.transcriber.gate.bytes.Load() == 0 })
}

// settle holds a server that was flooded to what it held before, and to what it told of its answers.
func (k *soaker) settle(t *testing.T) {
	t.Helper()
	k.peak.stop()
	k.awaitRest(t)
	k.checkJobs(t)
	k.checkTold(t)
	wantEmpty(t, k.cfg.SpoolDir)
	const someGoroutines, someFiles = 4, 2      // of the runtime, and of the jobs that are kept
	someHeap := 4<<20 + 1<<10*k.peak.goroutines // the runtime never gives back what a goroutine is to it, some hundred bytes
	now, more := k.holds(), true
	for range 500 { // what ends on a goroutine of its own may take a while
		more = now.goroutines > k.start.goroutines+someGoroutines || now.files > k.start.files+someFiles || now.heap > k.start.heap+someHeap
		if !more {
			break
		}
		time.Sleep(20 * time.Millisecond)
		now = k.holds()
	}
	if more {
		t.Errorf("more is held than before: %+v, was %+v", now, k.start)
	}
	t.Logf("answers %v, resets %d; heap %d MiB at first, %d at most, %d at last; goroutines %d, %d, %d; files %d, %d; %s",
		k.statuses, k.resets, k.start.heap>>20, k.peak.heap>>20, now.heap>>20, k.start.goroutines, k.peak.goroutines, now.goroutines, k.start.files, now.files, mostResident())
	if k.peak.heap > k.start.heap+k.spare {
		t.Errorf("the heap took %d MiB at most, want no more than %d", k.peak.heap>>20, (k.start.heap+k.spare)>>20)
	}
}

// mostResident is the most memory that the process had, as the system says it.
func mostResident() string {
	text, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "VmHWM") {
			return strings.Join(strings.Fields(line), " ")
		}
	}
	return ""
}

// checkJobs holds each job that was accepted to be there once, and done.
func (k *soaker) checkJobs(t *testing.T) {
	t.Helper()
	slices.Sort(k.accepted)
	if n := len(slices.Compact(slices.Clone(k.accepted))); n != len(k.accepted) {
		t.Errorf("%d jobs have %d ids", len(k.accepted), n)
	}
	for _, id := range k.accepted {
		a := k.get(t, "/v1/jobs/"+id+"/result")
		if a.status != 200 || !strings.Contains(a.body, "heard ") {
			t.Errorf("job %s: %d %s", id, a.status, a.body)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

// checkTold holds the log and the metrics to the answers that came.
func (k *soaker) checkTold(t *testing.T) {
	t.Helper()
	if strings.Contains(k.log.String(), `"panic"`) {
		t.Errorf("there was a panic: %s", k.log.String())
	}
	k.await(t, "the log tells of all answers", func() bool {
		logged := map[int]int{}
		for line := range strings.Lines(k.log.String()) {
			var e struct {
				Route, Message string
				Status         int
			}
			if json.Unmarshal([]byte(line), &e) == nil && e.Message == "request" && e.Route == transcriptionsPath {
				logged[e.Status]++
			}
		}
		for status, n := range k.statuses {
			if logged[status] < n { // there may be more, of who hung up meanwhile
				return false
			}
		}
		return true
	})
}

// note counts an answer. One that is not the one wanted must be honest: there is no place, and when to come back.
func (k *soaker) note(t *testing.T, a *answer, want int) {
	k.mu.Lock()
	k.statuses[a.status]++
	k.mu.Unlock()
	switch {
	case a.status == want:
		if want == http.StatusAccepted {
			var report jobReport
			if err := json.Unmarshal([]byte(a.body), &report); err != nil || report.ID == "" {
				t.Errorf("accepted with %v, %s", err, a.body)
			}
			k.mu.Lock()
			k.accepted = append(k.accepted, report.ID)
			k.mu.Unlock()
		}
		return
	case a.status == http.StatusTooManyRequests:
		a.wantError(t, a.status, "queue_full", "")
	default:
		t.Errorf("status %d, want %d or 429: %s", a.status, want, a.body)
		return
	}
	if n, err := strconv.Atoi(a.header.Get("Retry-After")); err != nil || n < 1 || n > maxRetrySeconds {
		t.Errorf("status %d with Retry-After %q", a.status, a.header.Get("Retry-After"))
	}
}

// others have clips be answered until enough is.
func (k *soaker) others(t *testing.T, least int, enough func() bool) {
	t.Helper()
	n := 0
	for ; n < least || !enough(); n++ {
		if a := k.send(t, k.clip(n)); a.status != http.StatusOK {
			t.Errorf("another caller: %d %s", a.status, a.body)
			return
		}
	}
	t.Logf("%d clips of others were answered meanwhile", n)
}

// readWhole reads an answer to its end.
func readWhole(resp *http.Response) (*answer, error) {
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("status %d, then %w", resp.StatusCode, err)
	}
	return &answer{resp.StatusCode, resp.Header, string(body)}, nil
}
