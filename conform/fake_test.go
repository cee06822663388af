package conform

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/coder/websocket"
)

// fake is a server that answers rightly, but for its flaws. What it hears is the recording, see ear.
type fake struct {
	ear   *ear
	key   string
	flaws map[string]bool

	device    chan struct{} // the lock of one-at-a-time; made in the bubble of the test
	mu        sync.Mutex
	inFlight  int
	served    int
	latest    string            // text of the upload that came last
	leftovers string            // the last prompt
	jobs      map[string]string // texts
}

// pace is how many seconds of speech the fake transcribes in one.
const pace = 4

func newFake(e *ear, key string, flaws ...string) *fake {
	f := &fake{ear: e, key: key, flaws: map[string]bool{}, jobs: map[string]string{}}
	for _, name := range flaws {
		f.flaws[name] = true
	}
	return f
}

// has reports whether the server has a flaw.
func (f *fake) has(flaw string) bool { return f.flaws[flaw] }

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	keyed := strings.HasPrefix(r.URL.Path, "/v1") && !f.has("no-keys") || f.has("keys-everywhere")
	if r.Method == http.MethodOptions && !f.has("keys-everywhere") {
		keyed = false
	}
	if keyed && f.key != "" && r.Header.Get("Authorization") != "Bearer "+f.key {
		if f.has("keys-everywhere") {
			w.Header().Set("Access-Control-Allow-Origin", "*")
		}
		f.fail(w, 401, "", "wrong key")
		return
	}
	switch r.URL.Path {
	case "/healthz", "/readyz":
	case "/metrics":
		if f.has("no-metrics") {
			return
		}
		resident := 100 << 20
		if f.has("leaks-memory") {
			resident += f.served << 20
		}
		fmt.Fprintf(w, "process_resident_memory_bytes %d\n", resident)
	case "/v1/models":
		io.WriteString(w, `{"data":[{"id":"fake"}]}`)
	case "/v1/realtime":
		f.live(w, r)
	case "/v1/audio/transcriptions":
		f.transcriptions(w, r)
	default:
		if text, ok := f.job(r.URL.Path); ok {
			f.writeJSON(w, map[string]any{"text": text})
			return
		}
		f.fail(w, 404, "", "no such path")
	}
}

func (f *fake) job(path string) (string, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	text, ok := f.jobs[path]
	return text, ok
}

// fail answers with an error in OpenAI's form, or as FastAPI does.
func (f *fake) fail(w http.ResponseWriter, status int, param, message string) {
	w.Header().Set("Content-Type", "application/json")
	var body any = map[string]any{"error": map[string]any{"message": message, "type": "invalid_request_error", "param": param, "code": nil}}
	switch {
	case f.has("fastapi-errors"):
		body = map[string]any{"detail": message}
	case f.has("always-500") && status < 500:
		status = 500
	}
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(body)
}

func (f *fake) writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(v)
}

// wish is a request that was read.
type wish struct {
	fields map[string]string
	name   string // of the file
	data   []byte
}

// read takes a form apart. An error is answered already.
func (f *fake) read(w http.ResponseWriter, r *http.Request) (*wish, bool) {
	if r.ContentLength > 1<<30 && !f.has("reads-on") {
		f.fail(w, 413, "file", "too large")
		return nil, false
	}
	if r.ContentLength < 0 && f.has("needs-length") {
		f.fail(w, 411, "", "no length")
		return nil, false
	}
	v := &wish{fields: map[string]string{}}
	reader, err := r.MultipartReader()
	if err != nil {
		f.fail(w, 400, "file", err.Error())
		return nil, false
	}
	found := false
	for {
		p, err := reader.NextPart()
		if err == io.EOF {
			break
		}
		if err != nil {
			f.fail(w, 400, "", err.Error())
			return nil, false
		}
		data, err := io.ReadAll(p)
		if err != nil {
			return nil, false
		}
		if p.FormName() != "file" {
			v.fields[p.FormName()] += string(data) // granularities come one by one
			continue
		}
		if status, ok := f.takesFile(p, v); !ok {
			f.fail(w, status, "file", "this file is not taken: send wav")
			return nil, false
		}
		v.name, v.data, found = p.FileName(), data, true
	}
	switch {
	case !found:
		f.fail(w, 400, "file", "no file")
	case v.fields["model"] == "":
		f.fail(w, 400, "model", "no model")
	default:
		return v, true
	}
	return nil, false
}

