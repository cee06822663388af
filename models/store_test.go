package models

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestOpenStore(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	for _, c := range []struct{ dir, models, xdg, want string }{
		{"", "", "", home + "/.cache/hark/models"},
		{"", "", "relative", home + "/.cache/hark/models"},
		{"", "", "/xdg", "/xdg/hark/models"},
		{"", "/models", "/xdg", "/models"},
		{"/dir", "/models", "/xdg", "/dir"},
	} {
		t.Setenv("HARK_MODELS", c.models)
		t.Setenv("XDG_CACHE_HOME", c.xdg)
		s, err := OpenStore(c.dir)
		if err != nil || s.Dir() != filepath.FromSlash(c.want) {
			t.Errorf("%+v: %v, %v", c, s.Dir(), err)
		}
	}
	for _, hub := range []string{"ftp://host", "host", "://", "/folder"} {
		t.Setenv("HARK_HUB", hub)
		if _, err := OpenStore(""); err == nil || !strings.Contains(err.Error(), "HARK_HUB") {
			t.Errorf("HARK_HUB=%s: %v", hub, err)
		}
	}
}

func TestStoreFolder(t *testing.T) {
	s, err := OpenStore(filepath.Join(t.TempDir(), "models"))
	if err != nil {
		t.Fatal(err)
	}
	if all, err := s.List(); err != nil || len(all) != 0 {
		t.Errorf("a store that does not exist: %v, %v", all, err)
	}
	if _, err := s.Remove("base"); !errors.Is(err, ErrNotCached) {
		t.Errorf("removing from it: %v", err)
	}
	write(t, s.dir, "base/model.bin", []byte("12345"))
	write(t, s.dir, "base/more/config.json", []byte("{}"))
	write(t, s.dir, "mine/mine.nemo", nil)
	write(t, s.dir, "single.nemo", []byte("12"))
	write(t, s.dir, "notes/readme.txt", nil)
	write(t, s.dir, ".tiny.partial/hub/model.safetensors", nil)
	all, err := s.List()
	in := func(name string) string { return filepath.Join(s.dir, name) }
	want := fmt.Sprintf("[{base %s 7} {mine %s 0} {single.nemo %s 2}]", in("base"), in("mine"), in("single.nemo"))
	if err != nil || fmt.Sprint(all) != want {
		t.Errorf("List() = %v, %v, want %s", all, err, want)
	}

	other := filepath.Dir(write(t, t.TempDir(), "own/model.safetensors", nil))
	t.Chdir(filepath.Dir(other))
	if err := os.Rename(other, "tiny"); err != nil { // a folder with a catalogue name
		t.Fatal(err)
	}
	for _, c := range []struct{ name, want string }{
		{"base", in("base")},
		{"mine", in("mine")},
		{"single.nemo", in("single.nemo")},
		{in("mine/mine.nemo"), in("mine/mine.nemo")},
		{in("base/model.bin"), ""},
		{in("none.nemo"), ""},
		{"tiny", ""}, // the catalogue's, which is not there
		{"./tiny", "./tiny"},
		{in("mine"), in("mine")},
		{"notes", ""},
		{"", ""},
		{".", ""},
		{"..", ""},
		{".tiny.partial/hub", ""},
	} {
		if dir, ok := s.Path(c.name); dir != c.want || ok != (c.want != "") {
			t.Errorf("Path(%q) = %q, %v, want %q", c.name, dir, ok, c.want)
		}
	}

	for _, name := range []string{"", ".", "..", "../x", "./tiny", ".tiny.partial", in("base"), "small"} {
		if _, err := s.Remove(name); !errors.Is(err, ErrNotCached) {
			t.Errorf("Remove(%q): %v, want ErrNotCached", name, err)
		}
	}
	unlock, err := lock(t.Context(), s.hidden("base", "lock"), func() {})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Remove("base"); err == nil || !strings.Contains(err.Error(), "is being pulled") {
		t.Errorf("removing a model that is being pulled: %v", err)
	}
	unlock()
	for name, want := range map[string]bool{"base": true, "tiny": false, "single.nemo": true} { // tiny's pull was cut
		if whole, err := s.Remove(name); whole != want || err != nil {
			t.Errorf("Remove(%q) = %v, %v, want %v", name, whole, err, want)
		}
	}
	for _, gone := range []string{"base", ".base.removed", ".tiny.partial", "single.nemo"} {
		if exists(filepath.Join(s.dir, gone)) {
			t.Errorf("%s is still there", gone)
		}
	}
}

