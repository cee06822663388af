package audioprep

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

const (
	second    = SampleRate
	clipLimit = 30 * second
)

// voice makes something with what the finder knows speech by: a gliding buzz
// with formant-like tilt, opened and closed four times a second. Each syllable
// differs, so that nothing repeats exactly.
func voice(n int, amp float64, seed uint32) []float32 {
	x := make([]float32, n)
	phase, rnd := 0.0, seed
	syllable := second / 4
	var pitch, tilt, hiss float64
	for i := range x {
		if i%syllable == 0 {
			rnd = rnd*1664525 + 1013904223
			pitch = 90 + float64(rnd>>20)/4096*120
			tilt = 1 + float64(rnd>>12&255)/256
			hiss = float64(rnd>>4&255) / 256
		}
		at := float64(i%syllable) / float64(syllable)
		open := math.Pow(math.Sin(math.Pi*at), 2)
		phase += pitch * (1 + 0.3*at) / SampleRate
		v := 0.0
		for h := 1.0; h < 12; h++ {
			v += math.Sin(2*math.Pi*h*phase) / math.Pow(h, tilt)
		}
		rnd = rnd*1664525 + 1013904223
		v += hiss * (float64(rnd>>8)/(1<<23) - 1)
		x[i] = float32(amp * open * v / 3)
	}
	return x
}

// join puts stretches one after another over a floor of faint noise.
func join(parts ...[]float32) []float32 {
	var x []float32
	for _, p := range parts {
		x = append(x, p...)
	}
	for i, v := range noise(len(x), 1e-4, 3) {
		x[i] += v
	}
	return x
}

func silence(seconds float64) []float32 { return make([]float32, int(seconds*second)) }

// windowsOf are the windows of samples, with nobody to interrupt.
func windowsOf(samples []float32, maxSamples int) []Window {
	ws, err := Windows(context.Background(), samples, maxSamples)
	if err != nil {
		panic(err)
	}
	return ws
}

// speechOf finds speech with all of the samples in view.
func speechOf(samples []float32) *track {
	t := newTrack()
	for at := 0; at < len(samples); at += specHop {
		t.measure(samples[at:])
	}
	t.ended = true
	t.advance()
	return t
}

// TestListenForgets: what is known of the last seconds decides as all of it would.
func TestListenForgets(t *testing.T) {
	x := join(silence(3), voice(40*second, 0.3, 1), silence(5), noise(10*second, 0.1, 2), voice(second/2, 0.3, 5), silence(60), voice(20*second, 0.02, 3), silence(1))
	l, err := listen(context.Background(), x, clipLimit, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	whole := speechOf(x)
	if want := count(whole.speech.v); l.heard != want || l.heard == 0 {
		t.Errorf("got %d frames of speech, want %d", l.heard, want)
	}
	if len(l.track.measured.v) >= len(whole.measured.v) {
		t.Error("nothing was forgotten: the test shows nothing")
	}
	from := whole.speech.end() - len(l.track.speech.v)
	if !slices.Equal(l.track.speech.v, whole.speech.v[from:]) {
		t.Error("the last frames are decided otherwise")
	}
}

func TestWindowsEndWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Windows(ctx, make([]float32, 100*SampleRate), clipLimit); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}

// checkWindows holds windows to what Windows promises.
func checkWindows(t *testing.T, ws []Window, n, maxSamples int) {
	t.Helper()
	for i, w := range ws {
		if w.Start < 0 || w.End > n || w.End <= w.Start || w.End-w.Start > maxSamples {
			t.Fatalf("window %d is [%d, %d) of %d samples", i, w.Start, w.End, n)
		}
		if w.Overlap < 0 || w.Overlap >= w.End-w.Start {
			t.Fatalf("window %d of %d samples overlaps %d", i, w.End-w.Start, w.Overlap)
		}
		if i == 0 {
			if w.Overlap != 0 {
				t.Fatalf("the first window overlaps %d", w.Overlap)
			}
			continue
		}
		before := ws[i-1]
		if w.Overlap > 0 && w.Start != before.End-w.Overlap || w.Overlap == 0 && w.Start < before.End {
			t.Fatalf("window %d starts at %d with overlap %d, the one before ends at %d", i, w.Start, w.Overlap, before.End)
		}
		if w.End <= before.End {
			t.Fatalf("window %d ends at %d, no later than the one before", i, w.End)
		}
	}
}

