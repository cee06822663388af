package models

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// safetensors makes a file of a header, as JSON text, and tensor bytes.
func safetensors(header string, body int) []byte {
	data := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	data = append(data, header...)
	for i := range body {
		data = append(data, byte(i))
	}
	return data
}

const twoTensors = `{"__metadata__":{"format":"pt"},"b":{"dtype":"F32","shape":[2,2],"data_offsets":[3,19]},"a":{"dtype":"I8","shape":[3],"data_offsets":[0,3]}}   `

func TestSafetensors(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "model.safetensors", safetensors(twoTensors, 19))
	w, err := OpenWeights(dir)
	if err != nil {
		t.Fatal(err)
	}
	if w.Format() != FormatSafetensors || !slices.Equal(w.Names(), []string{"a", "b"}) {
		t.Errorf("format %q, names %v", w.Format(), w.Names())
	}
	b, ok := w.Tensor("b")
	if !ok || b.DType != F32 || !slices.Equal(b.Shape, []int{2, 2}) || b.Data[0] != 3 || len(b.Data) != 16 {
		t.Errorf("tensor b: %v %+v", ok, b)
	}
	if _, ok := w.Tensor("__metadata__"); ok {
		t.Error("the metadata is a tensor")
	}
	if err := errors.Join(w.Close(), w.Close()); err != nil {
		t.Error(err)
	}
	if _, ok := w.Tensor("b"); ok {
		t.Error("a closed file has tensors")
	}
}

func TestSafetensorsRefusals(t *testing.T) {
	entry := func(s string) []byte { return safetensors(`{"x":`+s+`}`, 8) }
	long := safetensors("{}", 0)
	binary.LittleEndian.PutUint64(long, 1<<63)
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"empty":            {nil, "too short"},
		"header too long":  {long, "truncated"},
		"not JSON":         {safetensors("PK", 0), "not a JSON object"},
		"data after":       {safetensors("{}{}", 0), "more data"},
		"cut header":       {safetensors(`{"x":`, 0), "EOF"},
		"twice":            {safetensors(`{"x":{"dtype":"I8","shape":[0],"data_offsets":[0,0]},"x":{"dtype":"I8","shape":[0],"data_offsets":[0,0]}}`, 0), `"x" is there twice`},
		"type":             {entry(`{"dtype":"F4","shape":[8],"data_offsets":[0,8]}`), `"x": type "F4"`},
		"no type":          {entry(`{"shape":[8],"data_offsets":[0,8]}`), "is not supported"},
		"negative dim":     {entry(`{"dtype":"I8","shape":[-8],"data_offsets":[0,8]}`), "no possible size"},
		"product overflow": {entry(`{"dtype":"F32","shape":[4294967296,4294967296,2],"data_offsets":[0,8]}`), "no possible size"},
		"dim overflow":     {entry(`{"dtype":"I8","shape":[18446744073709551624],"data_offsets":[0,8]}`), "cannot unmarshal"},
		"negative offset":  {entry(`{"dtype":"I8","shape":[8],"data_offsets":[-8,0]}`), "not within"},
		"backwards":        {entry(`{"dtype":"I8","shape":[0],"data_offsets":[8,0]}`), "not within"},
		"beyond":           {entry(`{"dtype":"I8","shape":[9],"data_offsets":[0,9]}`), "not within the 8"},
		"one offset":       {entry(`{"dtype":"I8","shape":[8],"data_offsets":[0]}`), "not 2"},
		"shape mismatch":   {entry(`{"dtype":"I16","shape":[8],"data_offsets":[0,8]}`), "takes 16 bytes"},
		"hole":             {entry(`{"dtype":"I8","shape":[7],"data_offsets":[1,8]}`), "hole"},
		"rest":             {entry(`{"dtype":"I8","shape":[7],"data_offsets":[0,7]}`), "belong to none"},
		"overlap":          {safetensors(`{"x":{"dtype":"I8","shape":[5],"data_offsets":[0,5]},"y":{"dtype":"I8","shape":[4],"data_offsets":[4,8]}}`, 8), `"y": starts at byte 4`},
	} {
		dir := t.TempDir()
		path := write(t, dir, "model.safetensors", c.data)
		_, err := OpenWeights(dir)
		var format *FormatError
		if !errors.As(err, &format) || format.File != path || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want a *FormatError with %q", name, err, c.want)
		}
	}
}

