package audioprep

import (
	"math"
	"os/exec"
	"testing"
)

// throughFFmpeg decodes a file with ffmpeg, by the decoder named if there is one,
// and takes its samples the rest of the way here.
func throughFFmpeg(t testing.TB, path, decoder string) []float32 {
	t.Helper()
	ffmpeg, err := exec.LookPath("ffmpeg")
	if err != nil {
		t.Skip("no ffmpeg on PATH: nothing to compare with")
	}
	args := []string{"-v", "error"}
	if decoder != "" {
		args = append(args, "-c:a", decoder)
	}
	wav, err := exec.Command(ffmpeg, append(args, "-i", path, "-map", "0:a:0", "-c:a", "pcm_f32le", "-f", "wav", "-")...).Output()
	if err != nil {
		t.Skipf("ffmpeg has no decoder %q: %v", decoder, err)
	}
	pcm, err := decodeBytes(wav)
	if err != nil {
		t.Fatal(err)
	}
	return pcm.Samples
}

// errorDB is how far x is from want, as far as both go.
func errorDB(x, want []float32) float64 {
	n := min(len(x), len(want))
	signal, noise := 1e-20, 1e-20
	for i, v := range want[:n] {
		signal += float64(v) * float64(v)
		noise += (float64(v) - float64(x[i])) * (float64(v) - float64(x[i]))
	}
	return 10 * math.Log10(noise/signal)
}

// TestAgainstFFmpeg holds what is decoded to what ffmpeg makes of the same file:
// sample for sample, at the same places.
func TestAgainstFFmpeg(t *testing.T) {
	for _, c := range []struct {
		path, decoder string
		db            float64
		more          int // samples at 16 kHz that ffmpeg leaves on or takes off the end
	}{
		// TestOpusCorpus has the rest. ffmpeg goes on with the first stream's state in the second one.
		{"formats/ogg-opus-chained.opus", "libopus", -52, 0},
		{"formats/ogg-vorbis-16000-mono.ogg", "", -100, 0},
		// Of these every other sample is resampled, by filters of another slope.
		{"formats/ogg-vorbis-44100-mono.ogg", "", -60, 0},
		{"formats/ogg-vorbis-48000-stereo.ogg", "", -60, 0},
		{"formats/webm-vorbis.webm", "", -60, 0},
		{"formats/oga-flac-in-ogg.oga", "", -100, 0},
		{"formats/mka-flac.mka", "", -100, 0},
		// ffmpeg leaves out the end of the last frame.
		{"formats/mkv-mp3.mkv", "", -60, 140},
	} {
		t.Run(c.path, func(t *testing.T) {
			path := sharedPath(t, "audio", c.path)
			want := throughFFmpeg(t, path, c.decoder)
			pcm, err := decodeFile(t, path, Options{})
			if err != nil {
				t.Fatal(err)
			}
			db := errorDB(pcm.Samples, want)
			t.Logf("%.1f dB, %d samples, ffmpeg %d", db, len(pcm.Samples), len(want))
			if db > c.db {
				t.Errorf("the error is at %.1f dB, want %.0f", db, c.db)
			}
			if d := len(pcm.Samples) - len(want); d < -1-c.more || d > 1+c.more {
				t.Errorf("got %d samples, ffmpeg %d", len(pcm.Samples), len(want))
			}
		})
	}
}
