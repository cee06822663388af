package audioprep

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"reflect"
	"testing"
	"time"
)

// pieces is a reader that gives one to seven bytes at a time.
type pieces struct {
	*bytes.Reader
	n int
}

func (p *pieces) Read(b []byte) (int, error) {
	p.n = p.n%7 + 1
	return p.Reader.Read(b[:min(len(b), p.n)])
}

// fuzzLimit keeps what unfolds by right, such as FLAC's constant blocks, small.
const fuzzLimit = 20 * time.Second

// checkDecode decodes b whole and in pieces and holds the result to the package's
// promises. perByte is the most output samples that one byte may make, 0 for
// formats that compress without bound.
func checkDecode(t *testing.T, b []byte, perByte int) {
	t.Helper()
	checkDecodeWithin(t, b, perByte, fuzzLimit)
}

// checkDecodeWithin is checkDecode for formats that say how long a hole is: much
// silence takes long.
func checkDecodeWithin(t *testing.T, b []byte, perByte int, limit time.Duration) {
	t.Helper()
	lim := Options{MaxDuration: limit}
	pcm, err := Decode(context.Background(), bytes.NewReader(b), lim)
	again, againErr := Decode(context.Background(), &pieces{Reader: bytes.NewReader(b)}, lim)
	if (err == nil) != (againErr == nil) || err != nil && err.Error() != againErr.Error() {
		t.Fatalf("in pieces: got %v, want %v", againErr, err)
	}
	arrived, arrivedErr := Decode(context.Background(), newUpload(b), lim)
	var le *LimitError // which may be met before it's known how far the upload goes beyond
	if (err == nil) != (arrivedErr == nil) || err != nil && !errors.As(err, &le) && err.Error() != arrivedErr.Error() {
		t.Fatalf("as it arrives: got %v, want %v", arrivedErr, err)
	}
	if err != nil {
		var fe *FormatError
		var ce *CorruptError
		if !errors.As(err, &fe) && !errors.As(err, &ce) && !errors.As(err, &le) && !errors.Is(err, ErrEmpty) {
			t.Fatalf("got an error of no documented kind: %v", err)
		}
		return
	}
	checkPCM(t, pcm)
	if !equal(pcm.Samples, again.Samples) || !equal(pcm.Samples, arrived.Samples) {
		t.Fatal("other samples when read in pieces")
	}
	if !reflect.DeepEqual(pcm.Info, again.Info) || !reflect.DeepEqual(pcm.Info, arrived.Info) {
		t.Fatalf("in pieces %+v, as it arrives %+v, whole %+v", again.Info, arrived.Info, pcm.Info)
	}
	if perByte > 0 && len(pcm.Samples) > perByte*len(b) {
		t.Fatalf("got %d samples of %d bytes", len(pcm.Samples), len(b))
	}
	if pcm.Info.Duration > limit {
		t.Fatalf("got %v, over the limit", pcm.Info.Duration)
	}
}

func FuzzWAV(f *testing.F) {
	x := noise(200, 0.5, 1)
	for _, c := range []struct {
		kind   string
		format []byte
	}{
		{"u8", fmtChunk(tagPCM, 1, 8000, 8)}, {"s16", fmtChunk(tagPCM, 2, 44100, 16)}, {"s24", extensible(tagPCM, 1, 48000, 24, 20)},
		{"f32", fmtChunk(tagFloat, 1, 16000, 32)}, {"f64", fmtChunk(tagFloat, 2, 96000, 64)}, {"mulaw", fmtChunk(tagMuLaw, 1, 8000, 8)},
	} {
		f.Add(riff(c.format, chunk("LIST", []byte("odd")), chunk("data", encode(x, c.kind)))[12:])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		// A byte is at least one sample, at 4 kHz that makes four.
		checkDecode(t, append([]byte("RIFF\x00\x00\x00\x00WAVE"), b...), 4)
	})
}

func FuzzFLAC(f *testing.F) {
	x := noise(1500, 0.5, 1)
	for _, bits := range []int{8, 16, 24} {
		f.Add(flacFile([][]float32{x[:300]}, 16000, bits, 300)[4:])
		f.Add(flacFile([][]float32{x, x}, 8000, bits, 0)[4:])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		checkDecode(t, append([]byte("fLaC"), b...), 0)
	})
}

