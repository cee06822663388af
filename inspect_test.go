package main

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hark/server"
)

// corpusRecord is one file of the corpus's manifest.json.
type corpusRecord struct {
	Path           string
	Category       string
	DecodedSeconds float64 `json:"decoded_seconds"` // by ffmpeg; 0 where it is not known
	Expect         string  // "ok" or "error:" and why
	ErrorAlsoFine  bool    `json:"error_also_fine"`
}

// corpus returns the folder of the audio corpus and what it holds. Without one the test is skipped, unless CI is set.
func corpus(t *testing.T) (dir string, records []corpusRecord) {
	t.Helper()
	root := os.Getenv("HARK_SHARED")
	if root == "" {
		root = filepath.Join("..", "shared")
	}
	dir = filepath.Join(root, "audio")
	text, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("the test corpus is missing: set HARK_SHARED (%v)", err)
		}
		t.Skipf("no test corpus: set HARK_SHARED (%v)", err)
	}
	if err := json.Unmarshal(text, &records); err != nil {
		t.Fatal(err)
	}
	return dir, records
}

// longer are the files of which hark hears more than ffmpeg: a second data chunk, and what lies around a damage; its
// figure is the most there can be.
var longer = map[string]float64{
	"formats/wav-two-data-chunks.wav": 5.139, "broken/corrupt-middle.mp3": 9.18, "broken/corrupt-middle.opus": 9.082, "broken/corrupt-middle.webm": 9.075,
}

// TestInspectCorpus: every file of the corpus is described, with the exit code and the duration that its manifest asks
// for. It must come out so without ffmpeg as well, but for what only ffmpeg decodes.
func TestInspectCorpus(t *testing.T) {
	dir, records := corpus(t)
	for _, r := range records {
		if r.Category != "formats" && r.Category != "broken" {
			continue
		}
		t.Run(r.Path, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			// What is longer is a bomb, and unfolding it takes a while.
			err := run(t.Context(), []string{"inspect", "--json", "--max-duration", "1m", filepath.Join(dir, r.Path)}, strings.NewReader(""), &stdout, &stderr)
			var file struct {
				File string
				server.FileReport
			}
			if err := json.Unmarshal(stdout.Bytes(), &file); err != nil {
				t.Fatalf("%v: %s%s", err, &stdout, &stderr)
			}
			if stderr.Len() > 0 {
				t.Errorf("stderr: %s", &stderr)
			}
			if info, err := os.Stat(filepath.Join(dir, r.Path)); err != nil || info.Size() != file.Bytes {
				t.Errorf("got %d bytes (%v)", file.Bytes, err)
			}
			checkInspected(t, r, &file.FileReport, exitCode(err))
		})
	}
}

func checkInspected(t *testing.T, r corpusRecord, f *server.FileReport, code int) {
	t.Helper()
	refused := strings.HasPrefix(r.Expect, "error:")
	switch {
	case code != 0 && code != 1:
		t.Fatalf("exit code %d", code)
	case (code == 1) != refused && !r.ErrorAlsoFine:
		t.Fatalf("exit code %d, want %s: %+v", code, r.Expect, f)
	case (code == 1) != (f.Reason != ""):
		t.Fatalf("exit code %d with reason %q", code, f.Reason)
	case code == 1:
		if f.CostMillis != nil || f.Lane != "" {
			t.Errorf("a file that can't be heard has a cost: %+v", f)
		}
		return
	case refused && len(f.Faults) == 0 && !harmless[r.Path]:
		t.Errorf("nothing is said about %s: %+v", r.Expect, f)
	}
	if f.Container == "" || f.Codec == "" || f.SampleRate == 0 || f.Channels == 0 || len(f.Tracks) == 0 || f.CostMillis == nil || f.Lane == "" {
		t.Errorf("something is missing: %+v", f)
	}
	want, most := r.DecodedSeconds, r.DecodedSeconds
	if m, ok := longer[r.Path]; ok {
		most = m
	}
	if want > 0 && (f.Duration < want-0.12 || f.Duration > most+0.12) {
		t.Errorf("got %.3f s, want %.3f to %.3f s", f.Duration, want, most)
	}
	if ms := float64(*f.CostMillis); ms > math.Ceil(f.Duration*1000)+1 {
		t.Errorf("%.3f s cost %.0f ms", f.Duration, ms)
	}
}

// harmless are damages that take nothing away from the sound and that nobody needs to be told of.
var harmless = map[string]bool{
	"broken/id3-claims-256mb.mp3": true, // the frames begin behind the tag's real end
	"broken/m4a-atom-size-0.m4a":  true, // which means: to the end of the file
}

// TestInspectedFaults: the faults that the corpus was made with are named.
func TestInspectedFaults(t *testing.T) {
	dir, _ := corpus(t)
	for path, want := range map[string]string{
		"broken/truncated.wav":                        "truncated: ",
		"broken/truncated.mp3":                        "truncated: ",
		"broken/truncated.flac":                       "truncated: ",
		"broken/truncated.aiff":                       "truncated: ",
		"broken/truncated-opus.opus":                  "truncated: ",
		"broken/truncated-faststart.m4a":              "truncated: ",
		"broken/wav-claims-4gb.wav":                   "truncated: the data chunk claims 4294967259 bytes",
		"broken/flac-claims-49-days.flac":             "truncated: ",
		"broken/hard-clipped.wav":                     "clipped: ",
		"broken/dc-offset.wav":                        "dc offset: ",
		"broken/very-quiet.wav":                       "quiet: ",
		"broken/silence-30s.flac":                     "silent: ",
		"broken/float-nan-inf-sprinkled.wav":          "146 samples were NaN",
		"broken/text-named-wav.wav":                   "mislabelled: ",
		"broken/png-named-mp3.mp3":                    "mislabelled: ",
		"formats/mp3-named-wav.wav":                   "mislabelled: ",
		"formats/flac-named-mp3.mp3":                  "mislabelled: ",
		"formats/wav-s16-16000-stereo-antiphase.wav":  "anti-phase: ",
		"formats/wav-s16-16000-stereo-right-only.wav": "silent channel: of 2 channels, nothing is on 1",
		"broken/corrupt-middle.flac":                  "1 damaged frames were left out",
	} {
		var stdout bytes.Buffer
		run(t.Context(), []string{"inspect", "--json", filepath.Join(dir, path)}, strings.NewReader(""), &stdout, &stdout)
		var file server.FileReport
		if err := json.Unmarshal(stdout.Bytes(), &file); err != nil {
			t.Errorf("%s: %v: %s", path, err, &stdout)
		}
		found := false
		for _, fault := range file.Faults {
			found = found || strings.HasPrefix(fault, want)
		}
		if !found {
			t.Errorf("%s: got %q, want %q", path, file.Faults, want)
		}
	}
}
