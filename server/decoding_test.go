package server

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"hark/engine"
)

// stereoWAV has a 16-bit WAV's samples on the left and another's on the right, silence where one is shorter.
func stereoWAV(left, right []byte) []byte {
	left, right = left[44:], right[44:]
	both := make([]int16, max(len(left), len(right)))
	for i, side := range [2][]byte{left, right} {
		for at := 0; at+2 <= len(side); at += 2 {
			both[at+i] = int16(binary.LittleEndian.Uint16(side[at:]))
		}
	}
	b := wavOf(both)
	binary.LittleEndian.PutUint16(b[22:], 2)
	return b
}

// late is speech behind so many seconds of silence.
func late(seconds, speech float64, seed int) []byte {
	return joined(silentWAV(seconds), speechWAV(speech, seed))
}

// joined puts WAVs of one form one behind the other.
func joined(first, second []byte) []byte {
	b := append(bytes.Clone(first), second[44:]...)
	binary.LittleEndian.PutUint32(b[4:], uint32(len(b)-8))
	binary.LittleEndian.PutUint32(b[40:], uint32(len(b)-44))
	return b
}

// TestSeparateChannels: each channel is a speaker, whose windows are one request's.
func TestSeparateChannels(t *testing.T) {
	ts := newTestServer(t, nil)
	clip := stereoWAV(speechWAV(3, 1), late(4, 3, 2))
	a := ts.post(t, "/v1/transcribe", clip, "channels", "separate", "timestamp_granularities[]", "word", "timestamp_granularities[]", "segment")
	if a.status != 200 {
		t.Fatalf("status %d: %s", a.status, a.body)
	}
	v := a.json(t)
	var speakers []string
	start := -1.0
	for _, item := range v["segments"].([]any) {
		s := item.(map[string]any)
		speakers = append(speakers, fmt.Sprint(s["speaker"]))
		if s["start"].(float64) < start {
			t.Errorf("a segment begins at %v, the one before at %v", s["start"], start)
		}
		start = s["start"].(float64)
	}
	if !slices.Equal(speakers, []string{"0", "1"}) {
		t.Errorf("got speakers %v of %s", speakers, a.body)
	}
	if w := v["words"].([]any)[0].(map[string]any); w["speaker"] != "0" || w["probability"] != 0.9 || w["confidence"] != nil {
		t.Errorf("got word %v", w)
	}
	h := v["hark"].(map[string]any)
	if c := h["coverage"].(map[string]any); h["lane"] != "clips" || c["audio_s"] != 14.0 || c["heard_s"].(float64) <= 7 {
		t.Errorf("got %v", h)
	}

	// As texts: the same sounds as alone.
	alone := func(file []byte) string { return ts.transcribe(t, file).json(t)["text"].(string) }
	left, right := alone(joined(speechWAV(3, 1), silentWAV(4))), alone(late(4, 3, 2))
	for format, want := range map[string]string{
		"text": "Speaker 0: " + left + "\nSpeaker 1: " + right + "\n",
		"srt":  "\nSpeaker 0: " + left + "\n\n2\n",
		"vtt":  "\n<v Speaker 1>" + right + "\n\n",
		"json": left + " " + right,
	} {
		if a := ts.transcribe(t, clip, "channels", "separate", "response_format", format); !strings.Contains(a.body, want) {
			t.Errorf("%s: got %q, want %q in it", format, a.body, want)
		}
	}
	if a := ts.transcribe(t, clip, "channels", "mix"); strings.Contains(a.body, "speaker") {
		t.Errorf("mixed: got %s", a.body)
	}
}

// TestSilentChannelCostsNothing: nor does a file of them.
func TestSilentChannelCostsNothing(t *testing.T) {
	ts := newTestServer(t, nil)
	before := ts.model.windows.Load()
	a := ts.post(t, "/v1/transcribe", stereoWAV(silentWAV(3), speechWAV(3, 1)), "channels", "separate")
	if s := a.json(t)["segments"].([]any); len(s) != 1 || s[0].(map[string]any)["speaker"] != "1" {
		t.Errorf("got %s", a.body)
	}
	if n := ts.model.windows.Load() - before; n != 1 {
		t.Errorf("%d windows ran, want 1", n)
	}
	a = ts.post(t, "/v1/transcribe", stereoWAV(silentWAV(3), silentWAV(3)), "channels", "separate")
	if s := a.json(t)["segments"].([]any); len(s) != 0 || ts.model.windows.Load() != before+1 {
		t.Errorf("got %s", a.body)
	}
	// A recording of calls, decoded one channel behind the other.
	a = ts.post(t, "/v1/transcribe", stereoWAV(speechWAV(70, 1), late(40, 20, 2)), "channels", "separate")
	if h := a.json(t)["hark"].(map[string]any); a.status != 200 || h["lane"] != "recordings" {
		t.Errorf("got %s", a.body)
	}
}