// missing is how much of [from, to) is in no window.
func missing(ws []Window, from, to int) int {
	if from >= to {
		return 0
	}
	for _, w := range ws {
		if w.End <= from || w.Start >= to {
			continue
		}
		return missing(ws, from, max(from, w.Start)) + missing(ws, min(to, w.End), to)
	}
	return max(0, to-from)
}

func TestWindowsWithoutSpeech(t *testing.T) {
	tone := sine(12*second, 440, SampleRate, 0)
	beeps := sine(8*second, 1000, SampleRate, 0)
	for i := range beeps {
		if i/(second/2)%2 == 1 {
			beeps[i] = 0
		}
	}
	offset := make([]float32, 10*second)
	for i := range offset {
		offset[i] = 0.3
	}
	hum := sine(8*second, 150, SampleRate, 0)
	click := silence(10)
	click[5*second] = 0.9
	for name, x := range map[string][]float32{
		"nothing":             nil,
		"one sample":          {0.1},
		"10 s of zeros":       silence(10),
		"120 s of zeros":      silence(120),
		"-60 dB noise":        noise(10*second, 0.0017, 1),
		"long -60 dB noise":   noise(100*second, 0.0017, 1),
		"loud noise":          noise(30*second, 0.9, 2),
		"long loud noise":     noise(70*second, 0.9, 2),
		"0.3 s of noise":      noise(second*3/10, 0.5, 2),
		"0.4 s of tone":       tone[:second*4/10],
		"0.6 s of noise":      noise(second*6/10, 0.5, 2),
		"noise in silence":    join(silence(3), noise(6*second, 0.1, 2), silence(3)),
		"constant offset":     offset,
		"tone":                tone,
		"beeps":               join(beeps),
		"long beeps":          join(silence(20), beeps, silence(20)),
		"hum":                 join(hum),
		"click in zeros":      click,
		"click":               add(click, noise(len(click), 1e-3, 8)),
		"dither of ±1 in 16b": noise(40*second, 1.0/32768, 4),
	} {
		if ws := windowsOf(x, clipLimit); len(ws) != 0 {
			t.Errorf("%s: got %v, want no window", name, ws)
		}
	}
}

func TestWindowsOfClips(t *testing.T) {
	for name, x := range map[string][]float32{
		"speech":          join(silence(1), voice(5*second, 0.5, 1), silence(1)),
		"without pause":   voice(10*second, 0.5, 1),
		"quiet":           voice(8*second, 0.0015, 2),
		"0.5 s":           voice(second/2, 0.5, 3),
		"0.25 s":          voice(second/4, 0.5, 3),
		"0.9 s, quiet":    voice(second*9/10, 0.002, 3),
		"after long tone": join(scaled(sine(20*second, 300, SampleRate, 0), 0.03), voice(second, 0.5, 5)),
		"over noise":      add(voice(10*second, 0.5, 6), noise(10*second, 0.05, 1)),
		"with constant offset": add(voice(10*second, 0.3, 6), func() []float32 {
			x := make([]float32, 10*second)
			for i := range x {
				x[i] = 0.3
			}
			return x
		}()),
		"exactly the limit": voice(clipLimit, 0.5, 7),
	} {
		ws := windowsOf(x, clipLimit)
		if len(ws) != 1 || ws[0] != (Window{Start: 0, End: len(x)}) {
			t.Errorf("%s: got %v, want one window over all %d samples", name, ws, len(x))
		}
	}
}

// TestWindowsOfLateClips: silence before a clip's speech is left out if it is long and silent without a doubt.
func TestWindowsOfLateClips(t *testing.T) {
	for name, c := range map[string]struct {
		x    []float32
		late int // where speech begins if what is before is left out
	}{
		"0.5 s in silence": {join(silence(12), voice(second/2, 0.3, 4), silence(15)), 12 * second},
		"twice":            {join(silence(4), voice(second, 0.3, 4), silence(5), voice(second, 0.3, 5)), 4 * second},
		"soon":             {join(silence(1), voice(2*second, 0.3, 4)), 0},
		"softly at first":  {join(scaled(noise(6*second, 0.05, 2), 0.5), voice(5*second, 0.3, 4)), 0},
	} {
		ws := windowsOf(c.x, clipLimit)
		if len(ws) != 1 || ws[0].End != len(c.x) {
			t.Errorf("%s: got %v, want one window to the end at %d", name, ws, len(c.x))
			continue
		}
		if start := ws[0].Start; start > c.late || start < c.late-second*6/10 {
			t.Errorf("%s: the window starts at %d, want shortly before %d", name, start, c.late)
		}
	}
}

