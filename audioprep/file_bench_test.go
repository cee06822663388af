package audioprep

import (
	"context"
	"os"
	"testing"
)

// BenchmarkFile decodes the file that HARK_DECODE names, as scripts/decode-speed.py has it do.
func BenchmarkFile(b *testing.B) {
	path := os.Getenv("HARK_DECODE")
	if path == "" {
		b.Skip("HARK_DECODE names no file")
	}
	for b.Loop() {
		f, err := os.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		pcm, err := Decode(context.Background(), f, Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(pcm.Info.Duration.Seconds(), "audio-s")
		f.Close()
	}
}