// TestSeparateSequential: of chains, one channel's is done before the next one's begins.
func TestSeparateSequential(t *testing.T) {
	ts := newTestServer(t, nil)
	a := ts.post(t, "/v1/transcribe", stereoWAV(speechWAV(40, 1), speechWAV(40, 2)), "channels", "separate", "sequential", "true")
	c, _ := a.json(t)["hark"].(map[string]any)["coverage"].(map[string]any)
	if !strings.Contains(a.body, `"speaker":"0"`) || !strings.Contains(a.body, `"speaker":"1"`) || c["heard_s"] != 80.0 {
		t.Errorf("got %s", a.body)
	}
	// A chain hands out one window at a time.
	one, two := &chainJob{left: 2}, &chainJob{left: 1}
	s := &series{strands: []*strand{{Job: one}, {Job: two}}, sequential: true}
	for i, want := range []int{1, 1, 1, 0} {
		if got := len(s.Next(12)); got != want {
			t.Errorf("call %d: got %d windows, want %d", i, got, want)
		}
	}
}

// chainJob hands out one window after the other.
type chainJob struct {
	engine.Job
	left int
}

func (j *chainJob) Next(int) []engine.Window {
	if j.left == 0 {
		return nil
	}
	j.left--
	return make([]engine.Window, 1)
}

// sendSlowly posts a chunked body whose writer is the caller's.
func sendSlowly(t *testing.T, ts *testServer, path, contentType string) (w *io.PipeWriter, reply chan *answer) {
	t.Helper()
	r, w := io.Pipe()
	reply = make(chan *answer, 1)
	go func() { reply <- ts.request(t, http.MethodPost, path, contentType, r) }()
	t.Cleanup(func() { w.Close() })
	return w, reply
}

// endless is a WAV header and more sound than anyone wants.
func endless() io.Reader {
	b := wavOf(nil)
	copy(b[40:], "\xff\xff\xff\xff")
	copy(b[4:], "\xff\xff\xff\xff")
	return io.MultiReader(bytes.NewReader(b), neverEnding{})
}

type neverEnding struct{}

func (neverEnding) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// TestUploadEndsEarly: what can't be used is refused before all of it has come, with what was found.
func TestUploadEndsEarly(t *testing.T) {
	ts := newTestServer(t, func(c *Config) { c.MaxDuration = 40 * time.Second })
	for name, c := range map[string]struct {
		file         io.Reader
		status       int
		code         string
		container    string
		path         string
		leastSeconds float64
	}{
		"a picture": {io.MultiReader(strings.NewReader("\x89PNG\r\n\x1a\n"), neverEnding{}), 415, "unsupported_format", "png", "/v1/transcribe", 0},
		"too long":  {endless(), 413, "audio_too_long", "wav", "/v1/transcribe?language=en", 40},
	} {
		t.Run(name, func(t *testing.T) {
			w, reply := sendSlowly(t, ts, c.path, "audio/wav")
			sent, err := io.Copy(w, io.LimitReader(c.file, 1<<30))
			if err == nil {
				t.Fatalf("all of %d bytes were taken", sent)
			}
			a := <-reply
			a.wantError(t, c.status, c.code, "file")
			file := a.json(t)["file"].(map[string]any)
			if file["container"] != c.container || file["duration_s"].(float64) < c.leastSeconds {
				t.Errorf("got %v", file)
			}
		})
	}
	eventually(t, "the places are free", func() bool { return ts.pending.Load() == 0 })
	wantEmpty(t, ts.cfg.SpoolDir)
	if used := ts.memory.used.Load(); used != 0 {
		t.Errorf("%d bytes of uploads are still counted", used)
	}
}

// TestFieldsBehindFile: what comes behind the file changes what is heard of it.
func TestFieldsBehindFile(t *testing.T) {
	ts := newTestServer(t, nil)
	file := part(`Content-Disposition: form-data; name="file"; filename="a.wav"`, string(stereoWAV(speechWAV(3, 1), speechWAV(3, 2))))
	choice := field("channels", "separate") + field("track", "1")
	var answers []string
	for _, body := range []string{choice + file, file + choice} {
		a := ts.request(t, http.MethodPost, "/v1/transcribe", "multipart/form-data; boundary="+boundary, strings.NewReader(body+lastBoundary))
		if a.status != 200 || strings.Count(a.body, `"speaker"`) != 2 {
			t.Fatalf("status %d: %s", a.status, a.body)
		}
		answers = append(answers, a.json(t)["text"].(string))
	}
	if answers[0] != answers[1] {
		t.Errorf("before the file %q, behind it %q", answers[0], answers[1])
	}
	body := file + field("track", "7") + lastBoundary
	ts.request(t, http.MethodPost, "/v1/transcribe", "multipart/form-data; boundary="+boundary, strings.NewReader(body)).
		wantError(t, 400, "unsupported_value", "track")
}

