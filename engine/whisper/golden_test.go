package whisper

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"hark/audioprep"
	"hark/engine"
	"hark/engine/cpu"
	"hark/internal/npy"
	"hark/models"
)

// missing ends a test whose data is not there: a skip for a developer, a failure in CI.
func missing(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf("%s is missing", what)
	}
	t.Skipf("%s is missing: not run", what)
}

// shared is a file of the project's shared data.
func shared(t testing.TB, path ...string) string {
	t.Helper()
	root := os.Getenv("HARK_SHARED")
	if root == "" {
		root = "../../../shared"
	} else if !filepath.IsAbs(root) {
		root = filepath.Join("../..", root)
	}
	full := filepath.Join(append([]string{root}, path...)...)
	if _, err := os.Stat(full); err != nil {
		missing(t, full)
	}
	return full
}

func golden(t testing.TB, path ...string) string {
	t.Helper()
	return shared(t, append([]string{"golden", "whisper"}, path...)...)
}

func goldenJSON(t testing.TB, v any, path ...string) {
	t.Helper()
	if err := readJSON(golden(t, path...), v); err != nil {
		t.Fatal(err)
	}
}

func goldenArray(t testing.TB, path ...string) (shape []int, data []float32) {
	t.Helper()
	shape, data, err := npy.Read(golden(t, path...))
	if err != nil {
		t.Fatal(err)
	}
	return shape, data
}

// One device and one copy of each model for all tests: loading takes longer than most of them.
var (
	testDevice = sync.OnceValues(func() (*cpu.Device, error) { return cpu.New(cpu.Config{}) })
	testModels sync.Map // name to func() (*Model, error)
)

// model is a real model from the user's cache. Short tests do without: the race detector makes them take hours.
func model(t testing.TB, name string) *Model {
	t.Helper()
	if testing.Short() {
		t.Skip("real models are left out of short tests")
	}
	store, err := models.OpenStore("")
	if err != nil {
		t.Fatal(err)
	}
	dir, ok := store.Path(name)
	if !ok {
		missing(t, "model "+name+" (hark models pull "+name+")")
	}
	once, _ := testModels.LoadOrStore(name, sync.OnceValues(func() (*Model, error) {
		dev, err := testDevice()
		if err != nil {
			return nil, err
		}
		return Load(dev, dir, name, Settings{})
	}))
	m, err := once.(func() (*Model, error))()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// goldenClip describes a clip of clips.json.
type goldenClip struct {
	ID, Root, File, Language string
	SampleRate               int `json:"sample_rate"`
}

func clips(t testing.TB) map[string]goldenClip {
	t.Helper()
	var f struct{ Clips []goldenClip }
	goldenJSON(t, &f, "clips.json")
	byID := map[string]goldenClip{}
	for _, c := range f.Clips {
		byID[c.ID] = c
	}
	return byID
}

// clip is a clip's samples.
func clip(t testing.TB, id string) []float32 {
	t.Helper()
	if id == "silence30" {
		return make([]float32, 480000)
	}
	c, ok := clips(t)[id]
	if !ok {
		t.Fatalf("no clip %s", id)
	}
	root := []string{"golden", "whisper"}
	if c.Root == "audio" {
		root = []string{"audio"}
	}
	f, err := os.Open(shared(t, append(root, c.File)...))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	pcm, err := audioprep.Decode(context.Background(), f, audioprep.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return pcm.Samples
}

// playTo puts the log-mel of a clip in the encoder's input, the clip being padded to 30 s before its spectrogram is
// taken, as decode() of the reference does.
func playTo(m *Model, samples []float32) {
	mel := m.enc.mel.Slice(0, framesPerWindow)
	if m.onDevice != nil {
		m.onDevice.LogMel(mel, []engine.Sound{{Samples: samples, Frames: framesPerWindow, Rows: framesPerWindow}})
		return
	}
	m.mel.Window(m.melScratch, samples, framesPerWindow)
	m.dev.Upload(mel, m.melScratch)
}

// listenTo encodes a clip that is padded to 30 s into a slot of the cross-attention cache.
func listenTo(t testing.TB, m *Model, samples []float32, window int32) {
	t.Helper()
	playTo(m, samples)
	m.dec.listen(window, m.enc.run([]int{framesPerWindow}, wholeView, nil), wholeView)
	if err := m.dev.Sync(); err != nil {
		t.Fatal(err)
	}
}

// maxDiff is the greatest absolute difference of two slices.
func maxDiff(t testing.TB, got, want []float32) float64 {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("got %d values, want %d", len(got), len(want))
	}
	var d float64
	for i := range got {
		if x := math.Abs(float64(got[i]) - float64(want[i])); x > d || math.IsNaN(x) {
			d = x
		}
	}
	return d
}

// relativeL2 is |got - want| / |want|.
func relativeL2(t testing.TB, got, want []float32) float64 {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("got %d values, want %d", len(got), len(want))
	}
	var d, n float64
	for i := range got {
		x := float64(got[i]) - float64(want[i])
		d += x * x
		n += float64(want[i]) * float64(want[i])
	}
	return math.Sqrt(d / n)
}

func download(t testing.TB, m *Model, x engine.Tensor) []float32 {
	t.Helper()
	dst := make([]float32, x.Rows*x.Cols)
	if err := m.dev.Download(dst, x); err != nil {
		t.Fatal(err)
	}
	return dst
}

func equalIDs(a, b []int32) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func toJSON(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func fromJSON(t testing.TB, text string, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), v); err != nil {
		t.Fatal(err)
	}
}

// runAll runs one batch and returns one error for each of its windows.
func runAll(ctx context.Context, m *Model, batch []engine.Window) []error {
	errs := make([]error, len(batch))
	for left := batch; len(left) > 0; {
		next := left
		left = nil
		m.Run(ctx, next, nil, func(w engine.Window, err error) {
			if errors.Is(err, engine.ErrUnfinished) {
				left = append(left, w)
				return
			}
			errs[slices.Index(batch, w)] = err
		})
	}
	return errs
}
