package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"hark/models"
)

// patience is how long anything in a script may take; a busy machine with two cores must do it well within.
const patience = 3 * time.Minute

// userModelsDir is where the user's models are: scripts have a home folder of their own.
func userModelsDir(t *testing.T) string {
	t.Helper()
	store, err := models.OpenStore(os.Getenv("HARK_MODELS"))
	if err != nil {
		t.Fatal(err)
	}
	return store.Dir()
}

func condition(cond string) (bool, error) {
	name, ok := strings.CutPrefix(cond, "model:")
	if !ok {
		return false, fmt.Errorf("unknown condition %q", cond)
	}
	store, err := models.OpenStore(os.Getenv("HARK_MODELS"))
	if err != nil {
		return false, err
	}
	_, here := store.Path(name)
	if testing.Short() { // plain Go arithmetic would take minutes a script
		return false, nil
	}
	return here || os.Getenv("CI") != "", nil
}

// scriptLoop makes a long recording of the sample.
func scriptLoop(ts *testscript.TestScript, neg bool, args []string) {
	makeWAV(ts, neg, args, func(sound []byte) []byte { return sound })
}

// scriptSilence makes a recording of nothing.
func scriptSilence(ts *testscript.TestScript, neg bool, args []string) {
	makeWAV(ts, neg, args, func(sound []byte) []byte { return make([]byte, len(sound)) })
}

// makeWAV repeats what becomes of the sample's sound.
func makeWAV(ts *testscript.TestScript, neg bool, args []string, change func(sound []byte) []byte) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: loop|silence SECONDS FILE")
	}
	length, err := strconv.Atoi(args[0])
	ts.Check(err)
	sample, err := os.ReadFile(ts.Getenv("SAMPLE"))
	ts.Check(err)
	const header, bytesPerSecond = 44, 2 * 16000
	sound := change(sample[header:])
	long := bytes.Repeat(sound, length*bytesPerSecond/len(sound)+1)[:length*bytesPerSecond]
	// The sizes in the header are as a program writes them that can't seek back: the reader takes what's there.
	head := bytes.Clone(sample[:header])
	copy(head[4:8], "\xff\xff\xff\xff")
	copy(head[40:44], "\xff\xff\xff\xff")
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), append(head, long...), 0o666))
}

// scriptServer is the server of one script.
type scriptServer struct {
	cmd   *exec.Cmd
	ended chan struct{}
	log   bytes.Buffer // complete once ended is closed
}

// servers holds each script's server, by the script's name: scripts run in parallel.
var servers = make(chan map[string]*scriptServer, 1)

func init() { servers <- map[string]*scriptServer{} }

func setServer(ts *testscript.TestScript, s *scriptServer) {
	m := <-servers
	m[ts.Name()] = s
	servers <- m
}

func takeServer(ts *testscript.TestScript) *scriptServer {
	m := <-servers
	s := m[ts.Name()]
	delete(m, ts.Name())
	servers <- m
	return s
}

// scriptServe starts a server and waits until it is ready.
func scriptServe(ts *testscript.TestScript, neg bool, args []string) {
	exe, err := exec.LookPath("hark")
	if dir := ts.Getenv("PATH"); err != nil || dir != "" {
		exe = filepath.Join(strings.Split(dir, string(os.PathListSeparator))[0], "hark")
	}
	cmd := exec.Command(exe, append([]string{"serve", "--addr", "127.0.0.1:0", "--log-format", "json"}, args...)...)
	cmd.Env = append(os.Environ(), "HARK_MODELS="+ts.Getenv("HARK_MODELS"), "XDG_STATE_HOME="+ts.MkAbs("state"), "EMU_FAIL="+ts.Getenv("EMU_FAIL"))
	stderr, err := cmd.StderrPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	s := &scriptServer{cmd: cmd, ended: make(chan struct{})}
	setServer(ts, s)
	ts.Defer(func() {
		if s := takeServer(ts); s != nil {
			s.cmd.Process.Kill()
			<-s.ended
			ts.Logf("the server's log:\n%s", s.log.String())
		}
	})

	url := make(chan string, 1)
	go func() {
		defer close(s.ended)
		defer cmd.Wait()
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			fmt.Fprintf(&s.log, "%s\n", lines.Bytes())
			var line struct{ URL string }
			if json.Unmarshal(lines.Bytes(), &line) == nil && line.URL != "" {
				url <- line.URL
			}
		}
	}()
	deadline := time.Now().Add(patience)
	select {
	case u := <-url:
		ts.Setenv("URL", u)
		ts.Setenv("ADDR", strings.TrimPrefix(u, "http://"))
	case <-s.ended:
		ts.Fatalf("the server ended")
	case <-time.After(patience):
		ts.Fatalf("the server does not listen")
	}
	for time.Now().Before(deadline) {
		select {
		case <-s.ended:
			ts.Fatalf("the server ended")
		case <-time.After(50 * time.Millisecond):
		}
		if answer, err := http.Get(ts.Getenv("URL") + "/readyz"); err == nil {
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return
			}
		}
	}
	ts.Fatalf("the server does not get ready")
}