// TestDecodesWhileArriving: when the last bytes come, the rest is decoded.
func TestDecodesWhileArriving(t *testing.T) {
	tr, _ := newTestTranscriber(t, TranscriberConfig{})
	if err := tr.Warm(context.Background(), "fake"); err != nil {
		t.Fatal(err)
	}
	whole := speechWAV(40, 1)
	s := &spool{limit: 1 << 30, threshold: 1 << 20, dir: t.TempDir(), share: &memoryShare{}}
	defer s.Close()
	d := tr.Decode(context.Background(), s.reader(context.Background()), Choice{}, nil)
	defer d.Close()
	const tail = 1000
	for at := 0; at < len(whole)-tail; at += 10_000 {
		s.Write(whole[at:min(at+10_000, len(whole)-tail)])
	}
	// What is decoded lies in memory; of the last half second of it nothing is known yet.
	eventually(t, "it is decoded", func() bool { return tr.gate.bytes.Load() >= 4*39*engine.SampleRate })
	select {
	case <-d.done:
		t.Fatal("it ended before the upload")
	default:
	}
	s.Write(whole[len(whole)-tail:])
	s.end(nil)
	pcm, err := d.take(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if len(pcm.Samples) != 40*engine.SampleRate {
		t.Errorf("got %d samples", len(pcm.Samples))
	}
	pcm.Close()
	if got := tr.gate.bytes.Load(); got != 0 {
		t.Errorf("%d bytes held after all", got)
	}
}

// TestSlowUploadsHoldNoPlaces: those who send slowly don't keep others from being decoded.
func TestSlowUploadsHoldNoPlaces(t *testing.T) {
	ts := newTestServer(t, nil)
	clip := speechWAV(2, 1)
	var writers []*io.PipeWriter
	var replies []chan *answer
	for range 4 * runtime.GOMAXPROCS(0) {
		w, reply := sendSlowly(t, ts, "/v1/transcribe", "audio/wav")
		w.Write(clip[:30_000])
		writers, replies = append(writers, w), append(replies, reply)
	}
	if a := ts.transcribe(t, clip); a.status != 200 {
		t.Errorf("beside them: status %d: %s", a.status, a.body)
	}
	for i, w := range writers {
		w.Write(clip[30_000:])
		w.Close()
		if a := <-replies[i]; a.status != 200 {
			t.Errorf("a slow one: status %d: %s", a.status, a.body)
		}
	}
}

// TestSpoolReader reads a spool while it is written, in memory and on its way to a file.
func TestSpoolReader(t *testing.T) {
	whole := speechWAV(3, 1)
	for name, threshold := range map[string]int64{"memory": 1 << 20, "file": 0, "both": 50_000} {
		t.Run(name, func(t *testing.T) {
			s := &spool{limit: 1 << 20, threshold: threshold, dir: t.TempDir(), share: &memoryShare{}}
			defer s.Close()
			go func() {
				for at := 0; at < len(whole); at += 777 {
					s.Write(whole[at:min(at+777, len(whole))])
				}
				s.end(nil)
			}()
			r := s.reader(context.Background())
			if ok, err := r.Reach(40_000); !ok || err != nil {
				t.Fatalf("reach: %v, %v", ok, err)
			}
			got, err := io.ReadAll(r)
			if err != nil || !bytes.Equal(got, whole) {
				t.Errorf("got %d bytes, %v, want %d", len(got), err, len(whole))
			}
			if n, err := r.Seek(-10, io.SeekEnd); n != int64(len(whole)-10) || err != nil {
				t.Errorf("seek: %d, %v", n, err)
			}
			if ok, err := r.Reach(int64(len(whole) + 1)); ok || err != nil {
				t.Errorf("beyond the end: %v, %v", ok, err)
			}
		})
	}
	s := &spool{limit: 1 << 20, threshold: 1 << 20, share: &memoryShare{}}
	s.Write(whole[:100])
	s.end(io.ErrUnexpectedEOF)
	if got, err := io.ReadAll(s.reader(context.Background())); len(got) != 100 || err != io.ErrUnexpectedEOF {
		t.Errorf("broken off: %d bytes, %v", len(got), err)
	}
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	open := &spool{limit: 1 << 20, threshold: 1 << 20, share: &memoryShare{}}
	if _, err := open.reader(gone).Read(make([]byte, 1)); err != context.Canceled {
		t.Errorf("nobody waits: %v", err)
	}
	s.Close()
	open.Close()
}