func TestShards(t *testing.T) {
	one := func(name string) []byte {
		return safetensors(fmt.Sprintf(`{%q:{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}`, name), 2)
	}
	dir := t.TempDir()
	write(t, dir, "s1.safetensors", one("a"))
	write(t, dir, "s2.safetensors", one("b"))
	write(t, dir, "model.safetensors.index.json", []byte(`{"metadata":{"total_size":4},"weight_map":{"a":"s1.safetensors","b":"s2.safetensors"}}`))
	w, err := OpenWeights(dir)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(w.Names(), []string{"a", "b"}) || w.Format() != FormatSafetensors {
		t.Errorf("format %q, names %v", w.Format(), w.Names())
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}

	for name, c := range map[string]struct{ index, want string }{
		"not JSON":      {`[`, "not an index"},
		"no map":        {`{}`, "not a JSON object"},
		"empty map":     {`{"weight_map":{}}`, "names no tensor"},
		"twice":         {`{"weight_map":{"a":"s1.safetensors","a":"s2.safetensors"}}`, "there twice"},
		"number":        {`{"weight_map":{"a":1}}`, "cannot unmarshal"},
		"parent":        {`{"weight_map":{"a":"../s1.safetensors"}}`, "plain file name"},
		"absolute":      {`{"weight_map":{"a":"/x/s1.safetensors"}}`, "plain file name"},
		"windows":       {`{"weight_map":{"a":"x\\s1.safetensors"}}`, "plain file name"},
		"wrong shard":   {`{"weight_map":{"a":"s2.safetensors"}}`, "is not in s2.safetensors"},
		"missing shard": {`{"weight_map":{"a":"s3.safetensors"}}`, "s3.safetensors"},
	} {
		write(t, dir, "model.safetensors.index.json", []byte(c.index))
		if _, err := OpenWeights(dir); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
}

func TestNoWeights(t *testing.T) {
	if _, err := OpenWeights(t.TempDir()); !errors.Is(err, ErrNoWeights) || !strings.Contains(err.Error(), "model.bin") {
		t.Errorf("error %v, want ErrNoWeights that names the files looked for", err)
	}
	dir := t.TempDir()
	write(t, dir, "model.bin/x", nil)
	if _, err := OpenWeights(dir); err == nil {
		t.Error("a folder opens as a weight file")
	}
}

// ct2Builder writes a model.bin as CTranslate2 does.
type ct2Builder struct{ data []byte }

func (b *ct2Builder) u32(v uint32) { b.data = binary.LittleEndian.AppendUint32(b.data, v) }

func (b *ct2Builder) str(s string) {
	b.data = binary.LittleEndian.AppendUint16(b.data, uint16(len(s)+1))
	b.data = append(append(b.data, s...), 0)
}

func (b *ct2Builder) header(version uint32, spec string, revision, variables uint32) {
	b.u32(version)
	b.str(spec)
	b.u32(revision)
	b.u32(variables)
}

func (b *ct2Builder) variable(name string, dims []uint32, dtype byte, data []byte) {
	b.str(name)
	b.data = append(b.data, byte(len(dims)))
	for _, d := range dims {
		b.u32(d)
	}
	b.data = append(b.data, dtype)
	b.u32(uint32(len(data)))
	b.data = append(b.data, data...)
}

// smallCT2 holds a scalar, a matrix and aliases for both, one through another.
func smallCT2() []byte {
	var b ct2Builder
	b.header(6, "WhisperSpec", 3, 2)
	b.variable("encoder/num_heads", nil, 2, []byte{6, 0})
	b.variable("x", []uint32{2, 1}, 4, []byte{0, 0x3c, 1, 0x80})
	b.u32(3)
	for _, alias := range [][2]string{{"y", "x"}, {"z", "y"}, {"heads", "encoder/num_heads"}} {
		b.str(alias[0])
		b.str(alias[1])
	}
	return b.data
}

func TestCTranslate2(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "model.bin", smallCT2())
	w, err := OpenWeights(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if want := []string{"encoder/num_heads", "heads", "x", "y", "z"}; w.Format() != FormatCTranslate2 || !slices.Equal(w.Names(), want) {
		t.Errorf("format %q, names %v, want %v", w.Format(), w.Names(), want)
	}
	for _, name := range []string{"x", "y", "z"} {
		x, _ := w.Tensor(name)
		got := make([]float32, 2)
		if err := x.Float32(got); err != nil || x.Name != name || got[0] != 1 || got[1] != -0x1p-24 {
			t.Errorf("%s: %v, %v, %v", name, x, got, err)
		}
	}
	heads, _ := w.Tensor("heads")
	if n, err := heads.Int(); err != nil || n != 6 || heads.Len() != 1 {
		t.Errorf("heads = %d, %v", n, err)
	}
}

func TestCTranslate2Refusals(t *testing.T) {
	build := func(f func(b *ct2Builder)) []byte {
		var b ct2Builder
		f(&b)
		return b.data
	}
	head := func(b *ct2Builder, variables uint32) { b.header(6, "WhisperSpec", 3, variables) }
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"empty":          {nil, "truncated"},
		"version":        {build(func(b *ct2Builder) { b.header(5, "WhisperSpec", 3, 0) }), "binary version 5"},
		"spec":           {build(func(b *ct2Builder) { b.header(6, "TransformerSpec", 7, 0) }), "TransformerSpec"},
		"no NUL":         {[]byte{6, 0, 0, 0, 1, 0, 'x'}, "not a string"},
		"string of 0":    {[]byte{6, 0, 0, 0, 0, 0}, "not a string"},
		"many variables": {build(func(b *ct2Builder) { head(b, 0xffffffff) }), "truncated"},
		"twice": {build(func(b *ct2Builder) {
			head(b, 2)
			b.variable("x", nil, 1, []byte{1})
			b.variable("x", nil, 1, []byte{1})
		}), `"x": is there twice`},
		"type":             {build(func(b *ct2Builder) { head(b, 1); b.variable("x", nil, 6, []byte{1}) }), "type 6"},
		"size":             {build(func(b *ct2Builder) { head(b, 1); b.variable("x", []uint32{3}, 1, []byte{1}) }), "does not take the 1 bytes"},
		"overflow":         {build(func(b *ct2Builder) { head(b, 1); b.variable("x", []uint32{1 << 31, 1 << 31, 4}, 0, nil) }), "does not take the 0 bytes"},
		"unknown variable": {build(func(b *ct2Builder) { head(b, 0); b.u32(1); b.str("a"); b.str("b") }), `"a": is an alias of "b"`},
		"alias of a name": {build(func(b *ct2Builder) {
			head(b, 1)
			b.variable("x", nil, 1, []byte{1})
			b.u32(1)
			b.str("x")
			b.str("x")
		}), "there twice"},
		"rest": {append(smallCT2(), 0), "1 bytes follow"},
	} {
		dir := t.TempDir()
		path := write(t, dir, "model.bin", c.data)
		_, err := OpenWeights(dir)
		var format *FormatError
		if !errors.As(err, &format) || format.File != path || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want a *FormatError with %q", name, err, c.want)
		}
	}
	// Cut anywhere, the file is refused.
	whole := smallCT2()
	for n := range whole {
		if _, err := parseCTranslate2("cut", whole[:n]); err == nil {
			t.Errorf("a file cut at byte %d of %d is accepted", n, len(whole))
		}
	}
}

