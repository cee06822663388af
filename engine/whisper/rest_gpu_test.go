//go:build linux && amd64 && !nocuda

package whisper

import (
	"slices"
	"testing"

	"hark/engine"
	"hark/engine/cpu"
	"hark/engine/cuda"
	"hark/engine/cuda/driver"
	"hark/engine/cuda/emu"
	"hark/models"
)

// shortViews encodes windows of so many frames in short views, keeps them, and returns what the
// decoder makes of each at its first token.
func shortViews(t *testing.T, m *Model, frames []int, mel []float32) (encoded, logits []float32) {
	t.Helper()
	m.dev.Upload(m.enc.mel.Slice(0, len(mel)/m.config.Mels), mel)
	positions := m.enc.run(frames, shortView, nil)
	encoded = download(t, m, positions)
	var rows []row
	var last []int32
	at := 0
	for i, n := range frames {
		m.dec.listen(int32(i), positions.Slice(at, at+positionsIn(n)), shortView)
		rows, last = append(rows, row{token: 1, slot: int32(i), window: int32(i)}), append(last, int32(i))
		at += positionsIn(n)
	}
	m.dec.forward(rows, false, nil)
	return encoded, download(t, m, m.dec.logits(last))
}

// TestGPURest: a GPU learns the rest of windows as the CPU does, and what it makes of short views with it is the same,
// and for each window the same as alone, to the bit. From the third time on that takes no memory, and graphs.
func TestGPURest(t *testing.T) {
	gpu := emu.New(t)
	gpu.Set("SMS", 60) // enough for windows to be encoded two at a time
	dev := openGPU(t, cuda.Config{Driver: driver.Config{Library: gpu.Library}, CuBLAS: "off", RegionBytes: 1})
	host, err := cpu.New(cpu.Config{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(host.Close)
	most := gpuTolerances[cuda.F16]
	here, there := shortModel(t, dev), shortModel(t, host)
	for _, m := range []*Model{here, there} {
		if err := m.learnRest(); err != nil {
			t.Fatal(err)
		}
	}
	for i, r := range append(slices.Clone(here.enc.rest), here.dec.rest...) {
		want := download(t, there, append(slices.Clone(there.enc.rest), there.dec.rest...)[i])
		if e := relativeL2(t, download(t, here, r), want); !(e <= most.encoder) {
			t.Errorf("rest %d: relative error %.2g", i, e)
		}
	}

	frames := []int{64, 96}
	mel := noise((frames[0]+frames[1])*here.config.Mels, 1)
	var encoded, logits []float32
	for i := range 3 {
		before := gpu.Counts()
		encoded, logits = shortViews(t, here, frames, mel)
		c := gpu.Counts().Since(before)
		if i == 2 && (c.Launches > 0 || c.GraphLaunches == 0 || c.Allocations > 0) {
			t.Errorf("the third time: %+v", c)
		}
	}
	// On the CPU windows are encoded one at a time.
	at, v := 0, here.config.Vocabulary
	first := frames[0] * here.config.Mels
	for i, part := range [][]float32{mel[:first], mel[first:]} {
		rows := positionsIn(frames[i]) * here.config.Width
		got, words := encoded[at:at+rows], logits[i*v:(i+1)*v]
		at += rows
		want, wantWords := shortViews(t, there, frames[i:i+1], part)
		if e := relativeL2(t, got, want); !(e <= most.encoder) {
			t.Errorf("window %d: relative error %.2g", i, e)
		}
		if d := maxDiff(t, words, wantWords); !(d <= most.logit) {
			t.Errorf("window %d: logits differ by %.2g", i, d)
		}
		alone, aloneWords := shortViews(t, here, frames[i:i+1], part)
		if !slices.Equal(alone, got) || !slices.Equal(aloneWords, words) {
			t.Errorf("window %d alone differs from the same in a group", i)
		}
	}
}

// TestGPURestFails: a rest that failed on its way is learned again.
func TestGPURestFails(t *testing.T) {
	thorough(t)
	dev, gpu := ownGPU(t, cuda.Config{})
	m := shortModel(t, dev)
	samples, o := noise(16000, 1), engine.Options{Temperatures: []float32{0}, Draft: true}
	j := must(m.NewJob(samples, whole(samples), o))
	gpu.Fail("cuLaunchKernel", 12, 1)
	if err := runAll(t.Context(), m, j.Next(1))[0]; err == nil {
		t.Fatal("a launch that fails: no error")
	}
	got := toJSON(t, transcribe(t, m, samples, whole(samples), o))
	if want := toJSON(t, transcribe(t, shortModel(t, sharedGPU(t, cuda.F16)), samples, whole(samples), o)); got != want {
		t.Errorf("after a failure %.300s\nelse %.300s", got, want)
	}
}

// TestGPUShortContext has a real model hear a clip in a short context as on the CPU.
func TestGPUShortContext(t *testing.T) {
	thorough(t)
	host := *model(t, "tiny.en")
	store, speech := must(models.OpenStore("")), sampleSpeech(t)
	dir, _ := store.Path("tiny.en")
	m := must(Load(sharedGPU(t, cuda.F16), dir, "tiny.en", Settings{ShortContext: true, Speech: speech}))
	t.Cleanup(func() { m.Close() })
	host.shortContext, host.speech = true, speech
	samples, o := clip(t, "jfk")[:3*engine.SampleRate], engine.Options{Language: "en", Temperatures: []float32{0}}
	got, want := transcribe(t, m, samples, whole(samples), o), transcribe(t, &host, samples, whole(samples), o)
	if got.Text() != want.Text() || got.Text() == "" {
		t.Errorf("got %q, want %q", got.Text(), want.Text())
	}
}
