package conform

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func recording(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile("../testdata/sample.wav")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// foreign is a folder with speech in other languages as far as the fake goes.
func foreign(t *testing.T, e *ear) string {
	dir := t.TempDir()
	for i, f := range []struct{ code, language, text string }{
		{"de", "german", "Der letzte Zug fährt um Viertel nach neun."},
		{"zh", "chinese", "火车九点一刻开。"},
		{"ja", "japanese", "最後の火車は九時十五分に出ます。"},
	} {
		data := wavForm{bits: 16, rate: sampleRate, channels: 1}.encode(e.speech.cut(float64(i), 1.5+float64(i)))
		e.teach(data, f.language, f.text)
		for name, content := range map[string][]byte{f.code + ".wav": data, f.code + ".txt": []byte(f.text)} {
			if err := os.WriteFile(filepath.Join(dir, name), content, 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

// examine runs cases against a fake, in virtual time.
func examine(t *testing.T, cfg Config, f *fake) map[string]Result {
	results := map[string]Result{}
	synctest.Test(t, func(t *testing.T) {
		f.device = make(chan struct{}, 1)
		network := newPipes()
		server := &http.Server{Handler: f}
		go server.Serve(network)
		cfg.URL, cfg.Key, cfg.dial = "http://fake.example", f.key, network.dial
		_, err := Run(t.Context(), cfg, func(_ Case, r Result) { results[r.Case] = r })
		if err != nil {
			t.Error(err)
		}
		server.Close()
		time.Sleep(time.Hour) // what a flaw works on ends
		synctest.Wait()
	})
	return results
}

// hours are cases whose sound would take much memory in the fake; what they look at,
// shorter ones of their group do too.
var hours = []string{"T5.1h", "T5.3h"}

// impossible are cases that nobody can try from outside.
var impossible = []string{"T8.after-idling", "T13.unusable-gpu", "T22.unload", "T22.neighbour"}

func allBut(names ...string) (rest []string) {
	for _, c := range table {
		if !slices.Contains(names, c.Name) {
			rest = append(rest, c.Name)
		}
	}
	return rest
}

func TestRightServer(t *testing.T) {
	data := recording(t)
	speech, err := newSpeech(data)
	if err != nil {
		t.Fatal(err)
	}
	e := newEar(speech)
	results := examine(t, Config{Speech: data, Audio: foreign(t, e), All: true, Only: allBut(hours...)}, newFake(e, "secret"))
	for _, c := range table {
		r, ran := results[c.Name]
		switch {
		case slices.Contains(hours, c.Name):
		case !ran:
			t.Errorf("%s was not tried", c.Name)
		case slices.Contains(impossible, c.Name):
			if r.OK != nil {
				t.Errorf("%s can't be tried, got %+v", c.Name, r)
			}
		case r.OK == nil || !*r.OK:
			t.Errorf("%s: a right server got %q, want %s", c.Name, r.Got, c.Want)
		}
	}
}

// flaws are what other servers do, and the cases that must tell, separated by spaces.
var flaws = []struct{ flaw, mustFail string }{
	{"loads-late", "T8.first-clip"},
	{"loses-words-at-cuts", "T1.unbroken"},
	{"one-at-a-time", "T2.behind-recording T2.steady-clips T24.slow-reader"},
	{"one-file-for-all", "T3.identical T3.different"},
	{"resets-when-full", "T4.flood T4.flood-of-recordings"},
	{"first-window-only", "T5.29.9s T5.30.0s T5.30.1s T5.399s T5.410s T14.silence-speech T1.unbroken T18.cues"},
	{"drifts", "T5.399s T5.410s"},
	{"deaf", "T6.wav-s16 T9.en T25.python T16.one-word T14.speech-silence T7.text T7.json T10.stream T15.stream"},
	{"plain-wav-only", "T6.wav-s24 T6.wav-f32 T6.wav-mulaw T6.wav-extensible T6.wav-8khz T6.wav-48khz-stereo T6.wav-96khz T6.wav-5.1 T6.wav-size-0 T6.wav-size-max " +
		"T6.flac T6.mp3-cbr T6.mp3-vbr T6.m4a T6.ogg-vorbis T6.ogg-opus T6.webm-opus T6.webm-recorder T12.truncated-mp3 " +
		"T23.cover-wrong-type T23.cover-8mb T23.two-covers T23.m4a-cover-chapters T23.mp4-video"},
	{"goes-by-name", "T6.no-extension T6.wrong-extension T6.octet-stream"},
	{"verbose-by-default", "T7.json T7.default"},
	{"falls-back-to-json", "T7.text T7.srt T7.vtt T7.verbose T7.verbose-segment T7.verbose-word T7.verbose-both T7.diarized T12.bad-format T18.cues"},
	{"duration-as-string", "T7.verbose T7.verbose-segment T7.verbose-word T7.verbose-both"},
	{"null-in-segments", "T7.verbose T7.verbose-segment T7.verbose-both"},
	{"words-in-segments", "T7.verbose-word T7.verbose-both T25.granularities-bare"},
	{"no-vtt-header", "T7.vtt"},
	{"wraps", "T7.srt T7.vtt"},
	{"raw-languages", "T9.EN T9.en-US T9.en_us T9.english T9.English T9.auto T9.empty T9.pt-BR T9.zh-Hans T9.yue"},
	{"any-language", "T9.xx"},
	{"all-is-english", "T9.german-named T9.german-found"},
	{"routes-on-model", "T25.node T25.go"},
	{"wants-audio-type", "T25.python T25.node T25.go T6.octet-stream"},
	{"needs-length", "T25.node T25.tiny-chunks"},
	{"plain-names", "T25.quoted-name T25.utf8-name T25.rfc5987-name"},
	{"brackets-only", "T25.granularities-bare"},
	{"refuses-chunking", "T25.go T25.chunking-brackets T25.chunking-json"},
	{"fastapi-errors", "T12.no-file T12.no-model T12.empty-file T12.text-file T12.bad-format T12.bad-temperature T12.too-large T12.wrong-key " +
		"T12.unknown-path T12.wrong-method T16.nothing T21.keyed T9.xx T7.diarized"},
	{"always-500", "T12.no-file T12.no-model T12.empty-file T12.text-file T12.bad-format T12.bad-temperature T16.nothing T4.flood"},
	{"any-temperature", "T12.bad-temperature"},
	{"reads-on", "T12.too-large"},
	{"leaks-prompts", "T17.after T17.beside"},
	{"thanks-for-watching", "T14.silence-10s T14.silence-120s T14.noise T14.speech-silence T14.silence-speech T14.tone T14.music"},
	{"thanks-for-nothing", "T16.100ms T16.10ms T16.one-sample"},
	{"no-short-ones", "T16.one-sample T16.10ms T16.100ms T16.one-word T16.0.8s T16.0.999s"},
	{"spans-silence", "T18.cues T18.words"},
	{"no-streams", "T10.stream T10.alive T15.stream T15.chinese T15.japanese"},
	{"no-types", "T10.stream T15.stream"},
	{"no-done", "T10.stream"},
	{"takes-text-back", "T15.stream"},
	{"cuts-characters", "T15.chinese T15.japanese"},
	{"silent-streams", "T10.alive"},
	{"loses-jobs", "T10.job"},
	{"works-for-the-dead", "T11.hang-ups"},
	{"keys-everywhere", "T19.preflight T21.probes"},
	{"no-keys", "T12.wrong-key T21.keyed"},
	{"no-live-sessions", "T20.pcm-24khz T20.pcm-16khz T20.mulaw-8khz"},
	{"changes-its-mind-live", "T20.pcm-24khz T20.pcm-16khz T20.mulaw-8khz"},
	{"live-times-drift", "T20.pcm-24khz T20.pcm-16khz T20.mulaw-8khz"},
	{"takes-24-khz-for-granted", "T20.pcm-16khz T20.mulaw-8khz"},
	{"leaks-memory", "T22.memory"},
}

// TestFlaws holds each case to what it must find: one that can't fail is worth nothing.
func TestFlaws(t *testing.T) {
	data := recording(t)
	speech, err := newSpeech(data)
	if err != nil {
		t.Fatal(err)
	}
	e := newEar(speech)
	audio := foreign(t, e)
	found := map[string]bool{}
	for _, f := range flaws {
		names := strings.Fields(f.mustFail)
		for _, name := range names {
			found[name] = true
		}
		t.Run(f.flaw, func(t *testing.T) {
			results := examine(t, Config{Speech: data, Audio: audio, All: true, Only: names}, newFake(e, "secret", f.flaw))
			for _, name := range names {
				if r := results[name]; r.OK == nil || *r.OK {
					t.Errorf("%s does not see it: %q", name, r.Got)
				}
			}
		})
	}
	for _, c := range table {
		if !found[c.Name] && !slices.Contains(hours, c.Name) && !slices.Contains(impossible, c.Name) {
			t.Errorf("%s: no flaw is known that it finds", c.Name)
		}
	}
}

// TestNotRun holds what could not be tried apart from what failed.
func TestNotRun(t *testing.T) {
	data := recording(t)
	speech, err := newSpeech(data)
	if err != nil {
		t.Fatal(err)
	}
	e := newEar(speech)
	for _, c := range []struct{ name, key, audio, flaw, test, want string }{
		{"no audio", "", "", "", "T9.german-found", "by --audio"},
		{"empty folder", "", t.TempDir(), "", "T15.chinese", "holds no zh.wav"},
		{"model of English alone", "", foreign(t, e), "knows-english-only", "T9.german-found", "does not know"},
		{"no key", "", "", "", "T21.keyed", "by --key"},
		{"no key to be wrong", "", "", "", "T12.wrong-key", "by --key"},
		{"no jobs", "", "", "no-jobs", "T10.job", "no jobs"},
		{"no memory shown", "secret", "", "no-metrics", "T22.memory", "process_resident_memory_bytes"},
		{"too long for the patience", "", "", "", "T5.1h", "--patience"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := Config{Speech: data, Audio: c.audio, All: true, Only: []string{c.test}, Patience: 5 * time.Minute}
			r := examine(t, cfg, newFake(e, c.key, c.flaw))[c.test]
			if r.OK != nil || !strings.Contains(r.Got, c.want) {
				t.Errorf("got %+v, want not run: %s", r, c.want)
			}
		})
	}
}

func TestQuickRunEnds(t *testing.T) {
	data := recording(t)
	speech, _ := newSpeech(data)
	f := newFake(newEar(speech), "", "one-at-a-time")
	results := map[string]Result{}
	var sum Summary
	synctest.Test(t, func(t *testing.T) {
		f.device = make(chan struct{}, 1)
		f.device <- struct{}{} // for ever: nothing is answered
		network := newPipes()
		server := &http.Server{Handler: f}
		go server.Serve(network)
		begin := time.Now()
		var err error
		sum, err = Run(t.Context(), Config{URL: "http://fake.example/v1/", Speech: data, dial: network.dial}, func(_ Case, r Result) { results[r.Case] = r })
		if took := time.Since(begin); err != nil || took > QuickTime+time.Second {
			t.Errorf("got %v after %v", err, took)
		}
		<-f.device
		server.Close()
		time.Sleep(time.Hour)
		synctest.Wait()
	})
	if len(results) != len(table) || sum.OK+sum.Failed+sum.NotRun != len(table) {
		t.Errorf("got %d results, %+v, want %d", len(results), sum, len(table))
	}
	if r := results["T8.first-clip"]; r.OK == nil || *r.OK || !strings.Contains(r.Got, "within 1m0s") {
		t.Errorf("a case without an answer: %+v", r)
	}
	if r := results["T24.slow-reader"]; r.OK != nil || r.Got != "the time of the quick run was over" {
		t.Errorf("a case that was not reached: %+v", r)
	}
}

func TestNoServer(t *testing.T) {
	refuse := func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("connection refused") }
	_, err := Run(t.Context(), Config{URL: "http://fake.example", Speech: recording(t), dial: refuse}, nil)
	if !errors.Is(err, ErrNoServer) || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("got %v", err)
	}
}

func TestConfig(t *testing.T) {
	data := recording(t)
	for name, cfg := range map[string]Config{
		"no scheme":   {URL: "127.0.0.1:8080", Speech: data},
		"other":       {URL: "ftp://fake.example", Speech: data},
		"query":       {URL: "http://fake.example?a=b", Speech: data},
		"case":        {URL: "http://fake.example", Speech: data, Only: []string{"T6", "T99"}},
		"field":       {URL: "http://fake.example", Speech: data, Fields: []string{"model"}},
		"speech":      {URL: "http://fake.example", Speech: []byte("RIFF")},
		"short":       {URL: "http://fake.example", Speech: data[:2000]},
		"half a name": {URL: "http://fake.example", Speech: data, Only: []string{"T"}},
	} {
		if _, err := Run(t.Context(), cfg, nil); !errors.Is(err, ErrConfig) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestTable(t *testing.T) {
	explained, seen := map[string]bool{}, map[string]bool{}
	for _, c := range Cases() {
		if seen[c.Name] || c.Sends == "" || c.Want == "" || c.run == nil {
			t.Errorf("%+v", c)
		}
		seen[c.Name] = true
		explained[c.Group()] = explained[c.Group()] || c.Why != ""
	}
	if len(explained) != 25 {
		t.Errorf("got %d groups, want 25: %v", len(explained), sorted(explained))
	}
}

func TestCard(t *testing.T) {
	var out bytes.Buffer
	card := NewCard(&out)
	yes, no := true, false
	var sum Summary
	for _, r := range []Result{{Case: "T1.a", OK: &yes, Got: "fine"}, {Case: "T1.b", OK: &no, Got: "500\nTraceback"}, {Case: "T1.c", Got: "needs a key"}} {
		sum.add(r)
		if err := card.Write(Case{Name: r.Case, Sends: "a file", Want: "200"}, r); err != nil {
			t.Fatal(err)
		}
		if err := WriteJSON(&out, r); err != nil {
			t.Fatal(err)
		}
	}
	if err := card.Close(sum); err != nil {
		t.Fatal(err)
	}
	want := `T1.a                     ok       fine
{"case":"T1.a","ok":true,"got":"fine","want":""}
T1.b                     FAILED   500 Traceback
                         sent     a file
                         want     200
{"case":"T1.b","ok":false,"got":"500\nTraceback","want":""}
T1.c                     not run  needs a key
{"case":"T1.c","ok":null,"got":"needs a key","want":""}

1 ok, 1 failed, 1 not run
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}