// scriptShutdown asks the server to stop. With !, it must still have failed.
func scriptShutdown(ts *testscript.TestScript, neg bool, args []string) {
	s := takeServer(ts)
	if s == nil {
		ts.Fatalf("no server runs")
	}
	ts.Check(s.cmd.Process.Signal(syscall.SIGTERM))
	select {
	case <-s.ended:
	case <-time.After(patience):
		s.cmd.Process.Kill()
		<-s.ended
		ts.Fatalf("the server does not stop; its log:\n%s", s.log.String())
	}
	if ok := s.cmd.ProcessState.Success(); ok == neg {
		ts.Fatalf("the server ended with %v; its log:\n%s", s.cmd.ProcessState, s.log.String())
	}
	io.Copy(ts.Stderr(), &s.log)
}

// scriptKill ends the server as a crash would.
func scriptKill(ts *testscript.TestScript, neg bool, args []string) {
	s := takeServer(ts)
	if neg || s == nil {
		ts.Fatalf("no server runs")
	}
	ts.Check(s.cmd.Process.Kill())
	<-s.ended
}

// scriptHTTP sends a request.
func scriptHTTP(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: http STATUS METHOD URL [NAME=VALUE|NAME=@FILE]...")
	}
	status, text := sendHTTP(ts, args[1:])
	ts.Stdout().Write(text)
	if status != args[0] {
		ts.Fatalf("got status %s, want %s: %s", status, args[0], text)
	}
}

// scriptAwait sends a request until the answer is the one wanted.
func scriptAwait(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: await STATUS METHOD URL [NAME=VALUE|NAME=@FILE]...")
	}
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if status, text := sendHTTP(ts, args[1:]); status == args[0] {
			ts.Stdout().Write(text)
			return
		}
	}
	ts.Fatalf("never got status %s", args[0])
}

// sendHTTP sends METHOD URL and fields as a form, and with it what $KEY holds as the API key.
func sendHTTP(ts *testscript.TestScript, args []string) (status string, text []byte) {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for _, field := range args[2:] {
		name, value, ok := strings.Cut(field, "=")
		if !ok {
			ts.Fatalf("field %q has no =", field)
		}
		if file, ok := strings.CutPrefix(value, "@"); ok {
			content, err := os.ReadFile(ts.MkAbs(file))
			ts.Check(err)
			part, err := form.CreateFormFile(name, filepath.Base(file))
			ts.Check(err)
			part.Write(content)
		} else {
			ts.Check(form.WriteField(name, value))
		}
	}
	ts.Check(form.Close())
	request, err := http.NewRequest(args[0], args[1], nil)
	ts.Check(err)
	if len(args) > 2 {
		request.Body = io.NopCloser(&body)
		request.ContentLength = int64(body.Len())
		request.Header.Set("Content-Type", form.FormDataContentType())
	}
	if key := ts.Getenv("KEY"); key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	client := http.Client{Timeout: patience}
	answer, err := client.Do(request)
	ts.Check(err)
	defer answer.Body.Close()
	text, err = io.ReadAll(answer.Body)
	ts.Check(err)
	if location, err := answer.Location(); err == nil {
		ts.Setenv("LOCATION", location.Path)
	}
	return strconv.Itoa(answer.StatusCode), text
}
