package audioprep

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"reflect"
	"testing"
)

func decodeTrack(b []byte, track int) (*PCM, error) {
	return Decode(context.Background(), bytes.NewReader(b), Options{Track: track})
}

// trackFile is a file of two audio tracks, the second of which is silent, and what
// is to be listed of them.
type trackFile struct {
	file []byte
	want []Track
}

// trackFiles writes such files.
func trackFiles(t *testing.T) map[string]trackFile {
	loud := monoMP4(t)
	mp4 := loud.indexLast()
	// A second track over the same packets: the index of the first once more.
	moov := bytes.Index(mp4, []byte("moov"))
	trak := bytes.Index(mp4, []byte("trak"))
	first := mp4[trak-4:]
	second := bytes.Clone(first)
	copy(second[bytes.Index(second, []byte("tkhd"))+4:], u32(0)) // not enabled
	language := bytes.Index(second, []byte("mdhd")) + 4 + 20
	second[language], second[language+1] = 0x15, 0xc7 // "eng"
	two := append(bytes.Clone(mp4), second...)
	copy(two[moov-4:], u32(int64(len(two)-moov+4)))

	opus := oggParts(t, testFile(t, "celt.opus"))
	flac := oggParts(t, testFile(t, "flac.oga"))
	for _, page := range flac {
		copy(page[14:], "flac") // the serial number
	}
	ogg := bytes.Join([][]byte{opus[0], flac[0]}, nil)
	for i := 1; i < max(len(opus), len(flac)); i++ {
		if i < len(opus) {
			ogg = append(ogg, opus[i]...)
		}
		if i < len(flac) {
			ogg = append(ogg, flac[i]...)
		}
	}
	return map[string]trackFile{
		"mp4": {two, []Track{
			{Codec: "aac", SampleRate: 16000, Channels: 1, Default: true},
			{Codec: "aac", SampleRate: 16000, Channels: 1, Language: "eng"},
		}},
		"ogg": {withChecksums(ogg), []Track{
			{Codec: "opus", SampleRate: 48000, Channels: 2, Default: true},
			{Codec: "flac", SampleRate: 22050, Channels: 2},
		}},
	}
}

// TestMatroskaTracks: the default one is not the first, and one can't be decoded.
func TestMatroskaTracks(t *testing.T) {
	w := opusWebM(t)
	pcm := trackEntry(2, 2, "A_PCM/INT/LIT", uintElement(0x88, 0), element(0x22b59c, []byte("eng")), element(0x22b59d, []byte("en-GB")),
		element(0xe1, uintElement(0x9f, 1), uintElement(0x6264, 16), element(0xb5, binary.BigEndian.AppendUint32(nil, math.Float32bits(16000)))))
	foreign := trackEntry(3, 2, "A_AC3", uintElement(0x88, 0), element(0x22b59c, []byte("und")))
	samples := encode(voice(SampleRate, 0.3, 1), "s16")
	both := func(i, ms int) []byte { // 20 ms of PCM before each frame
		part := samples[min(len(samples), 640*i):min(len(samples), 640*(i+1))]
		return append(element(idSimpleBlock, blockBody(2, ms, 0, part)), w.simple(i, ms)...)
	}
	video := trackEntry(4, 1, "V_VP8", element(0xe0, uintElement(0xb0, 640)))
	file := append(bytes.Clone(ebmlStart), element(idSegment, element(idTracks, video, pcm, w.track(), foreign), w.clusters(element, both))...)
	want := []Track{
		{Codec: "pcm_s16", SampleRate: 16000, Channels: 1, Language: "en-GB"},
		{Codec: "opus", SampleRate: 48000, Channels: 2, Default: true},
		{Codec: "AC3", SampleRate: 8000, Channels: 1}, // which is what is not written stands for
	}
	for track, codec := range []string{"opus", "pcm_s16", "opus"} {
		pcm, err := decodeTrack(file, track)
		if err != nil {
			t.Fatalf("track %d: %v", track, err)
		}
		if pcm.Info.Codec != codec || !reflect.DeepEqual(pcm.Info.Tracks, want) {
			t.Errorf("track %d: got %+v", track, pcm.Info)
		}
	}
	var format *FormatError
	if _, err := decodeTrack(file, 3); !errors.As(err, &format) || format.Found != "webm with AC3" {
		t.Errorf("track 3: got %v", err)
	}
	var choice *ChoiceError
	if _, err := decodeTrack(file, 4); !errors.As(err, &choice) || choice.Error() != "there is no audio track 4: the file has 3, counted from 1" {
		t.Errorf("track 4: got %v", err)
	}
}

// TestTracks: the tracks are listed, each can be asked for, and one that is not there
// is told with how many there are.
func TestTracks(t *testing.T) {
	for name, f := range trackFiles(t) {
		for track := range len(f.want) + 1 {
			pcm, err := decodeTrack(f.file, track)
			if err != nil {
				t.Errorf("%s, track %d: %v", name, track, err)
				continue
			}
			if !reflect.DeepEqual(pcm.Info.Tracks, f.want) {
				t.Errorf("%s, track %d: listed %+v", name, track, pcm.Info.Tracks)
			}
			if want := max(track, 1); pcm.Info.Track != want || pcm.Info.Codec != f.want[want-1].Codec {
				t.Errorf("%s, track %d: got track %d of %s", name, track, pcm.Info.Track, pcm.Info.Codec)
			}
			checkPCM(t, pcm)
		}
		for _, track := range []int{-1, len(f.want) + 1} {
			_, err := decodeTrack(f.file, track)
			var choice *ChoiceError
			if !errors.As(err, &choice) || *choice != (ChoiceError{"track", track, len(f.want)}) {
				t.Errorf("%s, track %d: got %v", name, track, err)
			}
			var file *DecodeError
			if !errors.As(err, &file) || !reflect.DeepEqual(file.Info.Tracks, f.want) {
				t.Errorf("%s, track %d: the error does not list the tracks", name, track)
			}
		}
	}
}

// TestSingleTrack: other containers have one track.
func TestSingleTrack(t *testing.T) {
	wav := riff(fmtChunk(tagPCM, 2, 8000, 16), chunk("data", make([]byte, 4000)))
	for _, track := range []int{0, 1} {
		pcm, err := decodeTrack(wav, track)
		if err != nil {
			t.Fatal(err)
		}
		want := []Track{{Codec: "pcm_s16", SampleRate: 8000, Channels: 2, Default: true}}
		if pcm.Info.Track != 1 || !reflect.DeepEqual(pcm.Info.Tracks, want) {
			t.Errorf("track %d: got %+v", track, pcm.Info)
		}
	}
	var choice *ChoiceError
	if _, err := decodeTrack(wav, 2); !errors.As(err, &choice) || choice.Have != 1 {
		t.Errorf("got %v", err)
	}
}