// takesFile is where servers look at more than a file's bytes.
func (f *fake) takesFile(p *multipart.Part, v *wish) (int, bool) {
	disposition := p.Header.Get("Content-Disposition")
	switch {
	case f.has("routes-on-model") && v.fields["model"] == "",
		f.has("wants-audio-type") && !strings.HasPrefix(p.Header.Get("Content-Type"), "audio/"):
		return 400, false
	case f.has("goes-by-name") && !strings.HasSuffix(p.FileName(), ".wav"),
		f.has("plain-names") && strings.ContainsAny(disposition, `\*`),
		f.has("plain-names") && strings.ContainsFunc(disposition, func(r rune) bool { return r > 127 }):
		return 500, false
	}
	return 0, true
}

// enter counts a request in flight; the call returned ends that.
func (f *fake) enter(text string) (others int, leave func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	others = f.inFlight
	f.inFlight++
	f.served++
	f.latest = text
	return others, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.inFlight--
	}
}

func (f *fake) transcriptions(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodOptions {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", "POST")
		f.fail(w, 405, "", "use POST")
		return
	}
	v, ok := f.read(w, r)
	if !ok {
		return
	}
	if param, ok := f.understood(v); !ok {
		if param == "language" && f.has("raw-languages") {
			f.fail(w, 500, "", "KeyError")
			return
		}
		f.fail(w, 400, param, "bad "+param)
		return
	}
	h := f.ear.hear(v.data)
	if len(v.data) == 0 || h.err != nil || f.has("plain-wav-only") && !plainWAV(v.data) || f.has("no-short-ones") && h.seconds < 1 {
		status := 400
		if len(v.data) > 0 && !strings.HasPrefix(string(v.data), "These are words") && (f.has("plain-wav-only") || f.has("no-short-ones")) {
			status = 500
		}
		f.fail(w, status, "file", "this file is not taken: send wav")
		return
	}
	f.answer(w, r, v, f.flawed(h, v))
}

// plainWAV reports whether a file is the one form of WAV that naive readers know.
func plainWAV(data []byte) bool {
	le := binary.LittleEndian
	return len(data) > 44 && string(data[:4]) == "RIFF" && le.Uint16(data[20:]) == 1 && le.Uint16(data[22:]) == 1 && le.Uint32(data[24:]) == sampleRate &&
		le.Uint16(data[34:]) == 16 && int(le.Uint32(data[40:])) == len(data)-44
}

// languages are those that are understood, English first.
var languages = []string{"", "auto", "en", "english", "en-us", "pt", "pt-br", "zh", "zh-hans", "yue", "cantonese", "de", "ja"}

// understood checks the fields.
func (f *fake) understood(v *wish) (param string, ok bool) {
	formats := []string{"", "json", "verbose_json", "text", "srt", "vtt", "diarized_json"}
	if format := v.fields["response_format"]; !slices.Contains(formats, format) && !f.has("falls-back-to-json") {
		return "response_format", false
	}
	language := v.fields["language"]
	known := slices.Contains(languages, strings.ReplaceAll(strings.ToLower(language), "_", "-"))
	if f.has("raw-languages") {
		_, sent := v.fields["language"]
		known = len(language) == 2 && strings.ToLower(language) == language || !sent
	}
	if !known && !f.has("any-language") || f.has("knows-english-only") && slices.Contains(languages[5:], language) {
		return "language", false
	}
	if t, err := strconv.ParseFloat(v.fields["temperature"], 64); v.fields["temperature"] != "" && (err != nil || t > 1) && !f.has("any-temperature") {
		return "temperature", false
	}
	for name := range v.fields {
		if strings.HasPrefix(name, "chunking_strategy") && f.has("refuses-chunking") {
			return "chunking_strategy", false
		}
	}
	return "", true
}

