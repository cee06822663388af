package jobs

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func open(t *testing.T, cfg Config) *Store {
	t.Helper()
	s, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// accept makes a job with audio.
func accept(t *testing.T, s *Store, n New, audio string) *Job {
	t.Helper()
	in, err := s.Receive()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Drop()
	if _, err := in.Write([]byte(audio)); err != nil {
		t.Fatal(err)
	}
	n.Audio = in
	j, fresh, err := s.Accept(n)
	if err != nil || !fresh {
		t.Fatalf("accept: %v, fresh %v", err, fresh)
	}
	return j
}

func TestLife(t *testing.T) {
	cfg := Config{Dir: t.TempDir()}
	s := open(t, cfg)
	j := accept(t, s, New{Job: Job{Owner: "a", Model: "m"}, Request: []byte("wishes"), Event: func(*Job) []byte { return []byte("queued") }}, "sound")
	if j.State != Queued || j.Seq != 1 || j.AudioBytes != 5 || j.Events != 1 {
		t.Errorf("accepted: %+v", j)
	}
	check(t, s.Close())

	s = open(t, cfg)
	request, err := s.Request(j.ID)
	audio, err2 := os.ReadFile(s.audioPath(j.ID))
	if err := errors.Join(err, err2); err != nil || string(request) != "wishes" || string(audio) != "sound" {
		t.Fatalf("opened again: request %q, audio %q, %v", request, audio, err)
	}
	_, err = s.Begin(j.ID, []byte("running"))
	check(t, err)
	check(t, s.AddPiece(j.ID, []byte("piece 1"), 20*time.Second))
	check(t, s.AddText(j.ID, 2, [][]byte{[]byte("text 1"), nil, []byte("text 2")}))
	check(t, s.Close())

	s = open(t, cfg)
	defer s.Close()
	now, err := s.Get(j.ID)
	check(t, err)
	if now.State != Queued || now.Heard != 20*time.Second || now.Segments != 2 || now.Pieces != 1 || now.Tries != 0 {
		t.Errorf("interrupted: %+v, want it queued again with what was done", now)
	}
	_, err = s.Begin(j.ID, []byte("running"))
	check(t, err)
	check(t, s.AddPiece(j.ID, []byte("piece 2"), 10*time.Second))
	check(t, s.AddText(j.ID, 3, [][]byte{[]byte("text 3")}))
	pieces, err := s.Pieces(j.ID)
	check(t, err)
	if got := fmt.Sprintf("%s", pieces); got != "[piece 1 piece 2]" {
		t.Errorf("got pieces %s", got)
	}
	check(t, s.Finish(j.ID, time.Minute, []byte("result"), [][]byte{[]byte("done")}))
	result, err := s.Result(j.ID)
	if err != nil || string(result) != "result" {
		t.Errorf("got result %q, %v", result, err)
	}
	if _, err := os.Stat(s.audioPath(j.ID)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the audio of a job that is over: %v, want it gone", err)
	}
	if pieces, _ := s.Pieces(j.ID); pieces != nil {
		t.Errorf("the pieces of a job that is over are still there")
	}
	for after, want := range []string{"1 queued, 2 running, 3 text 1, 4 text 2, 5 text 3, 6 done", "2 running, 3 text 1, 4 text 2, 5 text 3, 6 done"} {
		if got := eventsOf(t, s, j.ID, uint64(after)); got != want {
			t.Errorf("after %d: got %s\nwant %s", after, got, want)
		}
	}
	for _, again := range []error{
		s.Finish(j.ID, 0, nil, nil), s.Fail(j.ID, Failure{}, nil), s.Cancel(j.ID, nil), s.Requeue(j.ID), s.AddPiece(j.ID, nil, 0), s.AddText(j.ID, 0, nil),
	} {
		if !errors.Is(again, ErrOver) {
			t.Errorf("a job that is over: got %v, want ErrOver", again)
		}
	}
}

// A job in which the process ends time and again shows it.
func TestTries(t *testing.T) {
	cfg := Config{Dir: t.TempDir()}
	s := open(t, cfg)
	id := accept(t, s, New{}, "x").ID
	for want := range 3 {
		j, err := s.Begin(id, []byte("running"))
		if err != nil || j.Tries != want+1 || j.Events != 1 {
			t.Errorf("begun for the %d. time: %+v, %v", want+1, j, err)
		}
		check(t, s.Close())
		s = open(t, cfg)
	}
	check(t, s.AddPiece(id, []byte("piece"), time.Second))
	if j, _ := s.Get(id); j.Tries != 0 {
		t.Errorf("after a piece %d tries are counted", j.Tries)
	}
	_, err := s.Begin(id, nil)
	check(t, err)
	check(t, s.Requeue(id))
	if j, _ := s.Get(id); j.Tries != 0 {
		t.Errorf("after a stop in good order %d tries are counted", j.Tries)
	}
	check(t, s.Close())
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func eventsOf(t *testing.T, s *Store, id string, after uint64) string {
	t.Helper()
	events, err := s.Events(id, after, 100)
	check(t, err)
	var all []string
	for _, e := range events {
		all = append(all, fmt.Sprintf("%d %s", e.Number, e.Data))
	}
	return strings.Join(all, ", ")
}

func TestExpiry(t *testing.T) {
	now := time.Unix(1e9, 0)
	s := open(t, Config{Dir: t.TempDir(), Keep: time.Hour, Now: func() time.Time { return now }})
	defer s.Close()
	var all []*Job
	for range 3 {
		all = append(all, accept(t, s, New{Request: []byte("r"), HookURL: "http://h.example"}, "sound"))
	}
	check(t, s.Finish(all[0].ID, time.Minute, []byte("text"), nil))
	check(t, s.Cancel(all[1].ID, nil))
	_, err := (&Deliverer{Store: s}).note(all[0].ID, 200, nil)
	check(t, err)
	now = now.Add(2 * time.Hour)
	if n, err := s.Sweep(); n != 1 || err != nil {
		t.Errorf("swept %d, %v: want the one that is over and delivered", n, err)
	}
	_, err = (&Deliverer{Store: s}).note(all[1].ID, 410, errors.New("gone"))
	check(t, err)
	if n, err := s.Sweep(); n != 1 || err != nil {
		t.Errorf("swept %d, %v: want the one that was given up", n, err)
	}
	if _, err := s.Result(all[0].ID); !errors.Is(err, ErrNotFound) {
		t.Errorf("the result of an expired job: %v, want ErrNotFound", err)
	}
	if _, err := s.Get(all[2].ID); err != nil {
		t.Errorf("an unfinished job: %v, want it kept", err)
	}
	if err := s.Delete(all[2].ID); !errors.Is(err, ErrUnfinished) {
		t.Errorf("delete of an unfinished job: got %v", err)
	}
	check(t, s.Cancel(all[2].ID, nil))
	check(t, s.Delete(all[2].ID))
	if used := s.Stats().Bytes; used != 0 {
		t.Errorf("%d bytes are counted where nothing is", used)
	}
}

func TestBounds(t *testing.T) {
	s := open(t, Config{Dir: t.TempDir(), MaxBytes: 100, MaxOpen: 2})
	defer s.Close()
	in, err := s.Receive()
	check(t, err)
	var full *FullError
	if _, err = in.Write(make([]byte, 101)); !errors.As(err, &full) {
		t.Errorf("101 bytes: got %v, want a *FullError", err)
	}
	if _, err = in.Write(make([]byte, 60)); err != nil {
		t.Errorf("60 bytes: %v", err)
	}
	other, err := s.Receive()
	check(t, err)
	if _, err = other.Write(make([]byte, 60)); !errors.As(err, &full) {
		t.Errorf("60 bytes beside 60: got %v, want a *FullError", err)
	}
	other.Drop()
	in.Drop()
	if files, _ := os.ReadDir(filepath.Join(s.cfg.Dir, incomingDir)); len(files) != 0 {
		t.Errorf("%d files stay of what was dropped", len(files))
	}
	first := accept(t, s, New{}, strings.Repeat("a", 40))
	accept(t, s, New{}, strings.Repeat("a", 40))
	if _, _, err := s.Accept(New{}); !errors.Is(err, ErrTooMany) || !errors.Is(s.Room(), ErrTooMany) {
		t.Errorf("a third job: got %v, want ErrTooMany", err)
	}
	check(t, s.Cancel(first.ID, nil))
	check(t, s.Room())
	if _, _, err := s.Accept(New{Request: make([]byte, 61)}); !errors.As(err, &full) {
		t.Errorf("a large request: got %v, want a *FullError", err)
	}
	in, err = s.Receive()
	check(t, err)
	_, err = in.Write(make([]byte, 50))
	check(t, err)
	if _, _, err := s.Accept(New{Audio: in, Request: make([]byte, 51)}); !errors.As(err, &full) || !full.Never || full.Fits != 49 {
		t.Errorf("50 bytes of audio beside 51 of request: got %+v, want never, and 49 that fit", full)
	}
	in.Drop()
	if got := s.Stats(); got.Bytes != 40 || got.Jobs[Queued] != 1 || got.Jobs[Cancelled] != 1 {
		t.Errorf("got %+v", got)
	}
}

func TestKeys(t *testing.T) {
	cfg := Config{Dir: t.TempDir()}
	s := open(t, cfg)
	j := accept(t, s, New{Job: Job{Owner: "a", Key: "k"}}, "sound")
	again, fresh, err := s.Accept(New{Job: Job{Owner: "a", Key: "k"}})
	if err != nil || fresh || again.ID != j.ID {
		t.Errorf("the same key: got %v, fresh %v, %v", again, fresh, err)
	}
	check(t, s.Close())
	s = open(t, cfg)
	defer s.Close()
	if found, ok := s.Find("a", "k"); !ok || found.ID != j.ID {
		t.Errorf("after a restart: got %v, %v", found, ok)
	}
	if _, fresh, err := s.Accept(New{Job: Job{Owner: "b", Key: "k"}}); !fresh || err != nil {
		t.Errorf("another's key: fresh %v, %v", fresh, err)
	}
	var accepted sync.Map
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			if j, fresh, err := s.Accept(New{Job: Job{Key: "race"}}); err == nil {
				accepted.Store(j.ID, fresh)
			} else if !errors.Is(err, ErrInFlight) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	n := 0
	accepted.Range(func(any, any) bool { n++; return true })
	if n != 1 {
		t.Errorf("one key made %d jobs", n)
	}
}

func TestList(t *testing.T) {
	s := open(t, Config{Dir: t.TempDir()})
	defer s.Close()
	var ids []string
	for i := range 7 {
		ids = append(ids, accept(t, s, New{Job: Job{Owner: string("ab"[i%2])}}, "x").ID)
	}
	check(t, s.Cancel(ids[2], nil))
	for _, c := range []struct {
		filter Filter
		max    int
		want   []int
		more   bool
	}{
		{Filter{}, 3, []int{6, 5, 4}, true},
		{Filter{Before: 5}, 4, []int{3, 2, 1, 0}, false},
		{Filter{Owned: true, Owner: "b"}, 9, []int{5, 3, 1}, false},
		{Filter{Owned: true}, 9, nil, false},
		{Filter{State: Cancelled}, 9, []int{2}, false},
	} {
		list, more := s.List(c.filter, c.max)
		var got []int
		for _, j := range list {
			got = append(got, slices.Index(ids, j.ID))
		}
		if !slices.Equal(got, c.want) || more != c.more {
			t.Errorf("%+v: got %v, more %v; want %v, %v", c.filter, got, more, c.want, c.more)
		}
	}
	if n := len(s.Unfinished()); n != 6 {
		t.Errorf("got %d unfinished jobs, want 6", n)
	}
}

func TestWatch(t *testing.T) {
	s := open(t, Config{Dir: t.TempDir()})
	defer s.Close()
	news := s.Subscribe()
	j := accept(t, s, New{}, "x")
	<-news
	changed := s.Watch(j.ID)
	check(t, s.AddPiece(j.ID, []byte("p"), 0))
	<-changed
	<-s.Watch("job_unknown")
	check(t, s.Cancel(j.ID, nil))
	<-news
}

func TestLocked(t *testing.T) {
	cfg := Config{Dir: t.TempDir()}
	s := open(t, cfg)
	defer s.Close()
	if _, err := Open(cfg); !errors.Is(err, ErrLocked) {
		t.Errorf("a second store: got %v, want ErrLocked", err)
	}
}

// What a crash leaves beside the database goes at the next start; a job whose audio is gone fails and says so.
func TestLeftovers(t *testing.T) {
	cfg := Config{Dir: t.TempDir()}
	s := open(t, cfg)
	whole, bereft := accept(t, s, New{}, "x"), accept(t, s, New{}, "x")
	in, err := s.Receive()
	check(t, err)
	in.Write([]byte("half"))
	check(t, os.WriteFile(s.audioPath(NewID()), []byte("of none"), 0o600))
	check(t, os.Remove(s.audioPath(bereft.ID)))
	check(t, s.Close())

	s = open(t, cfg)
	defer s.Close()
	for dir, want := range map[string]int{incomingDir: 0, audioDir: 1} {
		if files, _ := os.ReadDir(filepath.Join(cfg.Dir, dir)); len(files) != want {
			t.Errorf("%s: %d files, want %d", dir, len(files), want)
		}
	}
	if j, _ := s.Get(whole.ID); j.State != Queued {
		t.Errorf("the whole job is %s", j.State)
	}
	if j, _ := s.Get(bereft.ID); j.State != Failed || j.Failure.Code != "audio_lost" {
		t.Errorf("the job without audio: %+v", j)
	}
}

// Changes that come at once share commits, and all are there afterwards.
func TestTogether(t *testing.T) {
	cfg := Config{Dir: t.TempDir()}
	s := open(t, cfg)
	var all sync.WaitGroup
	for i := range 8 {
		j := accept(t, s, New{}, "x")
		all.Go(func() {
			for n := range 20 {
				if err := errors.Join(s.AddPiece(j.ID, fmt.Appendf(nil, "%d/%d", i, n), time.Second), s.AddText(j.ID, n+1, [][]byte{[]byte("e")})); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	check(t, s.Close())
	s = open(t, cfg)
	defer s.Close()
	for i, j := range s.Unfinished() {
		pieces, err := s.Pieces(j.ID)
		check(t, err)
		if len(pieces) != 20 || string(pieces[19]) != fmt.Sprintf("%d/19", i) || j.Events != 20 || j.Segments != 20 {
			t.Errorf("job %d: %d pieces, %+v", i, len(pieces), j)
		}
	}
}

// Whatever is damaged in the database's file, opening and reading it tells so or works, and never panics.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Config{Dir: dir})
	for range 30 {
		j := accept(t, s, New{Request: bytes.Repeat([]byte("wish"), 300)}, "x")
		for range 10 {
			check(t, s.AddPiece(j.ID, bytes.Repeat([]byte("piece"), 50), time.Second))
			check(t, s.AddText(j.ID, 1, [][]byte{[]byte("event")}))
		}
	}
	check(t, s.Close())
	whole, err := os.ReadFile(filepath.Join(dir, "jobs.db"))
	check(t, err)
	damages := map[string]func(db []byte, r *rand.Rand) []byte{
		"cut":  func(db []byte, r *rand.Rand) []byte { return db[:r.IntN(len(db))] },
		"bits": func(db []byte, r *rand.Rand) []byte { db[r.IntN(len(db))] ^= 1 << r.IntN(8); return db },
		"page": func(db []byte, r *rand.Rand) []byte { return garble(db, r, 4096) },
		"zeroes": func(db []byte, r *rand.Rand) []byte {
			at := r.IntN(len(db))
			clear(db[at:min(len(db), at+9000)])
			return db
		},
		"headers": func(db []byte, r *rand.Rand) []byte {
			at := r.IntN(len(db)/4096) * 4096
			copy(db[at+8:], []byte{2, 0, 255, 255, 255})
			return db
		},
	}
	refused := 0
	for name, damage := range damages {
		for seed := range 12 {
			r := rand.New(rand.NewPCG(uint64(seed), 1))
			bad := t.TempDir()
			check(t, os.WriteFile(filepath.Join(bad, "jobs.db"), damage(bytes.Clone(whole), r), 0o600))
			s, err := Open(Config{Dir: bad})
			if err != nil {
				var corrupt *CorruptError
				if !errors.As(err, &corrupt) {
					t.Errorf("%s %d: %T %v", name, seed, err, err)
				}
				refused++
				continue
			}
			for _, j := range s.Unfinished() {
				_, err1 := s.Pieces(j.ID)
				_, err2 := s.Request(j.ID)
				if err := errors.Join(err1, err2); err != nil && !strings.Contains(err.Error(), "damaged") {
					t.Errorf("%s %d: %v", name, seed, err)
				}
			}
			s.Close()
		}
	}
	if refused == 0 {
		t.Error("no damage was noticed")
	}
}

// garble fills n bytes somewhere with noise.
func garble(db []byte, r *rand.Rand, n int) []byte {
	at := r.IntN(len(db))
	for i := at; i < min(len(db), at+n); i++ {
		db[i] = byte(r.Uint32())
	}
	return db
}

// FuzzRecord: what is taken for a job's record can be written again and is then the same.
func FuzzRecord(f *testing.F) {
	j := &Job{ID: NewID(), Seq: 1, State: Queued, Created: time.Unix(1e9, 0).UTC(), Hook: &Hook{URL: "http://h.example", State: HookWaiting}}
	f.Add(j.ID, encodeJob(j)[checksumBytes:])
	f.Add(j.ID, []byte(`{"id":"job_x","seq":-1}`))
	f.Add("../../x", []byte(`{"id":"../../x","seq":1,"state":"done"}`))
	f.Fuzz(func(t *testing.T, id string, text []byte) {
		if _, err := decodeJob(id, text); err == nil && len(text) < checksumBytes {
			t.Fatal("a record without a checksum is taken")
		}
		j, err := decodeJob(id, seal(text))
		if err != nil {
			return
		}
		if !validID(id) || filepath.Base(id) != id {
			t.Fatalf("a job is called %q", id)
		}
		again, err := decodeJob(id, encodeJob(j))
		if err != nil || !bytes.Equal(encodeJob(again), encodeJob(j)) {
			t.Fatalf("%v: %+v became %+v", err, j, again)
		}
	})
}

// FuzzEventNumber: what is taken for a number is written that way, and no other.
func FuzzEventNumber(f *testing.F) {
	for _, s := range []string{"", "0", "17", "007", "+1", "-1", "18446744073709551615", "18446744073709551616", "1\n", "job_1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := ParseEventNumber(text)
		if err == nil && text != "" && fmt.Sprint(n) != text {
			t.Fatalf("%q is taken for %d", text, n)
		}
	})
}
