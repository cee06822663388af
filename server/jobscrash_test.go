package server

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"hark/engine"
	"hark/jobs"
)

// crashDir names the folder of the server that TestCrashingServer is, in a process of its own, to be killed.
const crashDir = "HARK_TEST_CRASH_DIR"

// What the folder holds: jobs, and a line for each window that ran, with the number of the process that ran it.
func crashPaths(dir string) (store, ran string) {
	return filepath.Join(dir, "jobs"), filepath.Join(dir, "ran")
}

// TestCrashingServer is no test: it serves jobs until it's killed.
func TestCrashingServer(t *testing.T) {
	dir := os.Getenv(crashDir)
	if dir == "" {
		t.Skip("it is the server of TestJobsSurviveCrashes")
	}
	storeDir, ranPath := crashPaths(dir)
	ran, err := os.OpenFile(ranPath, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	store, err := jobs.Open(jobs.Config{Dir: storeDir})
	if err != nil {
		t.Fatal(err)
	}
	model := newFakeModel("fake")
	model.slow, model.info.MaxBatch = 80*time.Millisecond, 1
	model.ran = func(text string) { fmt.Fprintf(ran, "%s%s\n", os.Getenv(crashDir+"_N"), text) }
	registry := engine.NewRegistry(engine.RegistryConfig{Load: func(context.Context, string) (engine.Model, error) { return model, nil }})
	s, err := New(Config{Models: []string{"fake"}, SpoolDir: dir, Jobs: store, WebhookKeys: testKeys}, registry, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	link, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("listens on %s\n", link.Addr())
	go io.Copy(io.Discard, os.Stdin) // ends with the parent
	t.Fatal(s.Serve(context.Background(), link))
}

// crasher is a server that is killed time and again.
type crasher struct {
	dir string
	n   int // how often it was started

	mu  sync.Mutex
	url string // of the process that runs
	cmd *exec.Cmd
}

func (c *crasher) start(t *testing.T) {
	t.Helper()
	c.n++
	cmd := exec.Command(os.Args[0], "-test.run=^TestCrashingServer$", "-test.timeout=0")
	cmd.Env = append(os.Environ(), crashDir+"="+c.dir, fmt.Sprintf("%s_N=%d", crashDir, c.n))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	addr, ok := strings.CutPrefix(strings.TrimSpace(line), "listens on ")
	if !ok {
		rest, _ := io.ReadAll(lines)
		cmd.Process.Kill()
		cmd.Wait()
		t.Fatalf("the server does not start: %v: %s%s", err, line, rest)
	}
	go io.Copy(io.Discard, lines)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.url, c.cmd = "http://"+addr, cmd
}

// awaitRun waits until the process has run a window, or for some seconds if there is none to run.
func (c *crasher) awaitRun() {
	_, path := crashPaths(c.dir)
	for range 300 {
		text, _ := os.ReadFile(path)
		if bytes.Contains(text, fmt.Appendf(nil, "\n%d ", c.n)) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// kill ends the server at once, and what it had kept by then is noted in kept: windows by their texts.
func (c *crasher) kill(t *testing.T, kept map[string]int) {
	t.Helper()
	c.cmd.Process.Kill()
	c.cmd.Wait()
	if kept == nil {
		return
	}
	dir, _ := crashPaths(c.dir)
	store, err := jobs.Open(jobs.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for _, j := range store.Unfinished() {
		pieces, err := store.Pieces(j.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range pieces {
			var p Piece
			var heard []engine.Segment
			if err := errors.Join(json.Unmarshal(text, &p), json.Unmarshal(p.State, &heard)); err != nil || len(heard) != 1 {
				t.Fatalf("piece %s: %v", text, err)
			}
			if kept[heard[0].Text] == 0 {
				kept[heard[0].Text] = c.n
			}
		}
	}
}

func (c *crasher) at() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.url
}

// send makes a request until it is answered, by whichever process runs.
func (c *crasher) send(ctx context.Context, method, path, key string, body []byte) (status int, text []byte) {
	for ctx.Err() == nil {
		r, err := http.NewRequestWithContext(ctx, method, c.at()+path, bytes.NewReader(body))
		if err != nil {
			panic(err)
		}
		r.Header.Set("Idempotency-Key", key)
		if a, err := http.DefaultClient.Do(r); err == nil {
			text, err = io.ReadAll(a.Body)
			a.Body.Close()
			if err == nil && a.StatusCode != http.StatusConflict && a.StatusCode < 500 {
				return a.StatusCode, text
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	return 0, nil
}

// stamped is speech of which each second is unlike that of any other number.
func stamped(wav []byte, number int) []byte {
	wav = bytes.Clone(wav)
	for at := 44 + 20; at+1 < len(wav); at += 2 * engine.SampleRate {
		binary.LittleEndian.PutUint16(wav[at:], uint16(number))
	}
	return wav
}

// TestJobsSurviveCrashes kills a server at random moments under load: no job that was accepted is lost
// or done twice, no window that was kept runs again, and who follows a job's events gets each of them
// once. HARK_LONG has it do so fifty times.
func TestJobsSurviveCrashes(t *testing.T) {
	rounds := 3
	if os.Getenv("HARK_LONG") != "" {
		rounds = 50
	}
	ctx, cancel := context.WithTimeout(t.Context(), 9*time.Minute)
	defer cancel()
	c := &crasher{dir: t.TempDir()}
	short, long := speechWAV(5, 1), speechWAV(100, 1)
	kept := map[string]int{}

	c.start(t)
	defer func() { c.cmd.Process.Kill(); c.cmd.Wait() }()
	var (
		work     sync.WaitGroup
		mu       sync.Mutex
		accepted = map[int]string{} // ids by number
		audio    = func(number int) []byte {
			if number%3 != 0 {
				return stamped(long, number)
			}
			return stamped(short, number)
		}
	)
	const perRound = 6
	for round := range rounds {
		for i := range perRound {
			number := round*perRound + i
			work.Go(func() {
				status, text := c.send(ctx, "POST", "/v1/jobs?response_format=text", fmt.Sprint("number ", number), audio(number))
				var report jobReport
				if err := json.Unmarshal(text, &report); err != nil || status != http.StatusAccepted {
					t.Errorf("job %d: status %d %s", number, status, text)
					return
				}
				mu.Lock()
				accepted[number] = report.ID
				mu.Unlock()
				if number%3 != 0 {
					c.follow(ctx, t, report.ID)
				}
			})
		}
		if round%4 > 0 { // else it may come amid the start or the uploads
			c.awaitRun()
		}
		time.Sleep(time.Duration(rand.IntN(600)) * time.Millisecond)
		c.kill(t, kept)
		c.start(t)
	}
	work.Wait()
	if ctx.Err() != nil {
		t.Fatal("it took too long")
	}

	tr, _ := newTestTranscriber(t, TranscriberConfig{})
	for number, id := range accepted {
		want, err := tr.Transcribe(ctx, Input{Model: "fake", Audio: bytes.NewReader(audio(number))})
		if err != nil {
			t.Fatal(err)
		}
		if got := c.result(ctx, t, id); got != string(renderText(want.Result)) {
			t.Errorf("job %d: got %q\nwant %q", number, got, renderText(want.Result))
		}
	}
	if n := c.count(ctx, t); n != rounds*perRound {
		t.Errorf("%d jobs are there, want %d", n, rounds*perRound)
	}
	c.kill(t, nil)
	c.checkRuns(t, kept)
}

// count is how many jobs there are.
func (c *crasher) count(ctx context.Context, t *testing.T) (n int) {
	t.Helper()
	var page struct {
		Data    []jobReport
		LastID  string `json:"last_id"`
		HasMore bool   `json:"has_more"`
	}
	for first := true; first || page.HasMore; first = false {
		_, text := c.send(ctx, "GET", "/v1/jobs?limit=100&after="+page.LastID, "", nil)
		page.HasMore = false
		if err := json.Unmarshal(text, &page); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		n += len(page.Data)
	}
	return n
}

// result waits for a job's text.
func (c *crasher) result(ctx context.Context, t *testing.T, id string) string {
	t.Helper()
	for {
		status, text := c.send(ctx, "GET", "/v1/jobs/"+id, "", nil)
		var report jobReport
		if err := json.Unmarshal(text, &report); err != nil || status != 200 || report.Status.Over() && report.Status != jobs.Done {
			t.Fatalf("job %s: status %d %s", id, status, text)
		}
		if report.Status == jobs.Done {
			_, text := c.send(ctx, "GET", "/v1/jobs/"+id+"/result", "", nil)
			return string(text)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// follow reads a job's events to the last one, from one process after the other.
func (c *crasher) follow(ctx context.Context, t *testing.T, id string) {
	last, deltas := "0", ""
	for ctx.Err() == nil {
		r, err := http.NewRequestWithContext(ctx, "GET", c.at()+"/v1/jobs/"+id+"/events", nil)
		if err != nil {
			panic(err)
		}
		r.Header.Set("Last-Event-ID", last)
		a, err := http.DefaultClient.Do(r)
		if err != nil {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		if a.StatusCode != 200 {
			t.Errorf("job %s behind event %s: status %d", id, last, a.StatusCode)
		}
		number := ""
		for lines := bufio.NewScanner(a.Body); lines.Scan(); {
			if n, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
				number = n
			}
			data, ok := strings.CutPrefix(lines.Text(), "data: ")
			if !ok || number == "" {
				continue
			}
			var e struct{ Type, Delta, Text string }
			if err := json.Unmarshal([]byte(data), &e); err != nil {
				break // cut off
			}
			if want := after(last); number != want {
				t.Errorf("job %s: event %s comes where %s should", id, number, want)
			}
			last, number = number, ""
			switch e.Type {
			case "transcript.text.delta":
				deltas += e.Delta
			case "transcript.text.done":
				if e.Text != deltas {
					t.Errorf("job %s: the deltas are %q, the text is %q", id, deltas, e.Text)
				}
			case eventDone:
				a.Body.Close()
				return
			}
		}
		a.Body.Close()
	}
}

func after(number string) string {
	n, _ := jobs.ParseEventNumber(number)
	return fmt.Sprint(n + 1)
}

// checkRuns reads which windows ran when, and holds them to what had been kept.
func (c *crasher) checkRuns(t *testing.T, kept map[string]int) {
	t.Helper()
	_, path := crashPaths(c.dir)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	runs := map[string]int{}
	all := 0
	for line := range strings.Lines(string(text)) {
		var n int
		process, window, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		fmt.Sscan(process, &n)
		window = " " + window
		if before := kept[window]; before != 0 && n > before {
			t.Errorf("window %q was kept by process %d, and ran again in process %d", window, before, n)
		}
		runs[window]++
		all++
	}
	t.Logf("%d crashes: %d windows, of which %d had been kept at one of them; %d ran again that had not been", c.n-1, len(runs), len(kept), all-len(runs))
}