// flawed is what the fake takes for what was said.
func (f *fake) flawed(h heard, v *wish) heard {
	words := slices.Clone(h.words)
	h.words = nil
	for _, w := range words {
		switch {
		case f.has("loses-words-at-cuts") && w.end > 28 && w.start < 31,
			f.has("first-window-only") && w.start > 20,
			f.has("deaf"):
			continue
		case f.has("drifts"):
			w.start, w.end = w.start*1.02, w.end*1.02
		}
		h.words = append(h.words, w)
	}
	quietTail := h.seconds
	if len(words) > 0 {
		quietTail -= words[len(words)-1].end - words[0].start
	}
	if f.has("thanks-for-watching") && quietTail > 5 {
		for i := range 3 {
			for j, w := range []string{"Thank", "you", "so", "much."} {
				h.words = append(h.words, spoken{w, h.seconds - 0.1*float64(12-4*i-j), h.seconds - 0.1*float64(11-4*i-j)})
			}
		}
	}
	if f.has("thanks-for-nothing") && h.seconds < 0.2 {
		h.words = []spoken{{"Thank", 0, h.seconds}, {"you.", 0, h.seconds}}
	}
	if f.has("leaks-prompts") {
		f.mu.Lock()
		if f.leftovers != "" {
			h.words = append(h.words, spoken{f.leftovers, h.seconds - 0.1, h.seconds})
		}
		f.leftovers = ""
		if p := v.fields["prompt"]; p != "" {
			f.leftovers = p
		}
		f.mu.Unlock()
	}
	return h
}

func textOf(words []spoken) string {
	var all []string
	for _, w := range words {
		all = append(all, w.word)
	}
	return strings.Join(all, " ")
}

// work takes the time of a transcription. False means that its client left.
func (f *fake) work(ctx context.Context, seconds float64) bool {
	if f.has("works-for-the-dead") || f.has("one-at-a-time") {
		f.device <- struct{}{}
		defer func() { <-f.device }()
	}
	took := seconds / pace
	if f.has("loads-late") && f.served == 1 {
		took += 20
	}
	if f.has("works-for-the-dead") {
		ctx = context.WithoutCancel(ctx)
	}
	return pause(ctx, inSeconds(took)) == nil
}

// answer transcribes and renders.
func (f *fake) answer(w http.ResponseWriter, r *http.Request, v *wish, h heard) {
	text := textOf(h.words)
	others, leave := f.enter(text)
	defer leave()
	if f.has("resets-when-full") && others >= 32 {
		link, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			link.Close()
		}
		return
	}
	if others >= 100 {
		w.Header().Set("Retry-After", "5")
		f.fail(w, 429, "", "too much is waiting")
		return
	}
	if r.Header.Get("Prefer") == "respond-async" && !f.has("no-jobs") {
		f.accept(w, h, text)
		return
	}
	if v.fields["stream"] == "true" && !f.has("no-streams") {
		f.stream(w, r, h)
		return
	}
	if !f.work(r.Context(), h.seconds) {
		return
	}
	if f.has("one-file-for-all") {
		f.mu.Lock()
		crowded, latest := f.inFlight > 1, f.latest
		f.mu.Unlock()
		if crowded && latest == text {
			f.fail(w, 500, "", "file exists")
			return
		}
		text = latest
		h.words = []spoken{{latest, 0, h.seconds}}
	}
	f.render(w, v, h, text)
}

func (f *fake) accept(w http.ResponseWriter, h heard, text string) {
	at := fmt.Sprintf("/v1/jobs/%d", f.served)
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.has("loses-jobs") {
		f.jobs[at] = text
	}
	w.Header().Set("Location", at)
	w.WriteHeader(http.StatusAccepted)
}

