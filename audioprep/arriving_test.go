package audioprep

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
)

// upload arrives when it is asked for, and notes by how much what was asked for
// was ahead of what was read.
type upload struct {
	*bytes.Reader
	broken int64 // it breaks off here, 0: never
	ahead  int64
	pieces int
}

func newUpload(b []byte) *upload { return &upload{Reader: bytes.NewReader(b)} }

var errBrokenOff = errors.New("the link broke")

func (u *upload) pos() int64 { return u.Size() - int64(u.Len()) }

func (u *upload) note(n int64) { u.ahead = max(u.ahead, n-u.pos()) }

func (u *upload) Read(p []byte) (int, error) {
	if u.broken > 0 && u.pos() >= u.broken {
		return 0, errBrokenOff
	}
	u.pieces = u.pieces%5 + 1
	return u.Reader.Read(p[:min(len(p), 100*u.pieces)])
}

func (u *upload) Seek(offset int64, whence int) (int64, error) {
	if whence == io.SeekEnd {
		if u.note(u.Size()); u.broken > 0 {
			return 0, errBrokenOff
		}
	}
	return u.Reader.Seek(offset, whence)
}

func (u *upload) Reach(n int64) (bool, error) {
	u.note(min(n, u.Size()))
	if u.broken > 0 && n > u.broken {
		return false, errBrokenOff
	}
	return n <= u.Size(), nil
}

// arrivals are files that can be read from front to back, all of more than what is
// read ahead.
func arrivals(t testing.TB) map[string][]byte {
	x := noise(300_000, 0.3, 5)
	data := encode(x, "s16")
	opus := testFile(t, "celt.opus")
	live := testFile(t, "opus-live.webm")
	cluster := live[bytes.Index(live, []byte("\x1f\x43\xb6\x75")):]
	streamed := riff(fmtChunk(tagPCM, 1, 16000, 16), chunk("LIST", []byte("odd")), chunk("data", data))
	for _, at := range []int{4, bytes.Index(streamed, []byte("data")) + 4} {
		copy(streamed[at:], "\xff\xff\xff\xff")
	}
	return map[string][]byte{
		"wav":          riff(fmtChunk(tagPCM, 2, 44100, 16), chunk("data", data), chunk("LIST", make([]byte, 50))),
		"wav, piped":   streamed,
		"wav, mu-law":  riff(fmtChunk(tagMuLaw, 1, 8000, 8), chunk("data", data)),
		"aiff":         aiffBytes("", 1, 16, int64(len(x)), SampleRate, data, false),
		"au":           auBytes(3, SampleRate, 1, int64(len(data)), data),
		"au, piped":    auBytes(3, SampleRate, 1, auUnknownSize, data),
		"flac":         flacFile([][]float32{x, x}, 22050, 16, uint64(len(x))),
		"mp3":          bytes.Repeat(mp3File(t, "44100-joint"), 60),
		"adts":         bytes.Repeat(adtsFile(t, "44100-noise"), 1+280_000/len(adtsFile(t, "44100-noise"))),
		"ogg":          bytes.Repeat(opus, 1+280_000/len(opus)),
		"ogg, flac":    bytes.Repeat(testFile(t, "flac.oga"), 12),
		"ogg, vorbis":  bytes.Repeat(testFile(t, "stereo-vorbis.ogg"), 42),
		"webm":         append(bytes.Clone(live), bytes.Repeat(cluster, 1+280_000/len(cluster))...),
		"wav, ADPCM":   riff(adpcmFormat(tagIMAADPCM, 1, 256, []byte{2, 0, 249, 1}), chunk("data", data[:300_000])),
		"w64":          w64File(w64Chunk("fmt ", 16, fmtChunk(tagPCM, 1, SampleRate, 16)[8:]), w64Chunk("data", int64(len(data)), data)),
		"wav, cut off": riff(fmtChunk(tagPCM, 2, 44100, 16), chunk("data", data))[:400_001],
	}
}

// TestArriving: an upload that is read while it arrives gives what the file gives, and
// what can be read from front to back is.
func TestArriving(t *testing.T) {
	// What is sniffed, buffered, and held for one more frame.
	const ahead = 160 << 10
	for name, file := range arrivals(t) {
		t.Run(name, func(t *testing.T) {
			if len(file) < ahead+100_000 {
				t.Fatalf("%d bytes show nothing", len(file))
			}
			want, err := decodeBytes(file)
			if err != nil {
				t.Fatal(err)
			}
			u := newUpload(file)
			got, err := Decode(context.Background(), u, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if !equal(got.Samples, want.Samples) || !reflect.DeepEqual(got.Info, want.Info) {
				t.Errorf("got %d samples, %+v, want %d, %+v", len(got.Samples), got.Info, len(want.Samples), want.Info)
			}
			if u.ahead > ahead {
				t.Errorf("it waited for %d bytes beyond what was read", u.ahead)
			}
			// Nor does the limit wait.
			u = newUpload(file)
			var limit *LimitError
			if _, err = Decode(context.Background(), u, Options{MaxDuration: time.Second}); !errors.As(err, &limit) {
				t.Errorf("got %v, want a LimitError", err)
			}
			if left := int64(len(file)) - u.pos(); left == 0 && len(file) > 1<<20 || u.ahead > ahead {
				t.Errorf("%d bytes were not read, %d waited for", left, u.ahead)
			}
		})
	}
}

// TestArrivingCorpus: for every file that there is, in whatever state.
func TestArrivingCorpus(t *testing.T) {
	for _, r := range manifest(t) {
		if r.Category != "formats" && r.Category != "broken" || strings.Contains(r.Path, "bomb") {
			continue
		}
		b, err := os.ReadFile(sharedPath(t, "audio", r.Path))
		if err != nil {
			t.Fatal(err)
		}
		opt := Options{MaxDuration: time.Minute}
		want, wantErr := Decode(context.Background(), bytes.NewReader(b), opt)
		got, err := Decode(context.Background(), newUpload(b), opt)
		if wantErr != nil || err != nil {
			if wantErr == nil || err == nil || err.Error() != wantErr.Error() {
				t.Errorf("%s: got %v, want %v", r.Path, err, wantErr)
			}
			continue
		}
		if !equal(got.Samples, want.Samples) || !reflect.DeepEqual(got.Info, want.Info) {
			t.Errorf("%s: got %+v, want %+v", r.Path, got.Info, want.Info)
		}
	}
}

// TestArrivingBreaksOff: what the reader says comes back, wherever it breaks.
func TestArrivingBreaksOff(t *testing.T) {
	files := arrivals(t)
	files["mp4"] = monoMP4(t).indexLast()
	for name, file := range files {
		for _, at := range []int{1, 40, len(file) / 2, len(file) - 1} {
			if name == "aiff" && at == len(file)-1 {
				continue // in a chunk behind the samples
			}
			u := newUpload(file)
			u.broken = int64(at)
			if _, err := Decode(context.Background(), u, Options{}); !errors.Is(err, errBrokenOff) {
				t.Errorf("%s, broken at %d of %d: got %v", name, at, len(file), err)
			}
		}
	}
}
