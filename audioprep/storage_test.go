package audioprep

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// purse is a Budget.
type purse struct {
	most  int64
	taken atomic.Int64
}

func (p *purse) Take(n int64) bool {
	if p.taken.Add(n) <= p.most {
		return true
	}
	p.taken.Add(-n)
	return false
}

func (p *purse) Give(n int64) { p.taken.Add(-n) }

// TestStorage: wherever they lie, the samples are the same, and everything is given back.
func TestStorage(t *testing.T) {
	x := noise(5*pieceSamples+123, 0.5, 9)
	file := riff(fmtChunk(tagPCM, 2, SampleRate, 16), chunk("data", encode(interleave(x, scaled(append([]float32(nil), x...), -0.5)), "s16")))
	want, err := Decode(context.Background(), bytes.NewReader(file), Options{Separate: true})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, c := range []struct {
		name     string
		storage  Storage
		most     int64
		inMemory int64 // at least
		failing  bool
	}{
		{"memory", Storage{}, 1 << 40, bytesOf(2 * len(x)), false},
		{"a file each", Storage{Memory: 1 << 19, Dir: dir}, 1 << 40, 0, false},
		{"a file each, with no budget", Storage{Dir: dir}, 0, 0, false},
		{"one in memory, one in a file", Storage{Dir: dir}, bytesOf(len(x)) + 1<<20, bytesOf(len(x)), false},
		{"no folder", Storage{Memory: 1 << 19, Dir: filepath.Join(dir, "missing")}, 1 << 40, bytesOf(2 * len(x)), false},
		{"neither", Storage{Memory: 1 << 19, Dir: filepath.Join(dir, "missing")}, 1 << 20, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &purse{most: c.most}
			c.storage.Budget = p
			u := newUpload(file) // of which it isn't known how long it is
			got, err := Decode(context.Background(), u, Options{Separate: true, Storage: c.storage})
			if c.failing {
				var storage *StorageError
				if !errors.As(err, &storage) || p.taken.Load() != 0 {
					t.Fatalf("got %v, %d bytes taken", err, p.taken.Load())
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if taken := p.taken.Load(); taken < c.inMemory || taken > c.inMemory+2*bytesOf(pieceSamples) {
				t.Errorf("%d bytes taken, want %d", taken, c.inMemory)
			}
			for i := range want.Channels {
				if !equal(got.Channels[i], want.Channels[i]) {
					t.Errorf("channel %d differs", i)
				}
				ws, err := got.Windows(context.Background(), i, clipLimit)
				if err != nil || len(ws) != len(windowsOf(want.Channels[i], clipLimit)) {
					t.Errorf("channel %d: windows %v, %v", i, ws, err)
				}
			}
			for range 2 {
				if err := got.Close(); err != nil {
					t.Error(err)
				}
			}
			if taken := p.taken.Load(); taken != 0 {
				t.Errorf("%d bytes are still taken", taken)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("%d files are left (%v)", len(left), err)
			}
		})
	}
}

// TestStorageFull: a disk that is full is told, whether at first or on the way.
func TestStorageFull(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no /dev/full here")
	}
	s := &store{memory: 1, file: full}
	defer s.close()
	s.pieces = [][]float32{make([]float32, 0, pieceSamples)}
	var storage *StorageError
	if err := s.add(make([]float32, pieceSamples+1)); !errors.As(err, &storage) {
		t.Errorf("got %v, want a StorageError", err)
	}
}

// pretend is a WAV file that is made while it is read: hours of speech-like sound in no space.
type pretend struct {
	head []byte
	loop []byte
	size int64
	pos  int64
}

func newPretend(seconds int64) *pretend {
	loop := encode(voice(10*second, 0.3, 4), "s16")
	size := seconds * SampleRate * 2
	head := riff(fmtChunk(tagPCM, 1, SampleRate, 16), chunk("data", nil))
	copy(head[4:], "\xff\xff\xff\xff")
	copy(head[len(head)-4:], "\xff\xff\xff\xff")
	return &pretend{head: head, loop: loop, size: int64(len(head)) + size}
}

