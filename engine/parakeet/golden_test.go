package parakeet

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"hark/engine"
	"hark/models"
)

// shared is a file of the project's shared data. Without it the test is skipped, or fails in CI.
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
		if os.Getenv("CI") != "" {
			t.Fatalf("%s is missing", full)
		}
		t.Skipf("%s is missing: not run", full)
	}
	return full
}

func goldenJSON(t testing.TB, v any, name string) {
	t.Helper()
	data, err := os.ReadFile(shared(t, "golden", "parakeet", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatal(err)
	}
}

// recordings are the names of the goldens' recordings that a model, "tiny" or "shape", has values for.
func recordings(t testing.TB, model string) []string {
	t.Helper()
	var golden struct{ Utterances []struct{ Name string } }
	goldenJSON(t, &golden, model+".json")
	var names []string
	for _, u := range golden.Utterances {
		names = append(names, u.Name)
	}
	if len(names) == 0 {
		t.Fatal("no recordings")
	}
	return names
}

// goldenTensor is a stage's value for a recording, with its rows.
func goldenTensor(t testing.TB, model, recording, stage string) (data []float32, rows int) {
	t.Helper()
	dir := t.TempDir()
	if err := os.Symlink(absolute(t, shared(t, "golden", "parakeet", model, recording+".safetensors")), filepath.Join(dir, "model.safetensors")); err != nil {
		t.Fatal(err)
	}
	w, err := models.OpenWeights(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	x, ok := w.Tensor(stage)
	if !ok {
		t.Fatalf("%s/%s has no %s", model, recording, stage)
	}
	data = make([]float32, x.Len())
	if err := x.Float32(data); err != nil {
		t.Fatal(err)
	}
	return data, x.Shape[0]
}

func absolute(t testing.TB, path string) string {
	t.Helper()
	abs, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return abs
}

// recordingSamples is one of the goldens' recordings as the models hear it.
func recordingSamples(t testing.TB, name string) []float32 {
	t.Helper()
	return wavSamples(t, shared(t, "golden", "parakeet", "wav", name+".wav"))
}

// wavSamples reads a recording: mono, 16 kHz, 16 bits, with a header of 44 bytes.
func wavSamples(t testing.TB, path string) []float32 {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(data[36:40]) != "data" {
		t.Fatalf("%s: another header than thought", path)
	}
	data = data[44:]
	samples := make([]float32, len(data)/2)
	for i := range samples {
		samples[i] = float32(int16(binary.LittleEndian.Uint16(data[2*i:]))) / 32768
	}
	return samples
}

// openTiny is the small trained model.
func openTiny(t testing.TB, form ...string) *models.ParakeetModel {
	t.Helper()
	m, err := models.OpenParakeet(shared(t, append([]string{"models", "parakeet-tiny"}, form...)...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
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

func download(t testing.TB, dev engine.Device, x engine.Tensor) []float32 {
	t.Helper()
	dst := make([]float32, x.Rows*x.Cols)
	if err := dev.Download(dst, x); err != nil {
		t.Fatal(err)
	}
	return dst
}

func alloc(t testing.TB, dev engine.Device, rows, cols int) engine.Tensor {
	t.Helper()
	buf, err := dev.Alloc(rows * cols)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dev.Free(buf) })
	return engine.NewTensor(buf, rows, cols)
}