// A damaged copy is seen, and the next pull puts a whole one in its place.
func TestDamagedModelIsPulledAgain(t *testing.T) {
	for name, spoil := range map[string]func(dir string) error{
		"weights cut":     func(dir string) error { return os.Truncate(filepath.Join(dir, "model.safetensors"), 50_000) },
		"weights empty":   func(dir string) error { return os.Truncate(filepath.Join(dir, "model.safetensors"), 0) },
		"tokenizer cut":   func(dir string) error { return os.Truncate(filepath.Join(dir, "tokenizer.json"), 100) },
		"config cut":      func(dir string) error { return os.Truncate(filepath.Join(dir, "config.json"), 1) },
		"config missing":  func(dir string) error { return os.Remove(filepath.Join(dir, "config.json")) },
		"not even damage": func(string) error { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			hub := newFakeHub(t, weightsOf(100_000))
			s := fakeStore(t, hub)
			if err := s.Check("fake"); !errors.Is(err, ErrNotCached) {
				t.Errorf("before the pull: %v", err)
			}
			dir, err := s.Pull(t.Context(), "fake", nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Check("fake"); err != nil {
				t.Errorf("whole: %v", err)
			}
			before, harmless := len(hub.seen()), name == "not even damage"
			if err := spoil(dir); err != nil {
				t.Fatal(err)
			}
			if err := s.Check("fake"); (err == nil) != harmless {
				t.Errorf("spoiled: %v", err)
			}
			if again, err := s.Pull(t.Context(), dir, nil); again != dir || err != nil || len(hub.seen()) != before {
				t.Errorf("a folder by its path: %q, %v, %d requests", again, err, len(hub.seen())-before)
			}
			if again, err := s.Pull(t.Context(), "fake", nil); again != dir || err != nil {
				t.Errorf("pulling again: %q, %v", again, err)
			}
			mustHold(t, s, hub.files)
			if asked := len(hub.seen()) != before; asked == harmless {
				t.Errorf("%d requests", len(hub.seen())-before)
			}
		})
	}
	s, err := OpenStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	write(t, s.dir, "mine/mine.nemo", nil)
	var format *FormatError
	if err := s.Check("mine"); !errors.As(err, &format) {
		t.Errorf("an empty archive: %v", err)
	}
	if err := s.Check(tinyParakeet); err != nil {
		t.Errorf("an archive by its path: %v", err)
	}
}

func TestCatalogue(t *testing.T) {
	want := strings.Fields("tiny.en tiny base.en base small.en small medium large-v3 large-v3-turbo distil-large-v3.5 parakeet-tdt_ctc-110m parakeet-tdt-0.6b-v2 parakeet-tdt-0.6b-v3 parakeet-tdt-1.1b")
	if all := Catalogue(); len(all) != len(want) {
		t.Errorf("%d models, want %d", len(all), len(want))
	}
	for _, name := range want {
		e, ok := Find(name)
		if !ok || e.Name != name || !isPlain(name) || strings.Count(e.Repo, "/") != 1 || e.Size == 0 || len(e.Files) == 0 {
			t.Errorf("%s: %v %+v", name, ok, e)
		}
		if e.Multilingual == (strings.HasSuffix(name, ".en") || strings.HasPrefix(name, "distil") || strings.HasPrefix(name, "parakeet") && !strings.HasSuffix(name, "-v3")) {
			t.Errorf("%s: multilingual %v", name, e.Multilingual)
		}
		if !slices.IsSorted(e.Languages) || len(e.Languages) > 0 && e.Multilingual != (len(e.Languages) > 1) {
			t.Errorf("%s: multilingual %v, languages %v", name, e.Multilingual, e.Languages)
		}
		// The parts of each wheel file add up to it.
		parts := map[string]int64{}
		for _, w := range e.Wheels {
			for _, m := range w.Members {
				parts[m.File] += m.Size
			}
		}
		for _, f := range e.WheelFiles {
			if parts[f.Name] != f.Size || len(f.SHA256) != 64 {
				t.Errorf("%s: %s: parts of %d bytes for %+v", name, f.Name, parts[f.Name], f)
			}
		}
		if len(parts) != len(e.WheelFiles) {
			t.Errorf("%s: %d wheel files, %d made of parts", name, len(e.WheelFiles), len(parts))
		}
	}
	if _, ok := Find("nothing"); ok {
		t.Error("an unknown name is found")
	}
}