func scaled(x []float32, by float32) []float32 {
	for i := range x {
		x[i] *= by
	}
	return x
}

func add(a, b []float32) []float32 {
	out := make([]float32, len(a))
	for i := range out {
		out[i] = a[i] + b[i]
	}
	return out
}

// TestWindowsDropSilence: three utterances far apart are three windows, each
// close around its speech.
func TestWindowsDropSilence(t *testing.T) {
	u := voice(2*second, 0.4, 9)
	x := join(silence(5), u, silence(18), u, silence(43), u, silence(3))
	ws := windowsOf(x, clipLimit)
	checkWindows(t, ws, len(x), clipLimit)
	if len(ws) != 3 {
		t.Fatalf("got %v, want 3 windows", ws)
	}
	for i, at := range []float64{5, 25, 70} {
		start, end := float64(ws[i].Start)/second, float64(ws[i].End)/second
		if start < at-0.6 || start > at || end < at+1.9 || end > at+2.6 {
			t.Errorf("window %d is %.2f to %.2f s, the speech %.2f to %.2f s", i, start, end, at, at+2)
		}
	}
}

// TestWindowsCutInPauses: with a pause of 0.4 s every 6 s, each cut falls into
// one, windows are as few as can be, about even, and nothing is left out.
func TestWindowsCutInPauses(t *testing.T) {
	var parts [][]float32
	for i := range 25 {
		parts = append(parts, voice(6*second, 0.4, uint32(i)), silence(0.4))
	}
	x := join(parts...)
	ws := windowsOf(x, clipLimit)
	checkWindows(t, ws, len(x), clipLimit)
	period := int(6.4 * second)
	for i, w := range ws[:len(ws)-1] {
		if at := w.End % period; at < 6*second || w.Overlap != 0 || ws[i+1].Start != w.End {
			t.Errorf("window %d ends at %.2f s, not in a pause", i, float64(w.End)/second)
		}
		if w.End-w.Start < 19*second {
			t.Errorf("window %d has only %.1f s", i, float64(w.End-w.Start)/second)
		}
	}
	if want := (len(x) + 4*period - 1) / (4 * period); len(ws) != want {
		t.Errorf("got %d windows, want %d of at most four pauses", len(ws), want)
	}
	if n := missing(ws, 0, len(x)-second); n > second {
		t.Errorf("%.2f s are in no window", float64(n)/second)
	}
}

// TestWindowsCutHard: a buzz that is modulated but never dips cannot be cut at
// silence; the windows then share two seconds.
func TestWindowsCutHard(t *testing.T) {
	drone := make([]float32, 75*second)
	phase := 0.0
	for i := range drone {
		at := float64(i) / SampleRate
		phase += (150 + 60*math.Sin(2*math.Pi*1.3*at) + 25*math.Sin(2*math.Pi*3.1*at)) / SampleRate
		for h := 1.0; h < 8; h++ {
			drone[i] += float32(0.1 * (1 + 0.2*math.Sin(2*math.Pi*4*at)) * math.Sin(2*math.Pi*h*phase) / h)
		}
	}
	ws := windowsOf(drone, clipLimit)
	checkWindows(t, ws, len(drone), clipLimit)
	if len(ws) != 3 || ws[1].Overlap != 2*second || ws[2].Overlap != 2*second {
		t.Fatalf("got %v, want 3 windows with overlaps of 2 s", ws)
	}
	if ws[0].End-ws[0].Start != clipLimit || missing(ws, 0, len(drone)) != 0 {
		t.Errorf("got %v: hard cuts must fill windows and leave nothing out", ws)
	}
}

