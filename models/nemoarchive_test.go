package models

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tarMember is a member of a tar archive.
type tarMember struct {
	name string
	data []byte
}

func tarOf(t testing.TB, members ...tarMember) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, m := range members {
		header := &tar.Header{Name: m.name, Mode: 0o644, Size: int64(len(m.data)), Typeflag: tar.TypeReg}
		if strings.HasSuffix(m.name, "/") {
			header.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(m.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func gzipOf(t testing.TB, data []byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// tinyMembers are the members of the small model's archive, in the order of
// their names.
func tinyMembers(t testing.TB) []tarMember {
	t.Helper()
	members, err := nemoMembers(readFile(t, tinyParakeet))
	if err != nil {
		t.Fatal(err)
	}
	var all []tarMember
	for name, data := range members {
		all = append(all, tarMember{name, data})
	}
	slices.SortFunc(all, func(a, b tarMember) int { return strings.Compare(a.name, b.name) })
	return all
}

// replaced returns the members with one replaced, or left out where the data is
// nil.
func replaced(members []tarMember, name string, data []byte) []tarMember {
	members = slices.DeleteFunc(slices.Clone(members), func(m tarMember) bool { return m.name == name })
	if data != nil {
		members = append(members, tarMember{name, data})
	}
	return members
}

func TestNemoMembers(t *testing.T) {
	long := strings.Repeat("long/", 40) + "name"
	members := []tarMember{{"./", nil}, {"./a", []byte("one")}, {"b/c", nil}, {"./" + long, bytes.Repeat([]byte("x"), 1000)}}
	plain := tarOf(t, members...)
	for name, file := range map[string][]byte{"plain": plain, "compressed": gzipOf(t, plain)} {
		got, err := nemoMembers(file)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(got) != 3 || string(got["a"]) != "one" || len(got["b/c"]) != 0 || len(got[long]) != 1000 {
			t.Errorf("%s: members %q", name, got)
		}
		if within(got["a"], file) != (name == "plain") {
			t.Errorf("%s: members are slices of the file: %v", name, name != "plain")
		}
	}
}

func TestNemoMemberRefusals(t *testing.T) {
	plain := tarOf(t, tarMember{"a", make([]byte, 1000)})
	many := make([]tarMember, maxNemoMembers)
	for i := range many {
		many[i].name = fmt.Sprint(i)
	}
	header := func(h tar.Header) []byte {
		var buf bytes.Buffer
		h.Name = "a"
		if err := tar.NewWriter(&buf).WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		return buf.Bytes()
	}
	// The writer refuses to make a sparse file; one letter more or less it does.
	sparse := append(header(tar.Header{Size: 3, PAXRecords: map[string]string{"ABC.sparse.size": "9"}}), tarOf(t)...)
	sparse = bytes.Replace(sparse, []byte("ABC.sparse"), []byte("GNU.sparse"), 1)
	extended := header(tar.Header{PAXRecords: map[string]string{"HARK.x": strings.Repeat("x", 900_000)}})
	extended = bytes.Repeat(extended[:len(extended)-512], 40) // headers for the header after them, without it

	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"text":              {bytes.Repeat([]byte("hello "), 200), "header"},
		"cut in a member":   {plain[:1000], "EOF"},
		"a long member":     {append(header(tar.Header{Size: 1 << 40}), plain...), "EOF"},
		"two of one":        {tarOf(t, tarMember{"a", nil}, tarMember{"./a", nil}), `"a" is there twice`},
		"many":              {tarOf(t, many...), "more than 1024 members"},
		"sparse":            {sparse, "is a sparse file"},
		"cut gzip":          {gzipOf(t, plain)[:40], "EOF"},
		"damaged gzip":      {[]byte("\x1f\x8b\x08"), "EOF"},
		"a bomb":            {gzipOf(t, tarOf(t, tarMember{"a", make([]byte, 64<<20)})), "unpacks to more than 4 times"},
		"a bomb of headers": {gzipOf(t, append(extended, tarOf(t)...)), "EOF"},
		"a bomb's promise":  {gzipOf(t, header(tar.Header{Size: 1 << 40})), "unpacks to more than 4 times"},
	} {
		_, err := nemoMembers(c.file)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}

func TestNemoRefusals(t *testing.T) {
	members := tinyMembers(t)
	tokenizer := ""
	for _, m := range members {
		if strings.HasSuffix(m.name, "_tokenizer.model") {
			tokenizer = m.name
		}
	}
	for name, c := range map[string]struct {
		members []tarMember
		want    string
	}{
		"no weights":       {replaced(members, nemoWeights, nil), "has no model_weights.ckpt: it is no NeMo archive"},
		"no configuration": {replaced(members, nemoConfig, nil), "has no model_config.yaml"},
		"no tokenizer":     {replaced(members, tokenizer, nil), "has no " + tokenizer},
		"bad weights":      {replaced(members, nemoWeights, []byte("PK")), "model_weights.ckpt: zip:"},
		"bad yaml":         {replaced(members, nemoConfig, []byte("{")), "model_config.yaml: yaml:"},
		"large yaml":       {replaced(members, nemoConfig, make([]byte, maxConfigFile+1)), "more than such a file takes"},
		"bad tokenizer":    {replaced(members, tokenizer, []byte("{")), tokenizer + ": is no protocol buffer"},
		"few pieces":       {replaced(members, tokenizer, []byte("\x0a\x03\x0a\x01a")), "has 1 pieces, the configuration 128"},
	} {
		path := write(t, t.TempDir(), "x.nemo", tarOf(t, c.members...))
		_, err := OpenParakeet(path)
		var format *FormatError
		if !errors.As(err, &format) || format.File != path || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want a *FormatError with %q", name, err, c.want)
		}
	}
}

// A model may be given as its archive, as a folder with it, and compressed as
// older archives are.
func TestNemoForms(t *testing.T) {
	want := openParakeet(t, tinyParakeet)
	whole := readFile(t, tinyParakeet)
	dir := t.TempDir()
	write(t, dir, "folder/model.nemo", whole)
	write(t, dir, "compressed.nemo", gzipOf(t, whole))
	for _, name := range []string{"folder", "folder/model.nemo", "compressed.nemo"} {
		got := openParakeet(t, filepath.Join(dir, name))
		if !slices.Equal(got.Names(), want.Names()) {
			t.Errorf("%s: names %q", name, got.Names())
		}
		for _, tensor := range want.Names() {
			a, _ := got.Tensor(tensor)
			b, _ := want.Tensor(tensor)
			if !bytes.Equal(a.Data, b.Data) || !slices.Equal(a.Shape, b.Shape) {
				t.Errorf("%s: %s differs", name, tensor)
			}
		}
	}
	write(t, dir, "folder/other.nemo", whole)
	if _, err := OpenParakeet(filepath.Join(dir, "folder")); err == nil || !strings.Contains(err.Error(), "more than one") {
		t.Errorf("two archives in a folder: %v", err)
	}
	if _, err := OpenParakeet(filepath.Join(dir, "none")); !errors.Is(err, ErrNoWeights) {
		t.Errorf("no folder: %v", err)
	}
	if err := os.Mkdir(filepath.Join(dir, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenParakeet(filepath.Join(dir, "empty")); !errors.Is(err, ErrNoWeights) {
		t.Errorf("an empty folder: %v", err)
	}
}

func FuzzNemoMembers(f *testing.F) {
	plain := tarOf(f, tarMember{"./", nil}, tarMember{"./model_config.yaml", []byte("a: b")}, tarMember{strings.Repeat("n", 200), make([]byte, 600)})
	f.Add(plain)
	f.Add(gzipOf(f, plain))
	f.Add(plain[:700])
	f.Fuzz(func(t *testing.T, data []byte) {
		members, err := nemoMembers(data)
		if err != nil {
			return
		}
		total := 0
		for name, content := range members {
			if strings.HasPrefix(name, "./") {
				t.Errorf("member %q", name)
			}
			total += len(content)
		}
		if limit := len(data); !bytes.HasPrefix(data, gzipMagic) && total > limit {
			t.Errorf("%d bytes in members of a file of %d", total, limit)
		}
	})
}
