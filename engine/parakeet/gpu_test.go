//go:build linux && amd64 && !nocuda

package parakeet

import (
	"context"
	"errors"
	"os"
	"slices"
	"testing"

	"hark/engine"
	"hark/engine/cuda"
	"hark/engine/cuda/driver"
	"hark/engine/cuda/emu"
)

// sharedGPU is a device on the GPU that tests share, which is an emulated one unless HARK_CUDA_LIBRARY is set.
func sharedGPU(t testing.TB, s cuda.Storage) *cuda.Device {
	t.Helper()
	library, gpu := emu.Driver(t)
	c := cuda.Config{Driver: driver.Config{Library: library}, Storage: s, CuBLAS: "off"}
	if gpu != nil {
		c.RegionBytes = 1 // every buffer has its guards
	}
	return openGPU(t, c)
}

// ownGPU is a device on an emulated GPU of the test's own.
func ownGPU(t testing.TB) (*cuda.Device, *emu.GPU) {
	t.Helper()
	gpu := emu.New(t)
	return openGPU(t, cuda.Config{Driver: driver.Config{Library: gpu.Library}, CuBLAS: "off", RegionBytes: 1}), gpu
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

// TestGPUFeatures holds the features that the device makes, in 16 bits, to NeMo's, of recordings alone and together;
// digital silence and a single frame have none.
func TestGPUFeatures(t *testing.T) {
	m := loadOn(t, sharedGPU(t, cuda.F16))
	if m.front.onDevice == nil {
		t.Fatal("the device makes no features")
	}
	hear := func(sounds ...sound) []float32 {
		frames := 0
		for _, s := range sounds {
			frames += s.frames
		}
		dst := alloc(t, m.dev, frames, m.front.bins)
		m.enc.hear(dst, sounds)
		return download(t, m.dev, dst)
	}
	var all []sound
	var alone []float32
	for _, name := range recordings(t, "tiny")[:4] {
		s := m.front.sound(recordingSamples(t, name))
		got := hear(s)
		want, _ := goldenTensor(t, "tiny", name, "features")
		if d := maxDiff(t, got, want[:len(got)]); !(d <= 2e-3+0x1p-9) { // half a unit of numbers up to 8 beside the goldens' own
			t.Errorf("%s: features differ by %.2g", name, d)
		}
		all, alone = append(all, s), append(alone, got...)
	}
	if !slices.Equal(hear(all...), alone) {
		t.Error("recordings together have other features than alone")
	}
	for name, samples := range map[string][]float32{"silence": make([]float32, 16000), "one frame": noise(160, 1)} {
		for _, v := range hear(m.front.sound(samples)) {
			if v != 0 {
				t.Fatalf("%s: a feature of %v", name, v)
			}
		}
	}
}

// TestGPUTwo: in 16 bits a recording is still what NeMo makes of it, to the frame, windows joining and leaving.
func TestGPUTwo(t *testing.T) {
	for _, s := range []cuda.Storage{cuda.F16, cuda.BF16} {
		t.Run(s.String(), func(t *testing.T) { checkTwo(t, loadOn(t, sharedGPU(t, s)), 4, 3) })
	}
}

// TestGPUGolden holds what is heard in each recording to the goldens, in batches that windows join.
func TestGPUGolden(t *testing.T) {
	m := must(Load(sharedGPU(t, cuda.F16), repository+"parakeet-tiny.nemo", "tiny", Config{MaxWindowSamples: 60 * engine.SampleRate})).unpadded()
	t.Cleanup(func() { m.Close() })
	all := utterances(t, "tiny")
	var jobs []*job
	for _, u := range all {
		jobs = append(jobs, newJob(t, m, recordingSamples(t, u.Name), engine.Options{}))
	}
	runJobs(t, m, jobs, 5)
	for i := range all {
		checkTokens(t, jobs[i].windows[0].heard, &all[i])
	}
}

// TestGPUBeam: beams in a batch hear what they hear alone, to the bit.
func TestGPUBeam(t *testing.T) {
	m := loadOn(t, sharedGPU(t, cuda.F16))
	jobs, alone := jobsOf(t, m, engine.Options{BeamSize: 4}, "08_three", "02_digits", "07_two")
	runJobs(t, m, jobs, 2)
	for i, j := range jobs {
		if got := toJSON(t, j.Result()); got != alone[i] {
			t.Errorf("job %d:\nin a batch %s\nalone      %s", i, got, alone[i])
		}
	}
}

// TestGPUAhead: windows that the GPU decodes ahead of the host, while others join and leave, hear what they hear
// question by question, to the bit, beside beams too.
func TestGPUAhead(t *testing.T) {
	m := loadOn(t, sharedGPU(t, cuda.F16))
	counter := &aheadCounter{TransducerDevice: m.ahead}
	heard := func(ahead engine.TransducerDevice) (all []string) {
		m.ahead = ahead
		var jobs []*job
		for i, name := range []string{"08_three", "02_digits", "07_two", "08_three"} {
			o := engine.Options{WordTimestamps: true}
			if i == 3 { // beside it nothing goes ahead
				o.BeamSize = 2
			}
			jobs = append(jobs, newJob(t, m, recordingSamples(t, name), o))
		}
		left, asked := windowsOf(jobs), 0
		m.Run(context.Background(), left[:1], func(int) []engine.Window {
			if asked++; asked%8 != 0 || len(left) == 1 {
				return nil
			}
			left = left[1:]
			return left[:1]
		}, func(_ engine.Window, err error) {
			if err != nil {
				t.Error(err)
			}
		})
		for _, j := range jobs {
			all = append(all, toJSON(t, j.Result()))
		}
		return all
	}
	want := heard(nil)
	for i, got := range heard(counter) {
		if got != want[i] {
			t.Errorf("window %d:\nahead %s\nelse  %s", i, got, want[i])
		}
	}
	if counter.calls < 3 || counter.utterances < 3 || counter.steps < 10 {
		t.Errorf("%d times ahead with up to %d utterances, %d steps", counter.calls, counter.utterances, counter.steps)
	}
}

// aheadCounter counts what a device does ahead.
type aheadCounter struct {
	engine.TransducerDevice
	calls, utterances, steps int
}

func (c *aheadCounter) Transduce(list []engine.Utterance, tr engine.Transducer, step func(engine.Device) engine.Tensor, take func([]engine.Peak) bool) error {
	c.calls++
	c.utterances = max(c.utterances, len(list))
	return c.TransducerDevice.Transduce(list, tr, step, func(peaks []engine.Peak) bool {
		c.steps++
		return take(peaks)
	})
}

// TestGPUSteps counts what decoding asks of the GPU, question by question and ahead.
func TestGPUSteps(t *testing.T) {
	dev, gpu := ownGPU(t)
	rounds := &roundCounter{Device: must(dev.Model()), gpu: gpu}
	m := loadOn(t, rounds)
	samples := wavSamples(t, repository+"two.wav")
	ahead := m.ahead
	for _, m.ahead = range []engine.TransducerDevice{nil, ahead} {
		var total emu.Counts
		for range 3 { // the graphs are made in the first two
			jobs := []*job{newJob(t, m, samples, engine.Options{})}
			if m.ahead == nil {
				rounds.seen = nil
			}
			before := gpu.Counts()
			runJobs(t, m, jobs, 1)
			total = gpu.Counts().Since(before)
		}
		t.Logf("ahead %t: a window of %.1f s: %d questions, %d kernels, %d launches, %d graphs, %d copies up (%d bytes), %d down (%d bytes), %d waits",
			m.ahead != nil, float64(len(samples))/engine.SampleRate, len(rounds.seen), total.Kernels, total.Launches, total.GraphLaunches,
			total.CopiesUp, total.BytesUp, total.CopiesDown, total.BytesDown, total.Waits)
	}
	for i, c := range rounds.seen[2:] {
		if c.Waits != 1 || c.CopiesUp > 1 || c.CopiesDown != 1 || c.GraphLaunches > 1 || c.Allocations > 0 {
			t.Errorf("question %d: %+v", i, c)
		}
	}
}

// roundCounter notes what is asked of the GPU from one question to the next.
type roundCounter struct {
	engine.Device
	gpu    *emu.GPU
	before emu.Counts
	seen   []emu.Counts
}

// Unwrap returns the device that computes.
func (d *roundCounter) Unwrap() engine.Device { return d.Device }

func (d *roundCounter) Peaks(logits engine.Tensor, ranges []engine.Range, power float32) ([]engine.Peak, error) {
	peaks, err := d.Device.Peaks(logits, ranges, power)
	now := d.gpu.Counts()
	d.seen = append(d.seen, now.Since(d.before))
	d.before = now
	return peaks, err
}

// TestGPULost: a fault ends every window with an error that says that the device is lost, now and later.
func TestGPULost(t *testing.T) {
	dev, gpu := ownGPU(t)
	m := loadOn(t, dev)
	samples := wavSamples(t, repository+"two.wav")
	for i := range 2 {
		if i == 0 {
			gpu.Fail("cuEventSynchronize", 5, 700)
		}
		jobs := []*job{newJob(t, m, samples, engine.Options{}), newJob(t, m, samples, engine.Options{})}
		ended := 0
		m.Run(context.Background(), windowsOf(jobs), nil, func(_ engine.Window, err error) {
			if ended++; !errors.Is(err, engine.ErrDeviceLost) {
				t.Errorf("run %d: got %v", i, err)
			}
		})
		if ended != 2 {
			t.Errorf("run %d: %d windows ended", i, ended)
		}
	}
}

// TestGPUOutOfMemory: a batch that there's no room for runs in halves. A window too long for the memory fails alone,
// and what fits runs on. A model too large is refused and leaves nothing.
func TestGPUOutOfMemory(t *testing.T) {
	dev, gpu := ownGPU(t)
	groups := &groupCounter{Device: must(dev.Model())}
	m := loadOn(t, groups)
	checkTwo(t, m, 6, 6)
	if groups.largest != 6 {
		t.Fatalf("with room for all, groups of %d", groups.largest)
	}
	m.shrink()
	checkTwo(t, m, 2, 1)
	own := must(dev.Model())
	free, total := dev.Memory()
	gpu.Set("MEMORY", total-free+256<<10)
	groups.largest = 0
	checkTwo(t, m, 6, 6)
	if groups.largest < 1 || groups.largest > 3 {
		t.Errorf("with room for some, groups of %d", groups.largest)
	}
	long := newJob(t, m, make([]float32, DefaultWindowSamples), engine.Options{})
	m.Run(context.Background(), windowsOf([]*job{long}), nil, func(_ engine.Window, err error) {
		var full *cuda.OutOfMemoryError
		if !errors.As(err, &full) || !errors.Is(err, engine.ErrOutOfMemory) {
			t.Errorf("a window of 30 s: got %v", err)
		}
	})
	checkTwo(t, m, 1, 1)

	before, _ := dev.Memory()
	if _, err := Load(own, repository+"parakeet-tiny.nemo", "tiny", Config{}); !errors.Is(err, engine.ErrOutOfMemory) {
		t.Errorf("another model: got %v", err)
	}
	own.Close()
	if after, _ := dev.Memory(); after < before {
		t.Errorf("%d bytes are free, there were %d", after, before)
	}
}

// groupCounter notes how many windows are encoded at once, at most.
type groupCounter struct {
	engine.Device
	largest int
}

func (d *groupCounter) Unwrap() engine.Device { return d.Device }

func (d *groupCounter) Subsample(dst, x engine.Tensor, lens []int, s engine.Subsampling) {
	d.largest = max(d.largest, len(lens))
	d.Device.Subsample(dst, x, lens, s)
}

// TestGPUFailedAllocation: whichever allocation fails, loading says so and leaves
// nothing, and a batch is heard as ever.
func TestGPUFailedAllocation(t *testing.T) {
	if os.Getenv("HARK_TEST_CUDA") == "" {
		t.Skip("left to make test-cuda")
	}
	dev, gpu := ownGPU(t)
	for _, function := range []string{"cuMemAlloc_v2", "cuMemHostAlloc"} {
		loaded := false
		for n := 1; !loaded; n += 1 + n/6 {
			before, _ := dev.Memory()
			own := must(dev.Model())
			gpu.Fail(function, n, int(driver.OutOfMemory))
			m, err := Load(own, repository+"parakeet-tiny.nemo", "tiny", Config{})
			gpu.Fail(function, 0, 0)
			if loaded = err == nil; loaded {
				m.Close()
			} else if !errors.Is(err, engine.ErrOutOfMemory) {
				t.Errorf("loading, %s %d: got %v", function, n, err)
			}
			own.Close()
			if after, _ := dev.Memory(); after < before {
				t.Errorf("loading, %s %d: %d bytes are free, there were %d", function, n, after, before)
			}
		}
		for _, n := range []int{1, 4, 8} {
			own := must(dev.Model())
			m := must(Load(own, repository+"parakeet-tiny.nemo", "tiny", Config{}))
			gpu.Fail(function, n, int(driver.OutOfMemory))
			checkTwo(t, m, 3, 3)
			gpu.Fail(function, 0, 0)
			checkTwo(t, m, 1, 1)
			m.Close()
			own.Close()
		}
	}
}

// TestGPUHangUp: a caller that hangs up in the middle leaves a device that works.
func TestGPUHangUp(t *testing.T) {
	m := loadOn(t, sharedGPU(t, cuda.F16))
	samples := wavSamples(t, repository+"two.wav")
	jobs := []*job{newJob(t, m, samples, engine.Options{}), newJob(t, m, samples, engine.Options{})}
	ctx, cancel := context.WithCancel(context.Background())
	asked := 0
	m.Run(ctx, windowsOf(jobs), func(int) []engine.Window {
		if asked++; asked == 4 {
			cancel()
		}
		return nil
	}, func(_ engine.Window, err error) {
		if !errors.Is(err, context.Canceled) {
			t.Error("got", err)
		}
	})
	checkTwo(t, m, 1, 1)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