// TestWindowsProperties: over random sequences of speech, noise, tones and silence
// and several limits, windows are as promised and no speech is in none.
func TestWindowsProperties(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for round := range 6 {
		var parts [][]float32
		for range 4 + rnd.IntN(8) {
			n := second/10 + rnd.IntN(12*second)
			switch rnd.IntN(5) {
			case 0:
				parts = append(parts, make([]float32, n))
			case 1:
				parts = append(parts, noise(n, 0.02, rnd.Uint32()))
			case 2:
				parts = append(parts, scaled(sine(n, 200+800*rnd.Float64(), SampleRate, 0), 0.1))
			default:
				parts = append(parts, voice(n, 0.05+0.4*rnd.Float64(), rnd.Uint32()))
			}
		}
		x := join(parts...)
		speech := speechOf(x).speech.v
		for _, limit := range []int{3 * second, 7*second + 13, clipLimit, 300 * second} {
			ws := windowsOf(x, limit)
			checkWindows(t, ws, len(x), limit)
			for i, s := range speech {
				if s && missing(ws, i*specHop, min((i+1)*specHop, len(x))) > 0 {
					t.Fatalf("round %d, limit %d: speech at %.2f s is in no window of %v", round, limit, float64(i)/100, ws)
				}
			}
		}
	}
}

func TestWindowsPanic(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("got no panic for windows of no length")
		}
	}()
	windowsOf([]float32{1}, 0)
}

type segment struct {
	Start, End float64
	Gap        string
}

// TestWindowsCorpus measures the finder on real speech: what is said in every
// clip, part and long recording must be in a window.
func TestWindowsCorpus(t *testing.T) {
	var clips int
	for _, r := range manifest(t) {
		switch filepath.Ext(r.Path) {
		case ".wav", ".flac", ".mp3":
		default:
			continue
		}
		if r.Category == "clips" || r.Category == "parts" {
			pcm, err := decodeFile(t, sharedPath(t, "audio", r.Path), Options{})
			if err != nil {
				t.Fatalf("%s: %v", r.Path, err)
			}
			clips++
			if ws := windowsOf(pcm.Samples, max(clipLimit, len(pcm.Samples))); len(ws) != 1 {
				t.Errorf("%s: got %v, want one window", r.Path, ws)
			}
			// Cut as a recording would be, no speech may be lost either.
			if lost := lostEnergy(pcm.Samples, windowsOf(pcm.Samples, 3*second), func(int) bool { return true }); lost > 5e-4 {
				t.Errorf("%s: windows of 3 s leave out %.4f %% of the energy", r.Path, 100*lost)
			}
		}
		if r.Category == "longform" {
			longform(t, r.Path)
		}
	}
	t.Logf("%d clips", clips)
	for path, want := range map[string]int{
		"audio/broken/dc-offset.wav": 1, "audio/broken/very-quiet.wav": 1, "audio/broken/hard-clipped.wav": 1,
		"audio/broken/silence-30s.flac": 0, "audio/broken/tone-12s.flac": 0, "audio/broken/white-noise-30s.mp3": 0,
		"golden/whisper/audio/short05.wav": 1, "golden/whisper/audio/noise30.wav": 0,
		"golden/whisper/audio/lj_02.wav": 1, "golden/whisper/audio/ja.wav": 1,
	} {
		pcm, err := decodeFile(t, sharedPath(t, path), Options{})
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if ws := windowsOf(pcm.Samples, max(clipLimit, len(pcm.Samples))); len(ws) != want {
			t.Errorf("%s: got %v, want %d windows", path, ws, want)
		}
	}
}

// TestWindowsOfWords: half a second out of the middle of speech, where it is loud,
// is speech, wherever it begins and ends.
func TestWindowsOfWords(t *testing.T) {
	for _, name := range []string{"jfk-16k.wav", "lj-LJ001-0002.wav", "synth-en-1.wav", "leopard-test.wav"} {
		pcm, err := decodeFile(t, sharedPath(t, "audio", "clips", name), Options{})
		if err != nil {
			t.Fatal(err)
		}
		for at := 0; at+second/2 < len(pcm.Samples); at += second / 10 {
			x := pcm.Samples[at : at+second/2]
			if rmsDB(x) > -30 && len(windowsOf(x, clipLimit)) != 1 {
				t.Errorf("%s: no speech in half a second from %.1f s", name, float64(at)/second)
			}
		}
	}
}

// TestWindowsLeaveOutPauses: what is silent at a cut is in no window, but for a little at its ends.
func TestWindowsLeaveOutPauses(t *testing.T) {
	x := join(voice(20*second, 0.4, 1), silence(1.5), voice(20*second, 0.4, 2))
	ws := windowsOf(x, clipLimit)
	checkWindows(t, ws, len(x), clipLimit)
	if len(ws) != 2 {
		t.Fatalf("got %v, want a window for each stretch", ws)
	}
	if gap := ws[1].Start - ws[0].End; gap < second/2 || gap > second {
		t.Errorf("%.2f s of a pause of 1.5 s are left out", float64(gap)/second)
	}
}

