package audioprep

import (
	"encoding/binary"
	"errors"
	"math"
	"testing"
)

// TestMP4Packed: Opus, FLAC and MP3 in MP4 files are what they are in their own.
func TestMP4Packed(t *testing.T) {
	ogg := testFile(t, "celt.opus")
	want, err := decodeBytes(ogg)
	if err != nil {
		t.Fatal(err)
	}
	packets, _ := oggPackets(t, ogg)
	head := packets[0]
	dops := []byte{0, head[9]}
	dops = binary.BigEndian.AppendUint16(dops, binary.LittleEndian.Uint16(head[10:]))
	dops = append(dops, 0, 0, 0xbb, 0x80, 0, 0, 0)
	m := &mp4Maker{
		packets: packets[2:], rate: opusRate, frame: 960, perChunk: 3, flags: 3, handler: "soun",
		entry: soundEntry("Opus", 2, 16, 48000, atom("dOps", dops)),
	}
	skip := int64(binary.LittleEndian.Uint16(head[10:]))
	m.last = int64(want.Info.Duration.Seconds()*opusRate+0.5) + skip - int64(len(m.packets)-1)*960
	checkSame(t, "Opus", m.indexLast(), "opus", want.Samples)

	x := scaled(sine(3000, 440, SampleRate, 0), 0.5)
	file := flacFile([][]float32{x, x}, SampleRate, 16, 3000)
	want, err = decodeBytes(file)
	if err != nil {
		t.Fatal(err)
	}
	m = &mp4Maker{
		rate: SampleRate, frame: 1024, perChunk: 2, flags: 3, handler: "soun", last: 3000 - 2*1024,
		entry: soundEntry("fLaC", 2, 16, SampleRate, atom("dfLa", u32(0), file[4:42])),
	}
	for n, at := 0, 0; at < len(x); n, at = n+1, at+1024 {
		m.packets = append(m.packets, flacFrame([][]float32{x, x}, n, at, min(1024, len(x)-at), 16))
	}
	checkSame(t, "FLAC", m.indexLast(), "flac", want.Samples)

	b := mp3File(t, "16000-stereo")
	if want, err = decodeBytes(b); err != nil {
		t.Fatal(err)
	}
	m = &mp4Maker{
		rate: SampleRate, frame: 576, perChunk: 2, flags: 3, handler: "soun", entry: soundEntry(".mp3", 2, 16, SampleRate),
	}
	at := append(frameStarts(b), len(b))
	for i := range at[1:] {
		m.packets = append(m.packets, b[at[i]:at[i+1]])
	}
	checkSame(t, "MP3", m.indexLast(), "mp3", want.Samples)
}

// checkSame decodes an MP4 file and compares the samples.
func checkSame(t *testing.T, name string, file []byte, codec string, want []float32) {
	t.Helper()
	pcm, err := decodeBytes(file)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	checkPCM(t, pcm)
	if in := pcm.Info; in.Container != "mp4" || in.Codec != codec || in.Faults != nil {
		t.Errorf("%s: got %+v", name, in)
	}
	if !equal(pcm.Samples, want) {
		t.Errorf("%s: got %d samples, want %d and the same", name, len(pcm.Samples), len(want))
	}
}

func TestMP4PackedErrors(t *testing.T) {
	m := monoMP4(t)
	var ce *CorruptError
	for name, entry := range map[string][]byte{
		"no Opus header":    soundEntry("Opus", 2, 16, 48000),
		"short Opus header": soundEntry("Opus", 2, 16, 48000, atom("dOps", []byte{0, 2, 0, 0})),
		"no FLAC header":    soundEntry("fLaC", 2, 16, 48000),
		"no ALAC header":    soundEntry("alac", 2, 16, 48000),
		"AAC is no MP3":     soundEntry(".mp3", 2, 16, 48000),
		"AAC is no ALAC":    soundEntry("alac", 1, 16, 48000, atom("alac", u32(0, 4096, 16<<16|40<<8|10, 14<<24|1<<16|255, 0, 0, 16000))),
	} {
		m.entry = entry
		if _, err := decodeBytes(m.indexLast()); !errors.As(err, &ce) || ce.Container != "mp4" {
			t.Errorf("%s: got %v, want a CorruptError", name, err)
		}
	}
}

// TestMP4PackedFFmpeg compares what ffmpeg writes with what it reads.
func TestMP4PackedFFmpeg(t *testing.T) {
	for _, c := range []struct {
		args    []string
		exactDB float64
	}{
		{[]string{"x.mp4", "-c:a", "flac", "-strict", "-2"}, 200},
		{[]string{"x.mp4", "-c:a", "libmp3lame", "-b:a", "48k"}, 60},
		{[]string{"x.mov", "-c:a", "libmp3lame", "-b:a", "48k"}, 60},
		{[]string{"x.mp4", "-c:a", "libopus", "-b:a", "32k"}, 0}, // of another rate
	} {
		file, want := ffmpegEncode(t, c.args[0], c.args[1:]...)
		pcm, err := decodeBytes(file)
		if err != nil {
			t.Errorf("%v: %v", c.args, err)
			continue
		}
		if d := len(pcm.Samples) - SampleRate; d < -1 || d > 576 || pcm.Info.Faults != nil {
			t.Errorf("%v: got %d samples, %+v", c.args, len(pcm.Samples), pcm.Info)
		}
		power := func(x []float32) (sum float64) {
			for _, v := range x {
				sum += float64(v) * float64(v)
			}
			return sum / float64(len(x))
		}
		if d := 10 * math.Log10(power(pcm.Samples)/power(want)); math.Abs(d) > 0.5 {
			t.Errorf("%v: the levels differ by %.2f dB", c.args, d)
		}
		if c.exactDB > 0 {
			n := min(len(want), len(pcm.Samples))
			var wrong float64
			for i, v := range want[:n] {
				wrong += float64(v-pcm.Samples[i]) * float64(v-pcm.Samples[i])
			}
			if db := 10 * math.Log10(power(want)*float64(n)/(wrong+1e-30)); db < c.exactDB {
				t.Errorf("%v: got %.1f dB, want %v", c.args, db, c.exactDB)
			}
		}
	}
}
