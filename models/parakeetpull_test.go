package models

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// parakeetStore returns a store whose model "fake" is a Parakeet, which the hub
// has as these files.
func parakeetStore(t *testing.T, files map[string][]byte) (*Store, *fakeHub) {
	t.Helper()
	hub := newFakeHub(t, nil)
	hub.files = files
	s := fakeStore(t, hub)
	entry := parakeet("fake", 5*mega, "en")
	entry.Repo = "fake/model"
	s.find = func(name string) (Entry, bool) { return entry, name == "fake" }
	return s, hub
}

// hfFiles are the files of the small model in transformers' form.
func hfFiles(t *testing.T) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for _, name := range []string{configFile, processorFile, tokenizerFile, safetensorsFile} {
		files[name] = readFile(t, filepath.Join(hfParakeetDir(t), name))
	}
	return files
}

func TestPullNemo(t *testing.T) {
	s, hub := parakeetStore(t, map[string][]byte{"fake.nemo": readFile(t, tinyParakeet)})
	dir, err := s.Pull(t.Context(), "fake", nil)
	if err != nil {
		t.Fatal(err)
	}
	mustHold(t, s, hub.files)
	openParakeet(t, dir)
	if family, err := Family(dir); family != FamilyParakeet || err != nil {
		t.Errorf("family %q, %v", family, err)
	}
	if err := s.Check("fake"); err != nil {
		t.Error(err)
	}
	if all, err := s.List(); err != nil || len(all) != 1 || all[0].Size != int64(len(hub.files["fake.nemo"])) {
		t.Errorf("List() = %v, %v", all, err)
	}
	// A damaged copy is pulled again.
	write(t, dir, "fake.nemo", hub.files["fake.nemo"][:1_000_000])
	if err := s.Check("fake"); err == nil {
		t.Error("a truncated archive is whole")
	}
	if _, err := s.Pull(t.Context(), "fake", nil); err != nil {
		t.Error(err)
	}
	mustHold(t, s, hub.files)
	if whole, err := s.Remove("fake"); !whole || err != nil {
		t.Errorf("Remove = %v, %v", whole, err)
	}
	mustNotHold(t, s)
}

// Where the hub lacks the archive, it has the other form.
func TestPullOtherForm(t *testing.T) {
	s, hub := parakeetStore(t, hfFiles(t))
	var last Progress
	dir, err := s.Pull(t.Context(), "fake", func(p Progress) { last = p })
	if err != nil {
		t.Fatal(err)
	}
	mustHold(t, s, hub.files)
	if m := openParakeet(t, dir); m.Format() != FormatSafetensors {
		t.Errorf("format %s", m.Format())
	}
	var size int64
	for _, data := range hub.files {
		size += int64(len(data))
	}
	if last.Done != size || last.Total != size {
		t.Errorf("%d of %d bytes at the end, want %d", last.Done, last.Total, size)
	}
	if seen := hub.seen(); seen[0] != "main/fake.nemo" || !slices.Contains(seen, "main/"+configFile) {
		t.Errorf("requests %q, want the archive first", seen)
	}
}

func TestPullParakeetErrors(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string][]byte
		want  string
	}{
		"neither form":   {map[string][]byte{}, "main/fake.nemo; hub answers 404 Not Found"},
		"a web page":     {map[string][]byte{"fake.nemo": []byte("<html>")}, "no NeMo archive, or a damaged one"},
		"another family": {map[string][]byte{configFile: []byte("{}"), processorFile: nil, tokenizerFile: readFile(t, "testdata/tokenizer.json"), safetensorsFile: weightsOf(9)}, "files are those of a whisper, not of a parakeet"},
	} {
		s, _ := parakeetStore(t, c.files)
		if _, err := s.Pull(t.Context(), "fake", nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
		mustNotHold(t, s)
	}
}

func TestFamily(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "archive/x.nemo", nil)
	for name, config := range map[string]string{
		"ct2": `{"suppress_ids": []}`, "whisper": `{"model_type": "whisper"}`, "tdt": `{"model_type": "parakeet_tdt"}`,
		"ctc": `{"model_type": "parakeet_ctc"}`, "wav2vec": `{"model_type": "wav2vec2"}`, "list": `[]`,
	} {
		write(t, dir, name+"/config.json", []byte(config))
	}
	for name, want := range map[string]string{
		"archive": FamilyParakeet, "archive/x.nemo": FamilyParakeet, "ct2": FamilyWhisper, "whisper": FamilyWhisper,
		"tdt": FamilyParakeet, "ctc": FamilyParakeet, "wav2vec": "", "list": "", "none": "",
	} {
		got, err := Family(filepath.Join(dir, name))
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s is a %q, %v, want %q", name, got, err, want)
		}
		var format *FormatError
		if (name == "wav2vec" || name == "list") && !errors.As(err, &format) {
			t.Errorf("%s: error %v, want a *FormatError", name, err)
		}
	}
}