// TestWindowsJoinNeighbours: a few words with silence around them share a window with what is near, if there is room.
func TestWindowsJoinNeighbours(t *testing.T) {
	words := voice(2*second, 0.4, 1)
	for name, c := range map[string]struct {
		x    []float32
		want int
	}{
		"near":            {join(voice(20*second, 0.4, 2), silence(3), words, silence(6), voice(20*second, 0.4, 3)), 2},
		"far":             {join(voice(20*second, 0.4, 2), silence(6), words, silence(6), voice(20*second, 0.4, 3)), 3},
		"no room":         {join(voice(29*second, 0.4, 2), silence(3), words, silence(3), voice(29*second, 0.4, 3)), 3},
		"one of the two":  {join(voice(29*second, 0.4, 2), silence(3), words, silence(3), voice(15*second, 0.4, 3)), 2},
		"several of them": {join(words, silence(3), words, silence(3), words, silence(3), words, silence(20)), 1},
	} {
		ws := windowsOf(c.x, clipLimit)
		checkWindows(t, ws, len(c.x), clipLimit)
		if len(ws) != c.want {
			t.Errorf("%s: got %v, want %d windows", name, ws, c.want)
		}
	}
}

// lostEnergy is the part of a signal's energy that no window holds, of the band
// that carries speech: rumble before the first word is not missed. Only samples that are spoken count.
func lostEnergy(x []float32, ws []Window, spoken func(sample int) bool) float64 {
	var all, lost float64
	k := 0
	for i, l := range speechOf(x).measured.v {
		if !spoken(i * specHop) {
			continue
		}
		for k < len(ws) && i*specHop >= ws[k].End {
			k++
		}
		e := math.Pow(10, float64(l)/10)
		all += e
		if k == len(ws) || i*specHop < ws[k].Start {
			lost += e
		}
	}
	return lost / all
}

func longform(t *testing.T, path string) {
	t.Helper()
	pcm, err := decodeFile(t, sharedPath(t, "audio", path), Options{})
	if err != nil {
		t.Errorf("%s: %v", path, err)
		return
	}
	base := path[:len(path)-len(filepath.Ext(path))]
	b, err := os.ReadFile(sharedPath(t, "audio", base+".segments.json"))
	if err != nil {
		t.Fatal(err)
	}
	var marks struct{ Segments []segment }
	if err := json.Unmarshal(b, &marks); err != nil {
		t.Fatal(err)
	}
	ws := windowsOf(pcm.Samples, clipLimit)
	checkWindows(t, ws, len(pcm.Samples), clipLimit)
	spoken := func(sample int) bool {
		at := float64(sample) / second
		return slices.ContainsFunc(marks.Segments, func(s segment) bool { return s.Gap == "" && s.Start <= at && at < s.End })
	}
	lost := lostEnergy(pcm.Samples, ws, spoken)
	var gaps, passed float64
	for _, s := range marks.Segments {
		if s.Gap == "" {
			continue
		}
		from, to := int(s.Start*second), min(int(s.End*second), len(pcm.Samples))
		n := float64(missing(ws, from, to)) / second
		// A gap may keep the padding of the speech beside it.
		gaps += s.End - s.Start
		passed += s.End - s.Start - n
	}
	kept, hard := 0.0, 0
	for _, w := range ws {
		kept += float64(w.End-w.Start-w.Overlap) / second
		if w.Overlap > 0 {
			hard++
		}
	}
	t.Logf("%s: %.0f s, %d windows of %.1f s on average, %d cut hard; of the energy of speech %.4f %% in no window; of %.0f s of gaps %.1f s in windows",
		path, pcm.Info.Duration.Seconds(), len(ws), kept/float64(len(ws)), hard, 100*lost, gaps, passed)
	// The segments hold the silence at the ends of each part as well.
	if lost > 2e-5 {
		t.Errorf("%s: %.4f %% of the energy of speech are in no window", path, 100*lost)
	}
	if passed > 0.3*gaps {
		t.Errorf("%s: %.1f of %.0f s without speech are in windows", path, passed, gaps)
	}
}

func BenchmarkWindows(b *testing.B) {
	x := voice(300*second, 0.4, 1)
	for b.Loop() {
		windowsOf(x, clipLimit)
	}
	b.ReportMetric(float64(b.N)*300/b.Elapsed().Seconds(), "audio-s/s")
}
