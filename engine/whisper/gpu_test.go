//go:build linux && amd64 && !nocuda

package whisper

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"hark/engine"
	"hark/engine/cuda"
	"hark/engine/cuda/driver"
	"hark/engine/cuda/emu"
)

// gpuTolerances are what 16 bits of storage may cost.
var gpuTolerances = map[cuda.Storage]tolerances{
	cuda.F16:  {encoder: 2e-3, logit: 2e-2, logProb: 1e-2},
	cuda.BF16: {encoder: 2e-2, logit: 2e-1, logProb: 5e-2},
}

// sharedGPU is a device on the GPU that tests share, which is an emulated one unless HARK_CUDA_LIBRARY is set.
func sharedGPU(t testing.TB, s cuda.Storage) *cuda.Device {
	t.Helper()
	library, _ := emu.Driver(t)
	return openGPU(t, cuda.Config{Driver: driver.Config{Library: library}, Storage: s, CuBLAS: "off"})
}

// ownGPU is a device on an emulated GPU of the test's own.
func ownGPU(t testing.TB, c cuda.Config) (*cuda.Device, *emu.GPU) {
	t.Helper()
	gpu := emu.New(t)
	c.Driver.Library, c.CuBLAS = gpu.Library, "off"
	return openGPU(t, c), gpu
}