func (p *pretend) Read(b []byte) (n int, err error) {
	for n < len(b) && p.pos < p.size {
		var k int
		if h := int64(len(p.head)); p.pos < h {
			k = copy(b[n:], p.head[p.pos:])
		} else {
			left := p.loop[(p.pos-h)%int64(len(p.loop)):]
			k = copy(b[n:], left[:min(int64(len(left)), p.size-p.pos)])
		}
		n += k
		p.pos += int64(k)
	}
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (p *pretend) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += p.pos
	case io.SeekEnd:
		offset += p.size
	}
	p.pos = offset
	return offset, nil
}

// TestFiveHours: the memory that a recording takes is bounded by the window, from its bytes to its windows.
func TestFiveHours(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some seconds")
	}
	if !canMap {
		t.Skip("samples stay in memory on this system")
	}
	const hours = 5
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	runtime.GC()
	before, most := heap(), uint64(0)
	stop := make(chan struct{})
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		for {
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
				most = max(most, heap())
			}
		}
	}()
	pcm, err := Decode(context.Background(), newPretend(hours*3600), Options{Storage: Storage{Memory: 16 << 20, Dir: t.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	defer pcm.Close()
	if pcm.Info.Duration != hours*time.Hour || len(pcm.Samples) != hours*3600*SampleRate {
		t.Fatalf("got %d samples of %v", len(pcm.Samples), pcm.Info.Duration)
	}
	// Of windows, those of some minutes: what is known of more is forgotten.
	const part = 600 * SampleRate
	l, err := listen(context.Background(), pcm.Samples[:part], clipLimit, pcm.kept[0].passed)
	if err != nil {
		t.Fatal(err)
	}
	close(stop)
	<-watched
	checkWindows(t, l.windows, part, clipLimit)
	if len(l.windows) < 20 || len(l.track.measured.v) > 10_000 {
		t.Errorf("got %d windows, and what is known of %d frames", len(l.windows), len(l.track.measured.v))
	}
	grown := int64(max(most, heap())) - int64(before)
	t.Logf("the heap grew by %.1f MiB", float64(grown)/(1<<20))
	if grown > 64<<20 {
		t.Errorf("the heap grew by %d bytes, want at most 64 MiB", grown)
	}
}

// TestBombsAreBounded: files that unfold to hours take no more either, and end at the limit with what was found.
func TestBombsAreBounded(t *testing.T) {
	for _, name := range []string{"bomb-silence.flac", "bomb-silence.opus"} {
		b, err := os.ReadFile(sharedPath(t, "audio", "broken", name))
		if err != nil {
			t.Fatal(err)
		}
		const limit = 10 * time.Minute
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		p := &purse{most: 8 << 20}
		_, err = Decode(context.Background(), bytes.NewReader(b), Options{MaxDuration: limit, Storage: Storage{Memory: 4 << 20, Dir: t.TempDir(), Budget: p}})
		runtime.GC()
		runtime.ReadMemStats(&after)
		var found *DecodeError
		var le *LimitError
		if !errors.As(err, &found) || !errors.As(err, &le) {
			t.Fatalf("%s: got %v, want a LimitError in a DecodeError", name, err)
		}
		i := found.Info
		if i.Container == "" || i.Codec == "" || i.Duration <= limit || i.Duration > limit+time.Minute || len(i.Tracks) != 1 || i.SampleRate == 0 {
			t.Errorf("%s: got %+v", name, i)
		}
		if p.taken.Load() != 0 || after.HeapAlloc > before.HeapAlloc+8<<20 {
			t.Errorf("%s: %d bytes of budget and %d of heap are left", name, p.taken.Load(), after.HeapAlloc-before.HeapAlloc)
		}
	}
}
