package audioprep

import (
	"bytes"
	"context"
	"math"
	"os"
	"slices"
	"testing"
)

// sampleSound is hark's own sample: 13 s of a voice reading, without a long pause.
func sampleSound(t testing.TB) []float32 {
	t.Helper()
	data, err := os.ReadFile("../testdata/sample.wav")
	if err != nil {
		t.Fatal(err)
	}
	pcm, err := Decode(context.Background(), bytes.NewReader(data), Options{})
	if err != nil {
		t.Fatal(err)
	}
	return pcm.Samples
}

// detect writes sound in pieces of so many samples.
func detect(d *Detector, sound []float32, piece int) (edges []Edge) {
	for part := range slices.Chunk(sound, piece) {
		edges = append(edges, d.Write(part)...)
	}
	return edges
}

func TestDetectorFindsTurns(t *testing.T) {
	voice := sampleSound(t)
	length := float64(len(voice)) / SampleRate
	sound := join(silence(2), voice, silence(2), voice, silence(2))
	edges := detect(NewDetector(0.5, SampleRate/2), sound, 480)
	want := []struct {
		speech bool
		at     float64
	}{{true, 2}, {false, 2 + length}, {true, 4 + length}, {false, 4 + 2*length}}
	if len(edges) != len(want) {
		t.Fatalf("got edges %v, want %d", edges, len(want))
	}
	for i, e := range edges {
		at := float64(e.At) / SampleRate
		if e.Speech != want[i].speech || math.Abs(at-want[i].at) > 0.4 {
			t.Errorf("edge %d: got %v at %.2f s, want %v at %.2f", i, e.Speech, at, want[i].speech, want[i].at)
		}
	}
}

func TestDetectorDoesNotDependOnPieces(t *testing.T) {
	sound := join(silence(1), sampleSound(t), silence(1))
	want := detect(NewDetector(0.5, SampleRate/2), sound, len(sound))
	for _, piece := range []int{1, 77, 480, 16001} {
		if got := detect(NewDetector(0.5, SampleRate/2), sound, piece); !slices.Equal(got, want) {
			t.Errorf("in pieces of %d: got %v, want %v", piece, got, want)
		}
	}
}

func TestDetectorPassesOverWhatIsNoSpeech(t *testing.T) {
	tone := silence(10)
	for i := range tone {
		tone[i] = float32(0.3 * math.Sin(2*math.Pi*440*float64(i)/SampleRate))
	}
	for name, sound := range map[string][]float32{
		"silence":       silence(10),
		"faint noise":   noise(10*SampleRate, 0.0005, 1),
		"loud noise":    noise(10*SampleRate, 0.5, 2),
		"a fan goes on": slices.Concat(noise(5*SampleRate, 0.0005, 3), noise(10*SampleRate, 0.05, 4)),
		"a tone":        tone,
		"a late tone":   slices.Concat(silence(2), tone),
	} {
		if got := detect(NewDetector(0.5, SampleRate/2), sound, 480); len(got) > 0 {
			t.Errorf("%s: got edges %v, want none", name, got)
		}
	}
}

func TestDetectorThreshold(t *testing.T) {
	quiet := sampleSound(t)
	for i := range quiet {
		quiet[i] *= 0.01 // peaks about -50 dB
	}
	sound := slices.Concat(silence(1), quiet, silence(1))
	if got := detect(NewDetector(0, SampleRate/2), sound, 480); len(got) == 0 {
		t.Error("a threshold of 0 heard nothing")
	}
	for i := range sound {
		sound[i] *= 0.2
	}
	if got := detect(NewDetector(1, SampleRate/2), sound, 480); len(got) > 0 {
		t.Errorf("a threshold of 1 heard %v", got)
	}
}

func TestDetectorSilence(t *testing.T) {
	voice := sampleSound(t)
	sound := join(silence(1), voice, silence(0.8), voice, silence(2))
	for _, c := range []struct {
		silence float64
		turns   int
	}{{0.5, 2}, {1.5, 1}} {
		edges := detect(NewDetector(0.5, int(c.silence*SampleRate)), sound, 480)
		if len(edges) != 2*c.turns {
			t.Errorf("%v s of silence: got edges %v, want %d turns", c.silence, edges, c.turns)
		}
	}
}

func TestDetectorBeginsAnewAfterRest(t *testing.T) {
	voice := sampleSound(t)
	d := NewDetector(0.5, SampleRate/2)
	half := len(voice) / 2 / specHop * specHop
	detect(d, voice[:half], 480)
	d.Rest()
	edges := detect(d, voice[half:], 480)
	if len(edges) == 0 || !edges[0].Speech || edges[0].At < half-specSize {
		t.Errorf("got edges %v, want speech from sample %d on", edges, half)
	}
}

func TestDetectorCutsAndForgets(t *testing.T) {
	voice := sampleSound(t)
	sound := join(voice, voice, voice)
	d := NewDetector(0.5, SampleRate/2)
	for part := range slices.Chunk(sound, SampleRate) {
		d.Write(part)
		d.Forget(0)
	}
	at, ok := d.Cut(0, len(sound), 30*SampleRate)
	if !ok || at <= 18*SampleRate || at > 30*SampleRate {
		t.Errorf("got a cut at %d (%v), want one that leaves a window well filled", at, ok)
	}
	quiet := NewDetector(0.5, SampleRate/2)
	quiet.Write(make([]float32, 40*SampleRate))
	if at, ok := quiet.Cut(0, 40*SampleRate, 30*SampleRate); ok {
		t.Errorf("silence is cut at %d", at)
	}
	spoken := join(voice, voice[:3*SampleRate])
	mute := NewDetector(0.5, SampleRate/2)
	mute.Write(join(spoken, silence(15)))
	if at, ok := mute.Cut(0, len(spoken)+15*SampleRate, 30*SampleRate); !ok || at < len(spoken) {
		t.Errorf("got a cut at %d (%v), want one in the silence behind %d samples of speech", at, ok, len(spoken))
	}
	if at, ok := d.Cut(0, len(sound), 100); !ok || at <= 100 {
		t.Errorf("got a cut at %d (%v), want one behind what is too long at once", at, ok)
	}
	for range 20 {
		for part := range slices.Chunk(sound, SampleRate) {
			d.Write(part)
			d.Forget(1 << 40)
		}
	}
	if n := len(d.track.measured.v); n > 20_000 {
		t.Errorf("%d frames are kept", n)
	}
	if _, ok := d.Cut(0, 100, 30*SampleRate); ok {
		t.Error("cut within less than a frame")
	}
}

func BenchmarkDetector(b *testing.B) {
	sound := sampleSound(b)
	for b.Loop() {
		detect(NewDetector(0.5, SampleRate/2), sound, 480)
	}
	b.ReportMetric(float64(len(sound))/SampleRate*float64(b.N)/b.Elapsed().Seconds(), "audio-s/s")
}
