package audioprep

import (
	"bytes"
	"context"
	"errors"
	"math"
	"testing"
)

// FuzzInspect: whatever samples are in a file of floats, what is said of them makes sense.
func FuzzInspect(f *testing.F) {
	f.Add(encode(noise(2000, 0.5, 1), "f32"), uint8(1), false)
	f.Add(encode([]float32{1, 1, 1, 1, -1, float32(math.Inf(1)), float32(math.NaN()), 1e30}, "f32"), uint8(2), true)
	f.Add([]byte{}, uint8(6), false)
	f.Fuzz(func(t *testing.T, samples []byte, channels uint8, separate bool) {
		file := riff(fmtChunk(tagFloat, int(channels), 8000, 32), chunk("data", samples))
		i, err := Inspect(context.Background(), bytes.NewReader(file), Options{Separate: separate}, Label{Name: "x.wav"}, 3*SampleRate)
		var found *DecodeError
		if err != nil && !errors.As(err, &found) {
			t.Fatalf("got an error of no documented kind: %v", err)
		}
		if i.Bytes != int64(len(file)) || i.Container != "wav" {
			t.Fatalf("got %+v", i)
		}
		if err != nil {
			return
		}
		if i.Loudness > 30 || i.Peak > 0 || math.IsNaN(i.Peak) || !(i.Speech >= 0 && i.Speech <= 1) || i.Samples <= 0 {
			t.Fatalf("got %+v", i)
		}
		end := 0
		for _, w := range i.Windows {
			end += w.End - w.Start
		}
		if most := i.Samples * int(channels); end != i.CostSamples || !separate && end > i.Samples || end > most {
			t.Fatalf("windows %v of %d samples cost %d", i.Windows, i.Samples, i.CostSamples)
		}
	})
}
