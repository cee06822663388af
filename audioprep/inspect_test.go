package audioprep

import (
	"bytes"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// inspectWAV inspects interleaved samples at 16 kHz.
func inspectWAV(t *testing.T, x []float32, channels int) *Inspection {
	t.Helper()
	file := riff(fmtChunk(tagFloat, channels, 16000, 32), chunk("data", encode(x, "f32")))
	i, err := Inspect(context.Background(), bytes.NewReader(file), Options{}, Label{Name: "talk.wav", Type: "audio/wav"}, 30*SampleRate)
	if err != nil {
		t.Fatal(err)
	}
	if i.Bytes != int64(len(file)) {
		t.Errorf("got %d bytes, want %d", i.Bytes, len(file))
	}
	return i
}

// TestInspectFaults: what is wrong with the sound has a name each, and good sound has none.
func TestInspectFaults(t *testing.T) {
	good := noise(32000, 0.2, 1)
	change := func(f func(i int, v float32) float32) []float32 {
		x := slices.Clone(good)
		for i, v := range x {
			x[i] = f(i, v)
		}
		return x
	}
	negated := change(func(_ int, v float32) float32 { return -v })
	zero := make([]float32, len(good))
	for _, c := range []struct {
		name     string
		x        []float32
		channels int
		want     []string
	}{
		{"good", good, 1, nil},
		{"good stereo", interleave(good, noise(32000, 0.2, 2)), 2, nil},
		{"one peak", change(func(i int, v float32) float32 {
			if i == 100 || i == 101 {
				return 1
			}
			return v
		}), 1, nil},
		{"clipped", change(func(_ int, v float32) float32 { return max(-1, min(30*v, 1)) }), 1, []string{"clipped: "}},
		{"offset", change(func(_ int, v float32) float32 { return v/2 - 0.3 }), 1, []string{"dc offset: "}},
		{"quiet", change(func(_ int, v float32) float32 { return v / 1000 }), 1, []string{"quiet: "}},
		{"silent", zero, 1, []string{"silent: "}},
		{"left only", interleave(good, zero), 2, []string{"silent channel: of 2 channels, nothing is on 2"}},
		{"anti-phase", interleave(good, negated), 2, []string{"anti-phase: "}},
		{"nan", change(func(i int, v float32) float32 {
			if i == 7 {
				return float32(math.NaN())
			}
			return v
		}), 1, []string{"1 samples were NaN"}},
	} {
		i := inspectWAV(t, c.x, c.channels)
		ok := len(i.Faults) == len(c.want)
		for k := range min(len(i.Faults), len(c.want)) {
			ok = ok && strings.HasPrefix(i.Faults[k], c.want[k])
		}
		if !ok {
			t.Errorf("%s: got %q, want %q", c.name, i.Faults, c.want)
		}
	}
}

// TestInspectLevels: loudness and peak are those of the upload, not of the mix.
func TestInspectLevels(t *testing.T) {
	i := inspectWAV(t, tone(5, 16000, 2, -23), 2)
	if math.Abs(i.Loudness - -23) > 0.1 || math.Abs(i.Peak - -23) > 0.1 {
		t.Errorf("got %.2f LUFS, peak %.2f dBFS, want -23 and -23", i.Loudness, i.Peak)
	}
	if i.Speech != 0 || len(i.Windows) != 0 || i.CostSamples != 0 {
		t.Errorf("a tone: got speech %.2f, %d windows, cost %d", i.Speech, len(i.Windows), i.CostSamples)
	}
	i = inspectWAV(t, make([]float32, 100), 1)
	if !math.IsNaN(i.Loudness) || !math.IsInf(i.Peak, -1) {
		t.Errorf("100 zeros: got %v LUFS, peak %v", i.Loudness, i.Peak)
	}
}

// TestInspectWindows: windows and cost are what Windows cuts.
func TestInspectWindows(t *testing.T) {
	file := sharedPath(t, "audio", "clips", "jfk-16k.wav")
	b := readFile(t, file)
	pcm, err := decodeBytes(b)
	if err != nil {
		t.Fatal(err)
	}
	for _, most := range []int{5 * SampleRate, 30 * SampleRate} {
		want, err := Windows(context.Background(), pcm.Samples, most)
		if err != nil {
			t.Fatal(err)
		}
		i, err := Inspect(context.Background(), bytes.NewReader(b), Options{}, Label{}, most)
		if err != nil {
			t.Fatal(err)
		}
		cost := 0
		for _, w := range want {
			cost += w.End - w.Start
		}
		if !slices.Equal(i.Windows, want) || i.CostSamples != cost || i.Speech < 0.3 || i.Speech > 1 {
			t.Errorf("windows of %d: got %v, cost %d, speech %.2f, want %v, cost %d", most, i.Windows, i.CostSamples, i.Speech, want, cost)
		}
	}
}

// TestInspectRefused: an upload that can't be heard leaves what was found.
func TestInspectRefused(t *testing.T) {
	long := riff(fmtChunk(tagPCM, 1, 8000, 16), chunk("data", make([]byte, 160000)))
	for _, c := range []struct {
		name  string
		file  []byte
		found Info
		fault string
	}{
		{"talk.mp3", []byte("\x89PNG\r\n\x1a\n................"), Info{Container: "png"}, "mislabelled: the name ends in .mp3, the content is png"},
		{"talk.wav", long, Info{Container: "wav", Codec: "pcm_s16", SampleRate: 8000, Channels: 1, Duration: 10 * time.Second}, ""},
		{"talk.wav", nil, Info{}, ""},
	} {
		i, err := Inspect(context.Background(), bytes.NewReader(c.file), Options{MaxDuration: time.Second}, Label{Name: c.name}, 30*SampleRate)
		var found *DecodeError
		if !errors.As(err, &found) {
			t.Fatalf("got %v, want a DecodeError", err)
		}
		if i.Container != c.found.Container || i.Codec != c.found.Codec || i.SampleRate != c.found.SampleRate || i.Channels != c.found.Channels || i.Duration != c.found.Duration {
			t.Errorf("got %+v, want %+v", i.Info, c.found)
		}
		if got := strings.Join(i.Faults, "; "); got != c.fault {
			t.Errorf("got faults %q, want %q", got, c.fault)
		}
		if i.Bytes != int64(len(c.file)) || !math.IsNaN(i.Loudness) || len(i.Windows) != 0 {
			t.Errorf("got %+v", i)
		}
	}
}

func TestMislabelled(t *testing.T) {
	for _, c := range []struct{ name, kind, container, want string }{
		{"a.mp3", "", "mp3", ""},
		{"A.MP3", "audio/mpeg", "mp3", ""},
		{"a.mp3", "", "flac", "mislabelled: the name ends in .mp3, the content is flac"},
		{"a.mp3", "", "", "mislabelled: the name ends in .mp3, the content is of no form that is known"},
		{`C:\a.b\talk.WAV`, "", "ogg", "mislabelled: the name ends in .wav, the content is ogg"},
		{"a.opus", "audio/ogg; codecs=opus", "ogg", ""},
		{"a.mkv", "video/x-matroska", "webm", ""},
		{"blob", "audio/webm;codecs=opus", "webm", ""},
		{"blob", "audio/webm", "mp4", "mislabelled: the media type is audio/webm, the content is mp4"},
		{"a.m4a", "audio/x-m4a", "mp4", ""},
		{"a.m4a", "audio/aac", "mp4", ""},
		{"a.mp3", "audio/wav", "mp3", "mislabelled: the media type is audio/wav, the content is mp3"},
		{"upload.bin", "application/octet-stream", "mp3", ""},
		{"", "", "png", ""},
		{"a.txt", "text/plain", "wav", ""},
		{"-", ";;;", "wav", ""},
	} {
		if got := Mislabelled(c.name, c.kind, c.container); got != c.want {
			t.Errorf("Mislabelled(%q, %q, %q): got %q, want %q", c.name, c.kind, c.container, got, c.want)
		}
	}
}

// FuzzMislabelled: names and types come from outside; what is said about them can be shown, and right ones say nothing.
func FuzzMislabelled(f *testing.F) {
	f.Add("a.mp3", "audio/wav")
	f.Add("a.\x1b[31m", "audio/\xff")
	f.Fuzz(func(t *testing.T, name, kind string) {
		got := Mislabelled(name, kind, "wav")
		if !utf8.ValidString(got) || strings.ContainsAny(got, "\x1b\n\r") || len(got) > maxLogMessage+100 {
			t.Fatalf("got %q", got)
		}
		if got := Mislabelled(name+".wav", "audio/wav", "wav"); got != "" {
			t.Fatalf("got %q of a WAV named so", got)
		}
	})
}
