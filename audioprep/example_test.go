package audioprep_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"hark/audioprep"
)

// An upload becomes samples and windows; what is no audio says what it is.
func Example() {
	// A WAV file of one second at 8 kHz, µ-law, whose writer never came back to
	// fill in the sizes.
	file := []byte("RIFF\xff\xff\xff\xffWAVE" +
		"fmt \x10\x00\x00\x00\x07\x00\x01\x00\x40\x1f\x00\x00\x40\x1f\x00\x00\x01\x00\x08\x00" +
		"data\xff\xff\xff\xff")
	file = append(file, bytes.Repeat([]byte{0xff}, 8000)...)

	limits := audioprep.Options{MaxDuration: time.Hour}
	pcm, err := audioprep.Decode(context.Background(), bytes.NewReader(file), limits)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(pcm.Info.Container, pcm.Info.Codec, pcm.Info.SampleRate, pcm.Info.Duration)
	windows, err := audioprep.Windows(context.Background(), pcm.Samples, 30*audioprep.SampleRate)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(pcm.Samples), "samples,", len(windows), "windows")

	_, err = audioprep.Decode(context.Background(), bytes.NewReader([]byte("%PDF-1.7")), limits)
	var format *audioprep.FormatError
	fmt.Println(errors.As(err, &format), format.Found)
	// Output:
	// wav mulaw 8000 1s
	// 16000 samples, 0 windows
	// true pdf
}
