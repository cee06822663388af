package audioprep

import (
	"encoding/binary"
	"math"
	"os"
	"os/exec"
	"testing"
)

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// ffmpegDecode returns what ffmpeg decodes of a file, interleaved, at the file's rate.
// Without ffmpeg the test is skipped.
func ffmpegDecode(t testing.TB, path string) []float32 {
	t.Helper()
	ffmpeg, err := exec.LookPath("ffmpeg")
	if err != nil {
		t.Skip("no ffmpeg on PATH: nothing to compare with")
	}
	raw, err := exec.Command(ffmpeg, "-v", "error", "-i", path, "-f", "f32le", "-").Output()
	if err != nil {
		t.Fatalf("ffmpeg: %v", err)
	}
	x := make([]float32, len(raw)/4)
	for i := range x {
		x[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return x
}