func openGPU(t testing.TB, c cuda.Config) *cuda.Device {
	t.Helper()
	dev, err := cuda.New(c)
	if errors.Is(err, driver.ErrUnusable) && c.Storage == cuda.BF16 {
		t.Skip(err) // Turing has no bf16
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(dev.Close)
	return dev
}

// TestGPUToyTurbo holds a GPU in both formats to the goldens that the CPU is held to.
func TestGPUToyTurbo(t *testing.T) {
	for s, most := range gpuTolerances {
		t.Run(s.String(), func(t *testing.T) {
			if s != cuda.F16 {
				thorough(t)
			}
			checkToyTurbo(t, sharedGPU(t, s), most)
		})
	}
}

// TestGPUMelGolden holds spectrograms in single precision to openai-whisper's, of clips padded to 30
// s. Of one that fills these the reference mirrors the end, which the last two frames hear; the device
// has silence there, as within a recording.
func TestGPUMelGolden(t *testing.T) {
	dev := sharedGPU(t, cuda.F16)
	for _, c := range []struct {
		name string
		bins int
	}{{"jfk", 80}, {"jfk", 128}, {"noise30", 80}} {
		samples := clip(t, c.name)
		shape, want := goldenArray(t, "mel", fmt.Sprintf("%s_%d.npy", c.name, c.bins))
		frames := shape[len(shape)-1]
		front, err := engine.OpenFrontEnd(dev, engine.NewMel(c.bins).Spec())
		if err != nil {
			t.Fatal(err)
		}
		buf, err := dev.AllocSingle(frames * c.bins)
		if err != nil {
			t.Fatal(err)
		}
		dst, got := engine.NewTensor(buf, frames, c.bins), make([]float32, frames*c.bins)
		front.LogMel(dst, []engine.Sound{{Samples: samples, Frames: frames, Rows: frames}})
		if err := dev.Download(got, dst); err != nil {
			t.Fatal(err)
		}
		if len(samples) == frames*hopSamples {
			got = got[:(frames-2)*c.bins]
		}
		want = engine.Transposed(want, 1, c.bins, frames)[:len(got)]
		d := maxDiff(t, got, want)
		t.Logf("%s, %d bins: greatest difference %.2g", c.name, c.bins, d)
		if !(d <= 1e-4) {
			t.Errorf("%s, %d bins: log-mel differs by %.2g", c.name, c.bins, d)
		}
	}
}

// TestGPUFeatures holds what the encoder is given of passes to the host's log-mel: of a clip in a short context and in
// the whole one, from a later frame on, and of a recording, which has one peak.
func TestGPUFeatures(t *testing.T) {
	m := shortModel(t, sharedGPU(t, cuda.F16))
	onHost := *m
	onHost.onDevice = nil
	clip, recording := noise(25_123, 5), make([]float32, 40*engine.SampleRate)
	copy(recording[33*engine.SampleRate:], clip)
	for i := range 16_000 {
		recording[i] = 1e-4 * clip[i]
	}
	for name, c := range map[string]struct {
		samples []float32
		seek    int
		options engine.Options
	}{
		"a draft": {clip, 0, engine.Options{Draft: true}}, "a clip": {clip, 0, engine.Options{Sequential: true}},
		"its end": {clip, 120, engine.Options{Draft: true}}, "a recording": {recording, 0, engine.Options{Sequential: true}},
		"a recording's end": {recording, 3456, engine.Options{Sequential: true}},
	} {
		var heard [2][]float32
		for i, m := range []*Model{m, &onHost} {
			p := &place{chain: &chain{job: &job{model: m, options: c.options}, samples: c.samples, seek: c.seek}}
			p.chain.prepare()
			frames, err := m.features([]*place{p})
			if err != nil {
				t.Fatal(err)
			}
			heard[i] = download(t, m, m.enc.mel.Slice(0, frames[0]))
		}
		// Each rounds its own value, at most 1.5, to 16 bits.
		if d := maxDiff(t, heard[0], heard[1]); !(d <= 2e-4+0x1p-10) {
			t.Errorf("%s: log-mel differs by %.2g", name, d)
		}
	}
}

// thorough skips what takes an emulated GPU long, but for make test-cuda and a real GPU.
func thorough(t *testing.T) {
	t.Helper()
	if os.Getenv("HARK_TEST_CUDA") == "" && os.Getenv("HARK_CUDA_LIBRARY") == "" {
		t.Skip("left to make test-cuda")
	}
}

// TestGPUToyTurboBytes holds a GPU that keeps the encoder's output in bytes to the same.
func TestGPUToyTurboBytes(t *testing.T) {
	thorough(t)
	library, _ := emu.Driver(t)
	dev := openGPU(t, cuda.Config{Driver: driver.Config{Library: library}, CuBLAS: "off", CrossBytes: true})
	checkToyTurbo(t, dev, gpuTolerances[cuda.F16])
}

// shortModel is a tiny model on a device, with texts of a few tokens.
func shortModel(t testing.TB, dev engine.Device) *Model {
	t.Helper()
	dir := t.TempDir()
	writeShortModel(t, dir, 16)
	m, err := Load(dev, dir, "tiny-random", Settings{ShortContext: true, Speech: noise(5*engine.SampleRate, 5)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// TestGPUWindowsJoin: windows that join and leave a batch hear what they hear alone, to the bit; so do beams.
func TestGPUWindowsJoin(t *testing.T) {
	thorough(t)
	m := patient(shortModel(t, sharedGPU(t, cuda.F16)))
	var jobs []engine.Job
	var alone []string
	var waiting []engine.Window
	for i := range 2 {
		o := engine.Options{Temperatures: []float32{0}, BeamSize: 1 + i}
		samples := noise(16000*(1+i%2), uint64(100+i))
		alone = append(alone, toJSON(t, transcribe(t, m, samples, whole(samples), o)))
		j, err := m.NewJob(samples, whole(samples), o)
		if err != nil {
			t.Fatal(err)
		}
		jobs, waiting = append(jobs, j), append(waiting, j.Next(1)...)
	}
	batch, waiting := waiting[:1], waiting[1:]
	m.Run(context.Background(), batch, func(free int) []engine.Window {
		n := min(1, len(waiting))
		joining := waiting[:n]
		waiting = waiting[n:]
		return joining
	}, func(_ engine.Window, err error) {
		if err != nil {
			t.Error(err)
		}
	})
	for i, j := range jobs {
		if got := toJSON(t, j.Result()); got != alone[i] {
			t.Errorf("job %d:\njoined %.300s\nalone  %.300s", i, got, alone[i])
		}
	}
}

// TestGPUWindowsGoOnLater: windows that leave a batch between two tries, of which the device has run tokens ahead, hear
// later what they hear when they stay, to the bit.
func TestGPUWindowsGoOnLater(t *testing.T) {
	thorough(t)
	m := shortModel(t, sharedGPU(t, cuda.F16))
	samples := noise(24000, 7)
	spans := []engine.Span{{End: 16000}, {Start: 16000, End: 24000}}
	o := engine.Options{Temperatures: []float32{0, 1}}
	want := toJSON(t, transcribe(t, patient(m), samples, spans, o))
	m.patience = 1
	j, err := m.NewJob(samples, spans, o)
	if err != nil {
		t.Fatal(err)
	}
	batches, _ := heardInTurns(t, m, j)
	if got := toJSON(t, j.Result()); got != want || batches < 2 {
		t.Errorf("in %d batches:\ngot  %.300s\nwant %.300s", batches, got, want)
	}
}

// TestGPUSteps: after its first token, for which the host waits twice, a text goes on by a graph and a copy down for
// each token. The host waits for every one of them too, but while it does two more are queued, except at the text's
// end. All that goes up is the text's state, once.
func TestGPUSteps(t *testing.T) {
	dev, gpu := ownGPU(t, cuda.Config{})
	steps := &stepCounter{Device: dev, gpu: gpu}
	m := shortModel(t, steps)
	samples := noise(16000, 1)
	var total emu.Counts
	for range 2 { // graphs are made in the first
		steps.seen, steps.alone = nil, 0
		before := gpu.Counts()
		transcribe(t, m, samples, whole(samples), engine.Options{Temperatures: []float32{0}, Draft: true})
		total = gpu.Counts().Since(before)
	}
	if len(steps.seen) < 4 {
		t.Fatalf("%d steps", len(steps.seen))
	}
	for i, c := range steps.seen {
		if c.Waits != 1 || c.CopiesUp != 0 || c.CopiesDown != 1 || c.GraphLaunches != 1 || c.Launches != 0 || c.Allocations != 0 || c.CopiesOn != 0 {
			t.Errorf("step %d: %+v", i, c)
		}
	}
	last := steps.seen[len(steps.seen)-1]
	t.Logf("a step: %d kernels, %d bytes up, %d bytes down", last.Kernels, last.BytesUp, last.BytesDown)
	t.Logf("a window: %d such steps, %d kernels, %d launches, %d graphs, %d copies up (%d bytes), %d down (%d bytes), %d waits, of which %d with nothing queued behind",
		len(steps.seen), total.Kernels, total.Launches, total.GraphLaunches, total.CopiesUp, total.BytesUp, total.CopiesDown, total.BytesDown, total.Waits, steps.alone)
}

// stepCounter notes what is asked of the GPU for each step ahead that is neither the first nor one of the last of its
// text, and counts the waits with nothing queued behind them.
type stepCounter struct {
	engine.Device
	gpu   *emu.GPU
	seen  []emu.Counts
	alone int
}

// Unwrap returns the device that computes.
func (d *stepCounter) Unwrap() engine.Device { return d.Device }

func (d *stepCounter) Select(logits engine.Tensor, rows []engine.Rule, k int) ([]engine.Choice, error) {
	d.alone++
	return d.Device.Select(logits, rows, k)
}

func (d *stepCounter) TokenProbs(logits engine.Tensor, rows, ids []int32, limit int) ([]float32, error) {
	d.alone++
	return d.Device.TokenProbs(logits, rows, ids, limit)
}

func (d *stepCounter) Ahead(texts []engine.Continuation, step func(engine.Device) engine.Tensor, take func([]engine.Choice) bool) error {
	queued, taken := 0, 0
	var before emu.Counts
	return d.Device.(*cuda.Device).Ahead(texts, func(on engine.Device) engine.Tensor {
		queued++
		return step(on)
	}, func(choices []engine.Choice) bool {
		now := d.gpu.Counts()
		if taken++; taken > 1 && queued == taken+2 {
			d.seen = append(d.seen, now.Since(before))
		}
		if queued == taken {
			d.alone++
		}
		before = now
		return take(choices)
	})
}

// TestGPULost: a fault ends every window with an error that says that the device is lost.
func TestGPULost(t *testing.T) {
	dev, gpu := ownGPU(t, cuda.Config{})
	m := shortModel(t, dev)
	samples := noise(16000, 1)
	j, err := m.NewJob(samples, whole(samples), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	gpu.Fail("cuLaunchKernel", 20, 700)
	if err := runAll(context.Background(), m, j.Next(1))[0]; !errors.Is(err, engine.ErrDeviceLost) {
		t.Errorf("got %v", err)
	}
}

// TestGPUOutOfMemory: a batch that there's no room for runs in halves, and hears what it hears alone. Whichever
// allocation fails, loading says so and leaves nothing.
func TestGPUOutOfMemory(t *testing.T) {
	gpu := emu.New(t)
	gpu.Set("SMS", 60) // enough for windows to be encoded two at a time
	dev := openGPU(t, cuda.Config{Driver: driver.Config{Library: gpu.Library}, CuBLAS: "off", RegionBytes: 1})
	rows := &rowCounter{Device: must(dev.Model())}
	m := shortModel(t, rows)
	samples, o := noise(16000, 1), engine.Options{Temperatures: []float32{0}, Draft: true} // a draft is one short pass
	alone := toJSON(t, transcribe(t, m, samples, whole(samples), o))
	// What has been taken by now does for one window.
	free, total := dev.Memory()
	gpu.Set("MEMORY", total-free)
	rows.most = 0
	batch := make([]engine.Window, 2)
	jobs := make([]engine.Job, len(batch))
	for i := range batch {
		jobs[i] = must(m.NewJob(samples, whole(samples), o))
		batch[i] = jobs[i].Next(1)[0]
	}
	for i, err := range runAll(context.Background(), m, batch) {
		if err != nil {
			t.Fatal(err)
		}
		if got := toJSON(t, jobs[i].Result()); got != alone {
			t.Errorf("window %d:\nin a batch %.300s\nalone      %.300s", i, got, alone)
		}
	}
	if rows.most != 1 {
		t.Errorf("%d rows were selected at once", rows.most)
	}

	dir := t.TempDir()
	writeShortModel(t, dir, 16)
	gpu.SetText("MEMORY", "")
	loaded := false
	for n := 1; !loaded; n += 1 + n/2 {
		before, _ := dev.Memory()
		own := must(dev.Model())
		gpu.Fail("cuMemAlloc_v2", n, int(driver.OutOfMemory))
		m, err := Load(own, dir, "tiny-random", Settings{})
		gpu.Fail("cuMemAlloc_v2", 0, 0)
		if loaded = err == nil; loaded {
			m.Close()
		} else if !errors.Is(err, engine.ErrOutOfMemory) {
			t.Errorf("allocation %d: got %v", n, err)
		}
		own.Close()
		if after, _ := dev.Memory(); after < before {
			t.Errorf("allocation %d: %d bytes are free, there were %d", n, after, before)
		}
	}
}

// rowCounter notes how many rows a selection had at most.
type rowCounter struct {
	engine.Device
	most int
}

func (d *rowCounter) Unwrap() engine.Device { return d.Device }

func (d *rowCounter) Select(logits engine.Tensor, rows []engine.Rule, k int) ([]engine.Choice, error) {
	choices, err := d.Device.Select(logits, rows, k)
	if err == nil {
		d.most = max(d.most, len(rows))
	}
	return choices, err
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
