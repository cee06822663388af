package server

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

const boundary = "frontier"

// part is one part of a multipart body, its header as given.
func part(header, value string) string {
	return "--" + boundary + "\r\n" + header + "\r\n\r\n" + value + "\r\n"
}

func field(name, value string) string {
	return part(`Content-Disposition: form-data; name="`+name+`"`, value)
}

const lastBoundary = "--" + boundary + "--\r\n"

// TestForms sends the same request in the ways that clients do; all must come out alike.
func TestForms(t *testing.T) {
	file := func(disposition string) string {
		return part("Content-Disposition: form-data; "+disposition, "RIFFaudio")
	}
	plain := file(`name="file"; filename="a.wav"`)
	fields := field("model", "m") + field("timestamp_granularities[]", "word")
	for name, body := range map[string]string{
		"fields first":            fields + plain + lastBoundary,
		"file first":              plain + fields + lastBoundary,
		"file in the middle":      field("model", "m") + plain + field("timestamp_granularities[]", "word") + lastBoundary,
		"without brackets":        field("model", "m") + field("timestamp_granularities", "word") + plain + lastBoundary,
		"with an index":           field("model", "m") + field("timestamp_granularities[0]", "word") + plain + lastBoundary,
		"unquoted":                part(`Content-Disposition: form-data; name=model`, "m") + field("timestamp_granularities[]", "word") + file(`name=file; filename=a.wav`) + lastBoundary,
		"no file name":            fields + file(`name="file"`) + lastBoundary,
		"empty file name":         fields + file(`name="file"; filename=""`) + lastBoundary,
		"UTF-8 file name":         fields + file(`name="file"; filename="Гр´üße 你好.wav"`) + lastBoundary,
		"RFC 5987 file name":      fields + file(`name="file"; filename*=UTF-8''%e4%bd%a0.wav`) + lastBoundary,
		"escaped quotes":          fields + file(`name="file"; filename="a \"b\".wav"`) + lastBoundary,
		"bare quotes":             fields + file(`name="file"; filename="a "b".wav"`) + lastBoundary,
		"bare quotes, name last":  fields + file(`filename="a "b".wav"; name="file"`) + lastBoundary,
		"invalid bytes":           fields + file("name=\"file\"; filename=\"\xff\xfe.wav\"") + lastBoundary,
		"upper-case header":       fields + part(`CONTENT-DISPOSITION: form-data; name="file"; filename="A"`, "RIFFaudio") + lastBoundary,
		"content type and length": fields + part("Content-Disposition: form-data; name=\"file\"; filename=\"a\"\r\nContent-Type: audio/x-wav\r\nContent-Length: 9", "RIFFaudio") + lastBoundary,
		"preamble and epilogue":   "hello\r\n" + fields + plain + lastBoundary + "good bye\r\n",
		"same value twice":        fields + field("model", "m") + plain + lastBoundary,
		"a model with file name":  part(`Content-Disposition: form-data; name="model"; filename="blob"`, "m") + field("timestamp_granularities[]", "word") + plain + lastBoundary,
	} {
		t.Run(name, func(t *testing.T) {
			for how, r := range map[string]io.Reader{
				"whole":        strings.NewReader(body),
				"byte by byte": iotest.OneByteReader(strings.NewReader(body)),
				"with EOF":     iotest.DataErrReader(strings.NewReader(body)),
			} {
				up, err := readUpload("multipart/form-data; boundary="+boundary, r, uploadLimits{spoolThreshold: 4, maxFileBytes: 100, spoolDir: t.TempDir(), memory: &memoryShare{}}, false)
				if err != nil {
					t.Fatalf("%s: %v", how, err)
				}
				model, err := up.fields.text("model")
				if up.audio == nil || model != "m" || err != nil || !slices.Equal(up.fields.list("timestamp_granularities"), []string{"word"}) {
					t.Fatalf("%s: got fields %v, audio %v", how, up.fields, up.audio)
				}
				if got := readAll(t, up.audio); got != "RIFFaudio" {
					t.Errorf("%s: got audio %q", how, got)
				}
				up.Close()
			}
		})
	}
}