// render writes the answer in the form asked for.
func (f *fake) render(w http.ResponseWriter, v *wish, h heard, text string) {
	format := v.fields["response_format"]
	if f.has("falls-back-to-json") {
		format = "json"
	}
	segments := f.segments(h)
	switch format {
	case "text":
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		io.WriteString(w, text+"\n")
	case "srt", "vtt":
		f.subtitles(w, format, segments)
	case "verbose_json":
		f.verbose(w, v, h, text, segments)
	case "diarized_json":
		f.fail(w, 400, "response_format", "no speakers here")
	default:
		answer := map[string]any{"text": text}
		if f.has("verbose-by-default") {
			answer["segments"] = segments
		}
		f.writeJSON(w, answer)
	}
}

// segments cuts words at pauses.
func (f *fake) segments(h heard) []segment {
	var out []segment
	for i, w := range h.words {
		if i == 0 || w.start-h.words[i-1].end > 0.3 && !f.has("spans-silence") {
			out = append(out, segment{ID: len(out), Start: w.start})
		}
		g := &out[len(out)-1]
		g.Text += " " + w.word
		g.End = min(w.end, h.seconds)
		if f.has("drifts") {
			g.End = w.end
		}
	}
	return out
}

func (f *fake) verbose(w http.ResponseWriter, v *wish, h heard, text string, segments []segment) {
	list := []any{}
	for _, g := range segments {
		o := map[string]any{"id": g.ID, "seek": 0, "start": g.Start, "end": g.End, "text": g.Text, "tokens": []int{1}, "temperature": 0,
			"avg_logprob": -0.2, "compression_ratio": 1.1, "no_speech_prob": 0.01}
		if f.has("null-in-segments") {
			o["no_speech_prob"] = nil
		}
		list = append(list, o)
	}
	language := "english"
	if h.language != "" && !f.has("all-is-english") {
		language = h.language
	}
	answer := map[string]any{"task": "transcribe", "language": language, "duration": h.seconds, "text": text, "segments": list}
	if f.has("duration-as-string") {
		answer["duration"] = fmt.Sprint(h.seconds)
	}
	granularity := v.fields["timestamp_granularities[]"] + v.fields["timestamp_granularities"]
	if f.has("brackets-only") {
		granularity = v.fields["timestamp_granularities[]"]
	}
	if strings.Contains(granularity, "word") {
		answer["words"] = f.words(h)
	}
	if f.has("words-in-segments") {
		delete(answer, "words")
	}
	f.writeJSON(w, answer)
}

func (f *fake) words(h heard) []timed {
	out := []timed{}
	for i, w := range h.words {
		if f.has("spans-silence") { // spread evenly
			n := float64(len(h.words))
			w.start, w.end = float64(i)*h.seconds/n, float64(i+1)*h.seconds/n
		}
		out = append(out, timed{w.word, w.start, min(w.end, h.seconds)})
	}
	return out
}

func (f *fake) subtitles(w http.ResponseWriter, format string, segments []segment) {
	comma := map[string]string{"srt": ",", "vtt": "."}[format]
	clock := func(t float64) string {
		d := inSeconds(t)
		return fmt.Sprintf("%02d:%02d:%02d%s%03d", int(d.Hours()), int(d.Minutes())%60, int(d.Seconds())%60, comma, d.Milliseconds()%1000)
	}
	if format == "vtt" && !f.has("no-vtt-header") {
		io.WriteString(w, "WEBVTT\n\n")
	}
	for i, g := range segments {
		if format == "srt" {
			fmt.Fprintln(w, i+1)
		}
		text := strings.TrimSpace(g.Text)
		if f.has("wraps") {
			text = strings.Replace(text, " ", "\n", 1)
		}
		fmt.Fprintf(w, "%s --> %s\n%s\n\n", clock(g.Start), clock(g.End), text)
	}
}

