package audioprep

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

func filterAll(x []float32, piece int) []float32 {
	f := &offsetFilter{}
	var y []float32
	for at := 0; at < len(x); at += piece {
		y = append(y, f.write(x[at:min(len(x), at+piece)])...)
	}
	return append(y, f.flush()...)
}

// TestOffset: what is off the middle comes back to it, however it is cut; all else passes bit by bit.
func TestOffset(t *testing.T) {
	speech := voice(3*second+1234, 0.4, 2)
	step := raised(speech, 0.2)
	for i := range step[:second] {
		step[i] -= 0.2 // it begins after a second
	}
	for _, c := range []struct {
		name string
		in   []float32
		want []float32 // nil: the input
		most float64   // mean that may be left over each of the last seconds
	}{
		{"speech", speech, nil, 1},
		{"silence", make([]float32, 2*second), nil, 0},
		{"half a second", raised(speech[:second/2], 0.3), speech[:second/2], 1e-2},
		{"a moment", raised(speech[:second/10], 0.3), nil, 1},
		{"nothing", nil, nil, 1},
		{"raised", raised(speech, 0.3), speech, 1e-2},
		{"lowered", raised(speech, -0.05), speech, 1e-2},
		{"little", raised(speech, 0.002), nil, 1},
		{"a step", step, nil, -1},
	} {
		want := filterAll(c.in, 1<<20)
		for _, piece := range []int{1, 160, 9999, second} {
			if !equal(filterAll(c.in, piece), want) {
				t.Errorf("%s: other samples in pieces of %d", c.name, piece)
			}
		}
		if len(want) != len(c.in) {
			t.Errorf("%s: got %d samples of %d", c.name, len(want), len(c.in))
			continue
		}
		switch {
		case c.most < 0:
			if m := mean(want[2*second : 3*second]); math.Abs(m) > 0.02 {
				t.Errorf("%s: %v is left at the end", c.name, m)
			}
		case c.want == nil:
			if !equal(want, c.in) {
				t.Errorf("%s: it was changed", c.name)
			}
		default:
			for i, v := range want {
				if math.Abs(float64(v-c.want[i])) > c.most {
					t.Errorf("%s: sample %d is %v, want %v", c.name, i, v, c.want[i])
					break
				}
			}
		}
	}
}

func mean(x []float32) float64 {
	sum := 0.0
	for _, v := range x {
		sum += float64(v)
	}
	return sum / float64(len(x))
}

// TestFaultySamples: what is no sound is made harmless and named, mixed and apart.
func TestFaultySamples(t *testing.T) {
	speech := voice(2*second, 0.4, 2)
	with := func(values ...float64) []float32 {
		x := append([]float32(nil), speech...)
		for i, v := range values {
			x[1000+i*300] = float32(v)
		}
		return x
	}
	for _, c := range []struct {
		name  string
		in    []float32
		fault string
	}{
		{"nothing", speech, ""},
		{"NaN", with(math.NaN(), math.NaN()), "2 samples were NaN"},
		{"infinite", with(math.Inf(1), math.Inf(-1)), "2 samples were NaN, infinite"},
		{"huge", with(1e30, -1e30, 3e38), "3 samples were NaN, infinite or absurdly large"},
		{"too loud", with(1.5, -2, 200), "3 samples were beyond full scale"},
		{"DC offset", raised(speech, 0.25), "dc offset: the samples lay 25% of full scale off the middle"},
		{"all NaN", scaled(with(), float32(math.NaN())), fmt.Sprintf("%d samples were NaN", len(speech))},
	} {
		for _, separate := range []bool{false, true} {
			file := riff(fmtChunk(tagFloat, 1, SampleRate, 32), chunk("data", encode(c.in, "f32")))
			pcm, err := decodeWith(file, Options{Separate: separate})
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
				continue
			}
			checkPCM(t, pcm)
			got := strings.Join(pcm.Info.Faults, "; ")
			if (c.fault == "") != (got == "") || !strings.HasPrefix(got, c.fault) {
				t.Errorf("%s: got faults %q, want %q", c.name, got, c.fault)
			}
			if m := mean(pcm.Samples); math.Abs(m) > 0.01 {
				t.Errorf("%s: the mean is %v", c.name, m)
			}
		}
	}
}

// TestSeparate: each channel is what it is alone, up to eight of them.
func TestSeparate(t *testing.T) {
	a, b := voice(2*second, 0.4, 2), voice(2*second, 0.3, 7)
	pcm, err := decodeWith(riff(fmtChunk(tagPCM, 2, 44100, 16), chunk("data", encode(interleave(a, b), "s16"))), Options{Separate: true})
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range [][]float32{a, b} {
		alone, err := decodeBytes(riff(fmtChunk(tagPCM, 1, 44100, 16), chunk("data", encode(x, "s16"))))
		if err != nil {
			t.Fatal(err)
		}
		if !equal(pcm.Channels[i], alone.Samples) {
			t.Errorf("channel %d is not what it is alone", i)
		}
	}
	if len(pcm.Channels) != 2 || !equal(pcm.Samples, pcm.Channels[0]) || pcm.Info.Channels != 2 {
		t.Errorf("got %d channels, %+v", len(pcm.Channels), pcm.Info)
	}
	for _, n := range []int{1, MaxSeparate, MaxSeparate + 1} {
		file := riff(fmtChunk(tagPCM, n, SampleRate, 16), chunk("data", make([]byte, 200*n)))
		pcm, err := decodeWith(file, Options{Separate: true})
		if n <= MaxSeparate {
			if err != nil || len(pcm.Channels) != n {
				t.Errorf("%d channels: %v", n, err)
			}
			continue
		}
		want := "the audio has 9 channels, at most 8 can be kept apart: have them mixed"
		if err == nil || err.Error() != want {
			t.Errorf("%d channels: got %v, want %q", n, err, want)
		}
	}
}
