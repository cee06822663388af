package audioprep

import (
	"sync"
	"testing"
)

// TestConcurrent: calls share nothing but tables that are only read.
func TestConcurrent(t *testing.T) {
	x := noise(3000, 0.3, 1)
	files := [][]byte{
		riff(fmtChunk(tagPCM, 1, 11025, 16), chunk("data", encode(x, "s16"))),
		riff(fmtChunk(tagPCM, 1, 12345, 16), chunk("data", encode(x, "s16"))),
		flacFile([][]float32{x, x}, 88200, 16, 3000),
		mp3File(t, "32000-joint"),
		testFile(t, "celt.opus"),
		testFile(t, "stereo-vorbis.ogg"),
		testFile(t, "opus-live.webm"),
	}
	var want [][]float32
	for _, f := range files {
		pcm, err := decodeBytes(f)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, pcm.Samples)
	}
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			pcm, err := decodeBytes(files[i%len(files)])
			if err != nil || !equal(pcm.Samples, want[i%len(files)]) {
				t.Errorf("file %d: other samples beside other calls (%v)", i%len(files), err)
			}
			windowsOf(want[i%len(files)], clipLimit)
		})
	}
	wg.Wait()
}
