package audioprep

import (
	"bytes"
	"context"
	"os"
	"testing"
)

// BenchmarkDecode decodes a file of each format, resampling and all.
func BenchmarkDecode(b *testing.B) {
	for _, name := range []string{
		"formats/wav-s16-16k-mono.wav", "formats/wav-s16-44100-stereo.wav", "formats/wav-f32-48000-stereo.wav",
		"formats/flac-s16-16000-mono.flac", "formats/flac-s16-44100-stereo.flac",
		"formats/mp3-mpeg2-16000-mono.mp3", "formats/mp3-cbr64-44100-mono.mp3", "formats/mp3-cbr128-44100-joint.mp3",
		"formats/ogg-opus-60ms-12k.opus", "formats/ogg-opus-mono-24k.opus", "formats/ogg-opus-stereo-64k.ogg",
		"formats/ogg-vorbis-16000-mono.ogg", "formats/ogg-vorbis-44100-mono.ogg", "formats/ogg-vorbis-48000-stereo.ogg",
		"formats/oga-flac-in-ogg.oga", "formats/webm-opus-mediarecorder.webm",
	} {
		b.Run(name, func(b *testing.B) {
			data, err := os.ReadFile(sharedPath(b, "audio", name))
			if err != nil {
				b.Fatal(err)
			}
			seconds := 0.0
			for b.Loop() {
				pcm, err := Decode(context.Background(), bytes.NewReader(data), Options{})
				if err != nil {
					b.Fatal(err)
				}
				seconds += pcm.Info.Duration.Seconds()
			}
			b.ReportMetric(seconds/b.Elapsed().Seconds(), "audio-s/s")
		})
	}
}