// The figures are those that were counted when the format was described:
// golden/whisper/FORMAT-ctranslate2.md in the reference data.
func TestRealCTranslate2(t *testing.T) {
	for model, want := range map[string]struct{ variables, halves, subnormals, width, vocabulary int }{
		"tiny.en": {148, 37_764_864, 140_690, 384, 51864},
		"base":    {212, 72_603_136, 250_731, 512, 51865},
	} {
		w, err := OpenWeights(realModel(t, model))
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		if w.Format() != FormatCTranslate2 {
			t.Skipf("%s was pulled from the hub, in another form", model)
		}
		names := w.Names()
		if len(names) != want.variables+1 { // one alias
			t.Errorf("%s: %d names, want %d and an alias", model, len(names), want.variables)
		}
		halves, subnormals := 0, 0
		for _, name := range names {
			x, _ := w.Tensor(name)
			if x.DType != F16 || name == "decoder/projection/weight" {
				continue
			}
			values := make([]float32, x.Len())
			if err := x.Float32(values); err != nil {
				t.Fatal(err)
			}
			halves += len(values)
			for _, v := range values {
				if v != 0 && -0x1p-14 < v && v < 0x1p-14 {
					subnormals++
				}
			}
		}
		if halves != want.halves || subnormals != want.subnormals {
			t.Errorf("%s: %d values, %d subnormal, want %d and %d", model, halves, subnormals, want.halves, want.subnormals)
		}
		embeddings, _ := w.Tensor("decoder/projection/weight")
		if !slices.Equal(embeddings.Shape, []int{want.vocabulary, want.width}) {
			t.Errorf("%s: embeddings are %v", model, embeddings.Shape)
		}
	}
}

// The files of the reference data's small model were written by the reference
// implementation of safetensors.
func TestReferenceSafetensors(t *testing.T) {
	path := sharedFile(t, "models/parakeet-tiny/hf/model.safetensors")
	w, err := OpenWeights(strings.TrimSuffix(path, "/model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	floats := 0
	for _, name := range w.Names() {
		x, _ := w.Tensor(name)
		if x.DType != F32 {
			continue
		}
		floats += x.Len()
		if err := x.Float32(make([]float32, x.Len())); err != nil {
			t.Error(err)
		}
	}
	if floats < 1_192_070 { // its parameters; buffers come on top
		t.Errorf("%d values, want at least the model's 1192070 parameters", floats)
	}
}

func FuzzSafetensors(f *testing.F) {
	f.Add(safetensors(twoTensors, 19))
	f.Add(safetensors(`{"x":{"dtype":"F16","shape":[2,0],"data_offsets":[0,0]}}`, 0))
	f.Add(safetensors(`{}`, 0))
	f.Fuzz(func(t *testing.T, data []byte) {
		tensors, err := parseSafetensors("fuzz", data)
		if err != nil {
			return
		}
		checkTensors(t, data, tensors)
		// Written again, the same comes out.
		header, body := map[string]any{}, []byte(nil)
		for _, x := range tensors {
			shape := append([]int{}, x.Shape...)
			header[x.Name] = map[string]any{"dtype": x.DType.String(), "shape": shape, "data_offsets": []int{len(body), len(body) + len(x.Data)}}
			body = append(body, x.Data...)
		}
		text, err := json.Marshal(header)
		if err != nil {
			t.Fatal(err)
		}
		again, err := parseSafetensors("again", append(safetensors(string(text), 0), body...))
		if err != nil || len(again) != len(tensors) {
			t.Fatalf("written again: %d tensors, %v, want %d", len(again), err, len(tensors))
		}
	})
}

func FuzzCTranslate2(f *testing.F) {
	f.Add(smallCT2())
	f.Add(smallCT2()[:40])
	f.Fuzz(func(t *testing.T, data []byte) {
		byName, err := parseCTranslate2("fuzz", data)
		if err != nil {
			return
		}
		var tensors []Tensor
		for name, x := range byName {
			if name != x.Name {
				t.Errorf("%q is found as %q", x.Name, name)
			}
			tensors = append(tensors, x)
		}
		checkTensors(t, data, tensors)
	})
}

// checkTensors holds what a reader returns to its promises.
func checkTensors(t *testing.T, file []byte, tensors []Tensor) {
	t.Helper()
	for _, x := range tensors {
		if len(x.Data) != x.Len()*x.DType.Size() || len(x.Data) > len(file) {
			t.Errorf("%q: %d bytes for %v of %v", x.Name, len(x.Data), x.Shape, x.DType)
		}
		if dst := make([]float32, x.Len()); x.DType <= BF16 {
			if err := x.Float32(dst); err != nil {
				t.Error(err)
			}
		}
	}
}