func FuzzMP3(f *testing.F) {
	for _, name := range []string{"44100-joint", "22050-clicks", "8000-stereo", "16000-tagged"} {
		f.Add(mp3File(f, name)[:1000])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		// A frame of MPEG-2.5 has 576 samples of 8 kHz in no less than 72 bytes;
		// lost bytes become no more silence than frames would have made.
		checkDecode(t, append([]byte("ID3\x03\x00\x00\x00\x00\x00\x00"), b...), 1152/24)
	})
}

// withChecksums sets the checksums of all Ogg pages in b right: else nothing that
// was changed would get past them.
func withChecksums(b []byte) []byte {
	b = bytes.Clone(b)
	for at := 0; at+oggHeaderBytes <= len(b); {
		if !bytes.HasPrefix(b[at:], oggMagic) {
			at++
			continue
		}
		n := oggHeaderBytes + int(b[at+26])
		for _, v := range b[at+oggHeaderBytes : min(at+n, len(b))] {
			n += int(v)
		}
		page := b[at:min(at+n, len(b))]
		binary.LittleEndian.PutUint32(page[22:], oggCRC(page))
		at += n
	}
	return b
}

func FuzzOgg(f *testing.F) {
	for _, name := range []string{"silk.opus", "hybrid.opus", "celt.opus", "surround.opus"} {
		packets, granules := oggPackets(f, testFile(f, name))
		f.Add(oggWrite(1, packets[:8], granules[:8], 3))
	}
	f.Add(testFile(f, "mono-vorbis.ogg"))
	b := testFile(f, "flac.oga")
	f.Add(b[:min(len(b), 9000)])
	f.Fuzz(func(t *testing.T, b []byte) {
		checkDecodeWithin(t, withChecksums(b), 0, time.Second)
	})
}

func FuzzMatroska(f *testing.F) {
	for _, name := range []string{"opus.webm", "opus-live.webm", "vorbis.webm", "mp3.mka", "aac.mka", "flac.mka", "pcm.mka"} {
		b := testFile(f, name)
		f.Add(b[:min(len(b), 2500)])
	}
	f.Add(opusWebM(f).file()[:3000])
	f.Fuzz(func(t *testing.T, b []byte) {
		checkDecodeWithin(t, b, 0, time.Second)
	})
}

func FuzzDecode(f *testing.F) {
	f.Add(riff(fmtChunk(tagPCM, 1, 8000, 8), chunk("data", []byte{1, 2, 3, 4})))
	f.Add(flacFile([][]float32{noise(100, 0.5, 1)}, 16000, 16, 100))
	f.Add(mp3File(f, "8000-mono"))
	for _, head := range []string{"OggS\x00\x02", "\x1a\x45\xdf\xa3webm", "\x00\x00\x00\x20ftypM4A ", "<html>", "FORM\x00\x00\x00\x00AIFF"} {
		f.Add([]byte(head))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		checkDecode(t, b, 0)
	})
}

// TestPieces: a reader that gives a few bytes at a time makes no difference,
// whatever the format.
func TestPieces(t *testing.T) {
	x := noise(20000, 0.3, 5)
	for name, file := range map[string][]byte{
		"wav":  riff(fmtChunk(tagPCM, 2, 44100, 16), chunk("data", encode(interleave(x, x), "s16"))),
		"flac": flacFile([][]float32{x, x}, 22050, 16, 20000),
		"mp3":  mp3File(t, "44100-joint"),
		"opus": testFile(t, "celt.opus"),
		"oga":  testFile(t, "flac.oga"),
		"ogg":  testFile(t, "stereo-vorbis.ogg"),
		"webm": testFile(t, "opus-live.webm"),
		"mka":  testFile(t, "flac.mka"),
	} {
		want, err := decodeBytes(file)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := Decode(context.Background(), &pieces{Reader: bytes.NewReader(file)}, Options{})
		if err != nil || !equal(got.Samples, want.Samples) {
			t.Errorf("%s: other samples in pieces (%v)", name, err)
		}
	}
}
