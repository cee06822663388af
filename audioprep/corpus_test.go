package audioprep

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// sharedPath returns a path inside the corpus, whose folder is HARK_SHARED or
// ../shared beside the repository. Without a corpus the test is skipped, unless
// CI is set: there it must be.
func sharedPath(t testing.TB, elem ...string) string {
	t.Helper()
	root := os.Getenv("HARK_SHARED")
	if root == "" {
		root = filepath.Join("..", "..", "shared")
	}
	if _, err := os.Stat(root); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("the test corpus is missing: set HARK_SHARED (%v)", err)
		}
		t.Skipf("no test corpus: set HARK_SHARED (%v)", err)
	}
	return filepath.Join(append([]string{root}, elem...)...)
}

// record is one file of the corpus's manifest.json.
type record struct {
	Path           string
	Category       string
	DecodedSeconds float64 `json:"decoded_seconds"`
	Seconds        float64
	SampleRate     int `json:"sample_rate"`
	Channels       int
	Codec          string
	Expect         string
	ErrorAlsoFine  bool `json:"error_also_fine"`
	Transcript     *string
}

func manifest(t testing.TB) []record {
	t.Helper()
	b, err := os.ReadFile(sharedPath(t, "audio", "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all []record
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

func decodeFile(t testing.TB, path string, opt Options) (*PCM, error) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return Decode(context.Background(), f, opt)
}

// foreign maps the containers that are not decoded to what Sniff calls them.
var foreign = map[string]string{
	".3gp": "mp4 with AMR", ".ac3": "ac3", ".amr": "amr",
	".wv": "wavpack", ".wma": "asf",
}

// misnamed files are not what their ending says.
var misnamed = map[string]string{
	"broken/gzip-named-flac.flac": "zlib", "broken/html-named-webm.webm": "html",
	"broken/png-named-mp3.mp3": "png", "broken/text-named-wav.wav": "text",
}

// TestCorpus holds every file of formats/ and broken/ to the manifest.
func TestCorpus(t *testing.T) {
	reference, err := decodeFile(t, sharedPath(t, "audio", "formats", "wav-s16-16k-mono.wav"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range manifest(t) {
		if r.Category != "formats" && r.Category != "broken" {
			continue
		}
		t.Run(r.Path, func(t *testing.T) {
			limit := time.Hour
			if strings.Contains(r.Path, "bomb") {
				limit = 5 * time.Minute // of what they unfold to an hour is a long wait
			}
			pcm, err := decodeFile(t, sharedPath(t, "audio", r.Path), Options{MaxDuration: limit})
			name, ours := foreign[filepath.Ext(r.Path)], false
			if m := misnamed[r.Path]; m != "" {
				name = m
			} else if name == "" {
				ours = true
			}
			if !ours {
				var fe *FormatError
				if !errors.As(err, &fe) || fe.Found != name {
					t.Fatalf("got %v, want a FormatError that found %q", err, name)
				}
				return
			}
			if err != nil {
				checkCorpusError(t, r, err)
				return
			}
			if strings.HasPrefix(r.Expect, "error:") && !r.ErrorAlsoFine {
				t.Fatalf("got %v of audio, want %s", pcm.Info.Duration, r.Expect)
			}
			checkPCM(t, pcm)
			checkCorpusPCM(t, r, pcm, reference.Samples)
		})
	}
}

func checkCorpusError(t *testing.T, r record, err error) {
	t.Helper()
	if r.Expect == "ok" && !r.ErrorAlsoFine {
		t.Fatalf("got %v, want audio", err)
	}
	var fe *FormatError
	var ce *CorruptError
	var le *LimitError
	if !errors.As(err, &fe) && !errors.As(err, &ce) && !errors.As(err, &le) && !errors.Is(err, ErrEmpty) {
		t.Errorf("got an error of no documented kind: %v", err)
	}
}

func checkCorpusPCM(t *testing.T, r record, pcm *PCM, reference []float32) {
	t.Helper()
	if r.DecodedSeconds > 0 && !strings.Contains(r.Path, "two-data") && !strings.Contains(r.Path, "bits-7") {
		// ffmpeg drops an MP3's last frame or the decoder's delay here and there.
		// Where something is missing in the middle, it leaves it out and we do not.
		got, most := pcm.Info.Duration.Seconds(), r.DecodedSeconds
		if strings.Contains(r.Path, "corrupt-middle") {
			most = 9.075
		}
		if got < r.DecodedSeconds-0.12 || got > most+0.12 {
			t.Errorf("got %.3f s, want %.3f to %.3f s", got, r.DecodedSeconds, most)
		}
	}
	if r.SampleRate > 0 && pcm.Info.SampleRate != r.SampleRate {
		t.Errorf("got %d Hz, want %d", pcm.Info.SampleRate, r.SampleRate)
	}
	if r.Channels > 0 && pcm.Info.Channels != r.Channels {
		t.Errorf("got %d channels, want %d", pcm.Info.Channels, r.Channels)
	}
	if r.Category == "formats" {
		least := 0.93
		if r.Codec == "opus" {
			least = 0.9 // some have 12 kbit/s
		}
		if c := bestCorrelation(reference, pcm.Samples, 1600); c < least {
			t.Errorf("it does not sound like the reference: correlation %.3f", c)
		}
	}
}

// checkPCM holds a result to what its documentation promises.
func checkPCM(t testing.TB, pcm *PCM) {
	t.Helper()
	if len(pcm.Samples) == 0 {
		t.Fatal("got no samples and no error")
	}
	for i, v := range pcm.Samples {
		if !(v >= -1 && v <= 1) {
			t.Fatalf("sample %d is %v", i, v)
		}
	}
	want := pcm.Info.Duration.Seconds() * SampleRate
	if got := float64(len(pcm.Samples)); math.Abs(got-want) > 1 {
		t.Fatalf("got %v samples for %v", got, pcm.Info.Duration)
	}
}

// bestCorrelation is the highest correlation of a and b over shifts of up to
// maxShift samples either way, sign aside.
func bestCorrelation(a, b []float32, maxShift int) float64 {
	best, at := 0.0, 0
	for shift := -maxShift; shift <= maxShift; shift++ {
		// Every 13th sample finds the place, all of them the value.
		if c := correlation(a, b, shift, 13); c > best {
			best, at = c, shift
		}
	}
	return correlation(a, b, at, 1)
}

func correlation(x, y []float32, shift, step int) float64 {
	x, y = x[min(max(shift, 0), len(x)):], y[min(max(-shift, 0), len(y)):]
	var xy, xx, yy float64
	for i := 0; i < min(len(x), len(y)); i += step {
		xy += float64(x[i]) * float64(y[i])
		xx += float64(x[i]) * float64(x[i])
		yy += float64(y[i]) * float64(y[i])
	}
	return math.Abs(xy) / math.Sqrt(xx*yy+1e-20)
}

// TestCorpusSniff: the name depends on the content alone.
func TestCorpusSniff(t *testing.T) {
	for name, want := range misnamed {
		b, err := os.ReadFile(sharedPath(t, "audio", name))
		if err != nil {
			t.Fatal(err)
		}
		if got := Sniff(b); got != want {
			t.Errorf("Sniff of %s: got %q, want %q", name, got, want)
		}
	}
	if got := Sniff(bytes.Repeat([]byte{0}, 100)); got != "" {
		t.Errorf("Sniff of zeros: got %q", got)
	}
}