func readAll(t *testing.T, s *spool) string {
	t.Helper()
	b := make([]byte, s.length())
	if _, err := io.ReadFull(s.reader(context.Background()), b); err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestPlainName(t *testing.T) {
	for name, want := range map[string]string{
		"include": "include", "include[]": "include", "include[0]": "include", "include[12]": "include", "languages[007]": "languages",
		"include[x]": "include[x]", "include[-1]": "include[-1]", "include[0": "include[0", "include[0]x": "include[0]x", "include[0][1]": "include[0][1]",
		"model[0]": "model[0]", "nobody[0]": "nobody[0]", "[0]": "[0]", "": "",
	} {
		if got := plainName(name); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]bool{"model": true, "include[3]": true, "chunking_strategy[type]": true,
		"model[x]": false, "include[x]": false, "chunking_strategy[x]": false} {
		if known(name) != want {
			t.Errorf("%q is known: %v, want %v", name, !want, want)
		}
	}
}

func TestListsAsJSON(t *testing.T) {
	f := fields{"timestamp_granularities": {`["word", " segment", ""]`, "word", " "}}
	if got := f.list("timestamp_granularities"); !slices.Equal(got, []string{"word", "segment", "word"}) {
		t.Errorf("got %q", got)
	}
}

func TestSpool(t *testing.T) {
	dir := t.TempDir()
	share := &memoryShare{}
	s := &spool{dir: dir, threshold: 10, limit: 25, share: share}
	for _, p := range []string{"0123456789", "abcdefghij", "klmno"} {
		if n, err := s.Write([]byte(p)); n != len(p) || err != nil {
			t.Fatalf("write %q: %d, %v", p, n, err)
		}
		if s.onDisk() != (s.length() > 10) {
			t.Errorf("after %d bytes: on disk %v", s.length(), s.onDisk())
		}
	}
	var api *apiError
	if _, err := s.Write([]byte("p")); !errors.As(err, &api) || api.status != 413 {
		t.Errorf("beyond the limit: %v, want a 413", err)
	}
	for range 2 {
		if got := readAll(t, s); got != "0123456789abcdefghijklmno" {
			t.Errorf("got %q", got)
		}
	}
	s.Close()
	s.Close()
	wantEmpty(t, dir)

	// With no memory left, the first byte goes to disk.
	share.used.Store(uploadMemory)
	s = &spool{dir: dir, threshold: 10, limit: 25, share: share}
	if _, err := s.Write([]byte("a")); err != nil || !s.onDisk() || readAll(t, s) != "a" {
		t.Errorf("without memory: %v, on disk %v", err, s.onDisk())
	}
	s.Close()
	if used := share.used.Load(); used != uploadMemory {
		t.Errorf("%d bytes counted, want %d", used, uploadMemory)
	}

	s = &spool{dir: dir + "/missing", threshold: 1, limit: 100, share: share}
	if _, err := s.Write([]byte("ab")); !errors.As(err, &api) || api.status != 500 {
		t.Errorf("to a missing folder: %v, want a 500", err)
	}
	s.Close()

	if runtime.GOOS == "linux" {
		full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		s = &spool{threshold: 1, limit: 100, share: share, file: full}
		if _, err := s.Write([]byte("ab")); !errors.As(err, &api) || api.status != 507 {
			t.Errorf("to a full disk: %v, want a 507", err)
		}
		s.Close()
		s.size = 2
		if _, err := s.reader(context.Background()).Read(make([]byte, 2)); !errors.As(err, &api) || api.status != 500 {
			t.Errorf("from a closed file: %v, want a 500", err)
		}
	}
}

func wantEmpty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) > 0 {
		t.Errorf("%d files are left, the first %s", len(entries), entries[0].Name())
	}
}