// stream sends a delta for each word, as its time comes, and a comment where nothing else comes.
func (f *fake) stream(w http.ResponseWriter, r *http.Request, h heard) {
	if f.has("one-at-a-time") {
		f.device <- struct{}{}
		defer func() { <-f.device }()
	}
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	send := func(v map[string]any) bool {
		if f.has("no-types") {
			delete(v, "type")
		}
		text, _ := json.Marshal(v)
		if f.has("cuts-characters") {
			text = bytes.ReplaceAll(text, []byte("火"), []byte("\xe7\x81"))
		}
		_, err := fmt.Fprintf(w, "data: %s\n\n", text)
		return err == nil && out.Flush() == nil
	}
	if f.has("silent-streams") && !f.work(r.Context(), h.seconds) {
		return
	}
	before := 0.0
	for i, word := range h.words {
		if !f.has("silent-streams") && pause(r.Context(), inSeconds(max(0, word.start-before)/pace)) != nil {
			return
		}
		before = word.start
		delta := word.word
		if i > 0 {
			delta = " " + delta
		}
		if f.has("takes-text-back") && i > 0 {
			send(map[string]any{"type": "transcript.text.delta", "delta": h.words[i-1].word})
		}
		if !send(map[string]any{"type": "transcript.text.delta", "delta": delta}) {
			return
		}
	}
	send(map[string]any{"type": "transcript.text.done", "text": textOf(h.words)})
	if !f.has("no-done") {
		io.WriteString(w, "data: [DONE]\n\n")
	}
}

// live answers a live session that commits once.
func (f *fake) live(w http.ResponseWriter, r *http.Request) {
	if f.has("no-live-sessions") {
		f.fail(w, 404, "", "no such path")
		return
	}
	link, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"realtime"}})
	if err != nil {
		return
	}
	defer link.CloseNow()
	var format liveFormat
	var sound []byte
	for {
		_, message, err := link.Read(r.Context())
		if err != nil {
			return
		}
		var e struct {
			Type, Audio string
			Session     struct {
				Audio struct{ Input struct{ Format liveFormat } }
			}
		}
		json.Unmarshal(message, &e)
		switch e.Type {
		case "session.update":
			format = e.Session.Audio.Input.Format
			if f.has("takes-24-khz-for-granted") {
				format = liveFormat{"audio/pcm", 24000}
			}
		case "input_audio_buffer.append":
			piece, _ := base64.StdEncoding.DecodeString(e.Audio)
			sound = append(sound, piece...)
		case "input_audio_buffer.commit":
			form := wavForm{bits: 16, rate: format.Rate, channels: 1}
			if format.Type == "audio/pcmu" {
				form = wavForm{bits: 8, rate: 8000, channels: 1}
			}
			h := f.ear.hear(append(form.header(uint32(len(sound))), sound...))
			say := func(kind string, members map[string]any) {
				members["type"] = "conversation.item.input_audio_transcription." + kind
				text, _ := json.Marshal(members)
				link.Write(r.Context(), websocket.MessageText, text)
			}
			first := textOf(h.words[:min(2, len(h.words))])
			rest := strings.TrimPrefix(textOf(h.words), first)
			if f.has("changes-its-mind-live") {
				first = "something else"
			}
			say("delta", map[string]any{"delta": first})
			say("delta", map[string]any{"delta": rest})
			end := float64(clipSeconds)
			if f.has("live-times-drift") {
				end *= 1.5
			}
			say("segment", map[string]any{"start": 0.0, "end": end, "text": textOf(h.words)})
			say("completed", map[string]any{"transcript": textOf(h.words)})
		}
	}
}

// pipes is a network within the process: what a server listens on, and how clients reach it.
type pipes struct {
	links  chan net.Conn
	closed chan struct{}
}

func newPipes() *pipes { return &pipes{make(chan net.Conn), make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case link := <-p.links:
		return link, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error { close(p.closed); return nil }

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes"} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case p.links <- theirs:
		return ours, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// sorted are the names of a set.
func sorted(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }
