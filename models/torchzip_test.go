package models

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"unsafe"
)

// torchView is a tensor to write as torch.save does.
type torchView struct {
	name, class, key string
	n, offset        int // elements of the storage, and where the tensor begins
	shape, stride    []int
}

// pickleViews writes data.pkl.
func pickleViews(views ...torchView) []byte {
	var p bytes.Buffer
	text := func(s string) {
		p.WriteByte('X')
		p.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(s))))
		p.WriteString(s)
	}
	number := func(n int) {
		p.Write([]byte{0x8a, 8})
		p.Write(binary.LittleEndian.AppendUint64(nil, uint64(n)))
	}
	numbers := func(list []int) {
		p.WriteByte('(')
		for _, n := range list {
			number(n)
		}
		p.WriteByte('t')
	}
	p.WriteString("\x80\x02ccollections\nOrderedDict\n)R(")
	for _, v := range views {
		text(v.name)
		p.WriteString("ctorch._utils\n_rebuild_tensor_v2\n((")
		text("storage")
		p.WriteString("ctorch\n" + v.class + "\n")
		text(v.key)
		text("cpu")
		number(v.n)
		p.WriteString("tQ")
		number(v.offset)
		numbers(v.shape)
		numbers(v.stride)
		p.WriteString("\x89ccollections\nOrderedDict\n)RtR")
	}
	p.WriteString("u.")
	return p.Bytes()
}

// zipMember is a member of a zip archive.
type zipMember struct {
	name   string
	data   []byte
	method uint16
}

func zipOf(t testing.TB, members ...zipMember) []byte {
	t.Helper()
	var buf bytes.Buffer
	archive := zip.NewWriter(&buf)
	for _, m := range members {
		w, err := archive.CreateHeader(&zip.FileHeader{Name: m.name, Method: m.method})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(m.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// claimCompressed makes the directory of an archive say that the last member is
// deflated.
func claimCompressed(file []byte) []byte {
	file = bytes.Clone(file)
	binary.LittleEndian.PutUint16(file[bytes.LastIndex(file, []byte("PK\x01\x02"))+10:], zip.Deflate)
	return file
}

// floats are the bytes of 0, 1, 2, …
func floats(n int) []byte {
	var data []byte
	for i := range n {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(i)))
	}
	return data
}

func stored(name string, data []byte) zipMember { return zipMember{"x/" + name, data, zip.Store} }

func TestTorchViews(t *testing.T) {
	halves := []byte{0x00, 0x3c, 0x00, 0xc0}                                      // 1, -2
	doubles := binary.LittleEndian.AppendUint64(nil, math.Float64bits(1+0x1p-30)) // rounded to 1
	brains := []byte{0x80, 0x3f}                                                  // 1
	all := []struct {
		torchView
		want []float32
	}{
		{torchView{"whole", "FloatStorage", "0", 12, 0, []int{3, 4}, []int{4, 1}}, []float32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
		{torchView{"part", "FloatStorage", "0", 12, 4, []int{2, 2}, []int{2, 1}}, []float32{4, 5, 6, 7}},
		{torchView{"transposed", "FloatStorage", "0", 12, 0, []int{4, 3}, []int{1, 4}}, []float32{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}},
		{torchView{"columns", "FloatStorage", "0", 12, 1, []int{3, 2}, []int{4, 1}}, []float32{1, 2, 5, 6, 9, 10}},
		{torchView{"diagonal", "FloatStorage", "0", 12, 0, []int{3}, []int{5}}, []float32{0, 5, 10}},
		{torchView{"cube", "FloatStorage", "0", 12, 0, []int{2, 3, 2}, []int{1, 4, 2}}, []float32{0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11}},
		{torchView{"ones", "FloatStorage", "0", 12, 11, []int{1, 1}, []int{99, 7}}, []float32{11}},
		{torchView{"scalar", "FloatStorage", "0", 12, 3, []int{}, []int{}}, []float32{3}},
		{torchView{"empty", "FloatStorage", "0", 12, 12, []int{5, 0}, []int{1, 1}}, []float32{}},
		{torchView{"repeated", "FloatStorage", "0", 12, 2, []int{2, 3}, []int{0, 1}}, []float32{2, 3, 4, 2, 3, 4}},
		{torchView{"half", "HalfStorage", "1", 2, 0, []int{2}, []int{1}}, []float32{1, -2}},
		{torchView{"half back", "HalfStorage", "1", 2, 0, []int{1, 2}, []int{1, 1}}, []float32{1, -2}},
		{torchView{"double", "DoubleStorage", "2", 1, 0, []int{1}, []int{1}}, []float32{1}},
		{torchView{"brain", "BFloat16Storage", "3", 1, 0, []int{1}, []int{1}}, []float32{1}},
	}
	var list []torchView
	for _, v := range all {
		list = append(list, v.torchView)
	}
	file := zipOf(t, stored("data.pkl", pickleViews(list...)), stored("byteorder", []byte("little")),
		stored("data/0", floats(12)), stored("data/1", halves), stored("data/2", doubles), stored("data/3", brains), stored(".data/serialization_id", []byte("1")))
	tensors, err := parseTorch(file)
	if err != nil {
		t.Fatal(err)
	}
	checkTensors(t, file, tensors)
	for i, v := range all {
		x := tensors[i]
		got := make([]float32, x.Len())
		if err := x.Float32(got); err != nil {
			t.Error(err)
		}
		inOrder := !slices.Contains([]string{"transposed", "columns", "diagonal", "cube", "repeated", "empty"}, v.name)
		if within(x.Data, file) != inOrder {
			t.Errorf("%s: is a slice of the file: %v", v.name, !inOrder)
		}
		if x.Name != v.name || !slices.Equal(x.Shape, v.shape) || !slices.Equal(got, v.want) {
			t.Errorf("%s: %s %v %v, want %v", v.name, x.Name, x.Shape, got, v.want)
		}
	}
}

func TestTorchRefusals(t *testing.T) {
	one := torchView{"x", "FloatStorage", "0", 4, 0, []int{2, 2}, []int{2, 1}}
	with := func(change func(v *torchView)) []byte {
		v := one
		change(&v)
		return zipOf(t, stored("data.pkl", pickleViews(v)), stored("data/0", floats(4)))
	}
	good := stored("data.pkl", pickleViews(one))
	whole := zipOf(t, good, stored("data/0", floats(4)))
	beyond := bytes.Clone(whole)
	copy(beyond[bytes.LastIndex(beyond, []byte("PK\x03\x04"))+28:], "\xff\xff") // the length of what precedes the data
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"empty":          {nil, "no file of torch.save"},
		"text":           {[]byte("hello"), "no file of torch.save"},
		"old":            {[]byte("\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."), "torch before 1.6"},
		"broken zip":     {[]byte("PK\x03\x04"), "zip:"},
		"other zip":      {zipOf(t, zipMember{"readme.txt", nil, zip.Store}), "has no data.pkl"},
		"two of one":     {zipOf(t, good, good), "is there twice"},
		"big-endian":     {zipOf(t, good, stored("byteorder", []byte("big"))), `"big"-endian`},
		"compressed":     {zipOf(t, good, zipMember{"x/data/0", make([]byte, 16), zip.Deflate}), "is compressed"},
		"as long":        {claimCompressed(whole), "is compressed"},
		"beyond":         {beyond, "goes beyond the end"},
		"packed pickle":  {zipOf(t, zipMember{"x/data.pkl", good.data, zip.Deflate}), "is compressed"},
		"long pickle":    {zipOf(t, stored("data.pkl", make([]byte, maxPickle+1))), "more than a list of tensors"},
		"bad pickle":     {zipOf(t, stored("data.pkl", []byte("cos\nsystem\n."))), `data.pkl: pickle: asks for "os.system"`},
		"number":         {zipOf(t, stored("data.pkl", []byte("K\x01."))), "no dictionary of tensors"},
		"dict of number": {zipOf(t, stored("data.pkl", []byte("}U\x01xK\x01s."))), `"x" is no tensor`},
		"no storage":     {zipOf(t, good), `"data/0" is not in it`},
		"short storage":  {zipOf(t, good, stored("data/0", floats(3))), "has 12 bytes, not 4 elements"},
		"long storage":   {zipOf(t, good, stored("data/0", floats(5))), "has 20 bytes"},
		"odd storage":    {zipOf(t, good, stored("data/0", make([]byte, 17))), "has 17 bytes"},
		"twice":          {zipOf(t, stored("data.pkl", pickleViews(one, one)), stored("data/0", floats(4))), `"x" is there twice`},
		"outside":        {with(func(v *torchView) { v.key = "../../etc/passwd" }), "is not in it"},
		"offset":         {with(func(v *torchView) { v.offset = 1 }), "not within the storage"},
		"far offset":     {with(func(v *torchView) { v.offset = math.MaxInt64 }), "not within the storage"},
		"back":           {with(func(v *torchView) { v.offset = -1 }), "not within the storage"},
		"large":          {with(func(v *torchView) { v.shape = []int{3, 2} }), "not within the storage"},
		"huge":           {with(func(v *torchView) { v.shape = []int{1 << 40, 1 << 40} }), "not within the storage"},
		"huge for free":  {with(func(v *torchView) { v.shape, v.stride = []int{1 << 40}, []int{0} }), "repeats the storage"},
		"negative shape": {with(func(v *torchView) { v.shape = []int{-2, -2} }), "not within the storage"},
		"backwards":      {with(func(v *torchView) { v.stride = []int{-2, 1} }), "not within the storage"},
		"far stride":     {with(func(v *torchView) { v.stride = []int{math.MaxInt64, 1} }), "not within the storage"},
		"ranks":          {with(func(v *torchView) { v.stride = []int{1} }), "are not storage, offset, size and stride"},
	} {
		_, err := parseTorch(c.file)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
	// Cut anywhere, the file is refused: a zip archive's directory is at its end.
	for n := range whole {
		if _, err := parseTorch(whole[:n]); err == nil {
			t.Errorf("a file cut at byte %d of %d is accepted", n, len(whole))
		}
	}
}

// Views of one storage share its bytes, but copies of what is not in order are
// bounded by the file, however many views there are.
func TestTorchCopiesAreBounded(t *testing.T) {
	const side = 100
	var views []torchView
	for i := range 50 {
		views = append(views, torchView{fmt.Sprint("t", i), "FloatStorage", "0", side * side, 0, []int{side, side}, []int{1, side}})
	}
	file := func(n int) []byte {
		return zipOf(t, stored("data.pkl", pickleViews(views[:n]...)), stored("data/0", floats(side*side)))
	}
	if _, err := parseTorch(file(1)); err != nil {
		t.Errorf("one transposed tensor: %v", err)
	}
	if _, err := parseTorch(file(50)); err == nil || !strings.Contains(err.Error(), "repeats") {
		t.Errorf("fifty transposed views of a storage: %v", err)
	}
}

// Python's own pickles, with storages.
func TestTorchState(t *testing.T) {
	for protocol := 2; protocol <= 5; protocol++ {
		pickle := readFile(t, fmt.Sprintf("testdata/pickle/state_%d.pkl", protocol))
		tensors, err := parseTorch(zipOf(t, stored("data.pkl", pickle), stored("data/0", floats(70000)), stored("data/1", make([]byte, 8)), stored("data/2", []byte{9, 0, 0, 0, 0, 0, 0, 0})))
		if err != nil || len(tensors) != 4 {
			t.Fatalf("protocol %d: %d tensors, %v", protocol, len(tensors), err)
		}
		part := make([]float32, 70)
		if err := tensors[1].Float32(part); err != nil || part[0] != 300 || part[1] != 310 || part[7] != 301 {
			t.Errorf("protocol %d: %v begins %v, %v", protocol, tensors[1].Name, part[:8], err)
		}
		if n, err := tensors[3].Int(); n != 9 || err != nil {
			t.Errorf("protocol %d: %v is %d, %v", protocol, tensors[3].Name, n, err)
		}
	}
}

// within says whether part is a slice of whole.
func within(part, whole []byte) bool {
	begin, first := uintptr(unsafe.Pointer(unsafe.SliceData(part))), uintptr(unsafe.Pointer(unsafe.SliceData(whole)))
	return first <= begin && begin+uintptr(len(part)) <= first+uintptr(len(whole))
}

func FuzzTorch(f *testing.F) {
	f.Add(zipOf(f, stored("data.pkl", pickleViews(torchView{"x", "FloatStorage", "0", 4, 0, []int{2, 2}, []int{1, 2}})), stored("data/0", floats(4))))
	f.Add(zipOf(f, stored("data.pkl", pickleViews(torchView{"x", "HalfStorage", "0", 4, 1, []int{3}, []int{1}})), stored("data/0", make([]byte, 8)), stored("byteorder", []byte("little"))))
	f.Fuzz(func(t *testing.T, data []byte) {
		tensors, err := parseTorch(data)
		if err != nil {
			return
		}
		checkTensors(t, data, tensors)
		total := 0
		for _, x := range tensors {
			if len(x.Data) > 0 && !within(x.Data, data) {
				total += len(x.Data)
			}
		}
		if total > len(data) {
			t.Errorf("%d bytes are copied from a file of %d", total, len(data))
		}
	})
}