// FuzzRequestFields holds the parser of forms and fields to this: it never panics, stores no more than it was
// sent, finds the same in a body that comes in pieces, leaves no file behind, and every refusal is an answer of
// the four hundreds that names its reason.
func FuzzRequestFields(f *testing.F) {
	file := part(`Content-Disposition: form-data; name="file"; filename="a.wav"`, "RIFFaudio that is long enough for the disk")
	for _, body := range []string{
		field("model", "m") + file + lastBoundary,
		file + field("language", "en-US") + field("temperature", "0.5") + lastBoundary,
		field("timestamp_granularities[]", "word") + field("timestamp_granularities[]", "segment") + field("response_format", "verbose_json") + lastBoundary,
		field("chunking_strategy", `{"type":"server_vad"}`) + field("chunking_strategy[type]", "auto") + lastBoundary,
		field("include[]", "logprobs") + field("known_speaker_names[]", "x") + field("deadline_ms", "1e9") + field("[]", "") + lastBoundary,
		field("timestamp_granularities[0]", "word") + field("timestamp_granularities[01][]", "segment") + field("model[x]", "m") + lastBoundary,
		field("languages", `["en"]`) + field("stream", "TRUE") + field("sequential", "1") + lastBoundary,
		part(`Content-Disposition: form-data; filename="name=x"; name=file`, "") + lastBoundary,
		part(`Content-Disposition: form-data; name="fi"le"`, "x"),
		part("Content-Transfer-Encoding: quoted-printable\r\nContent-Disposition: form-data; name=prompt", "a=3Db=") + lastBoundary,
		"--" + boundary,
		"",
	} {
		f.Add([]byte(body))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, body []byte) {
		memory := &memoryShare{}
		lim := uploadLimits{spoolDir: dir, spoolThreshold: 16, maxFileBytes: 64, memory: memory}
		const contentType = "multipart/form-data; boundary=" + boundary
		up, err := readUpload(contentType, bytes.NewReader(body), lim, false)
		again, errAgain := readUpload(contentType, iotest.HalfReader(bytes.NewReader(body)), lim, false)
		if (err == nil) != (errAgain == nil) {
			t.Fatalf("whole: %v, in pieces: %v", err, errAgain)
		}
		if err != nil {
			checkRefusal(t, uploadError(err))
			wantEmpty(t, dir)
			return
		}
		if !maps.EqualFunc(up.fields, again.fields, slices.Equal) || (up.audio == nil) != (again.audio == nil) {
			t.Fatalf("whole: %v, in pieces: %v", up.fields, again.fields)
		}
		stored := 0
		for name, values := range up.fields {
			stored += len(name) * len(values)
			for _, v := range values {
				stored += len(v)
			}
		}
		if up.audio != nil {
			if readAll(t, up.audio) != readAll(t, again.audio) {
				t.Fatal("the audio differs in pieces")
			}
			stored += int(up.audio.length())
		}
		if stored > len(body) {
			t.Fatalf("%d bytes stored of %d", stored, len(body))
		}
		for _, d := range []dialect{{}, {openAI: true}} {
			if v, err := parseWishes(up.fields, d); err != nil {
				checkRefusal(t, err)
			} else if v.format == "" || v.deadline < 0 || v.options.WordTimestamps && v.format != VerboseJSON {
				t.Fatalf("got %+v", v)
			}
		}
		up.Close()
		again.Close()
		wantEmpty(t, dir)
		if used := memory.used.Load(); used != 0 {
			t.Fatalf("%d bytes of memory are still counted", used)
		}
	})
}

func checkRefusal(t *testing.T, err error) {
	t.Helper()
	var api *apiError
	if !errors.As(err, &api) || api.status < 400 || api.status > 499 || api.code == "" || api.message == "" {
		t.Fatalf("got %#v, want an answer of the four hundreds with a code and a message", err)
	}
}
