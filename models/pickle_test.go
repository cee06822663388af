package models

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func TestUnpickleState(t *testing.T) {
	for protocol := 2; protocol <= 5; protocol++ {
		data := readFile(t, fmt.Sprintf("testdata/pickle/state_%d.pkl", protocol))
		root, err := unpickle(data)
		if err != nil {
			t.Fatalf("protocol %d: %v", protocol, err)
		}
		shared := pickleStorage{F32, "0", 70000}
		want := &pickleDict{
			keys: []string{"embed.weight", "embed.part", "norm.weight", "norm.num_batches_tracked"},
			values: []any{
				&pickleTensor{shared, 0, []int{7, 10}, []int{10, 1}},
				&pickleTensor{shared, 300, []int{10, 7}, []int{1, 10}},
				&pickleTensor{pickleStorage{F16, "1", 4}, 0, []int{4}, []int{1}},
				&pickleTensor{pickleStorage{I64, "2", 1}, 0, []int{}, []int{}},
			},
		}
		if !reflect.DeepEqual(root, want) {
			t.Errorf("protocol %d: %+v, want %+v", protocol, root, want)
		}
		for n := range data {
			if _, err := unpickle(data[:n]); err == nil {
				t.Errorf("protocol %d: accepted when cut at byte %d of %d", protocol, n, len(data))
			}
		}
	}
}

func TestUnpickleValues(t *testing.T) {
	for program, want := range map[string]any{
		"N.":                 nil,
		"\x88.":              true,
		"\x89.":              false,
		"K\xff.":             int64(255),
		"M\xff\xff.":         int64(65535),
		"J\xfe\xff\xff\xff.": int64(-2),
		"\x8a\x00.":          int64(0),
		"\x8a\x01\xff.":      int64(-1),
		"\x8a\x02\xff\x00.":  int64(255),
		"\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80.": int64(-1 << 63),
		"G\x3f\xf8\x00\x00\x00\x00\x00\x00.":        1.5,
		"X\x02\x00\x00\x00ab.":                      "ab",
		"\x8c\x02ab.":                               "ab",
		"\x8d\x02\x00\x00\x00\x00\x00\x00\x00ab.":   "ab",
		"U\x02ab.":                   "ab",
		"T\x02\x00\x00\x00ab.":       "ab",
		").":                         pickleTuple(nil),
		"K\x01K\x02\x86.":            pickleTuple{int64(1), int64(2)},
		"(K\x01t.":                   pickleTuple{int64(1)},
		"](K\x01K\x02eK\x03a.":       &pickleList{[]any{int64(1), int64(2), int64(3)}},
		"}U\x01aK\x01sU\x01bK\x02s.": &pickleDict{[]string{"a", "b"}, []any{int64(1), int64(2)}},
		"}(K\x05K\x01u.":             &pickleDict{[]string{"key 0"}, []any{int64(1)}},
		"K\x01q\x07K\x020h\x07.":     int64(1),
		"K\x01r\x00\x00\x01\x00j\x00\x00\x01\x00.": int64(1),
		"K\x01\x94K\x02\x94h\x01.":                 int64(2),
	} {
		if got, err := unpickle([]byte(program)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q is %v, %v, want %v", program, got, err, want)
		}
	}
}

// What a hostile pickle can do is fail.
func TestUnpickleRefusals(t *testing.T) {
	for name, c := range map[string]struct{ program, want string }{
		"a shell":              {"\x80\x02cposix\nsystem\nU\x02ls\x85R.", `asks for "posix.system": only tensors are read`},
		"a shell, stacked":     {"\x80\x04\x8c\x02os\x8c\x06system\x93U\x02ls\x85R.", `asks for "os.system"`},
		"eval":                 {"c__builtin__\neval\nU\x011\x85R.", `asks for "__builtin__.eval"`},
		"getattr":              {"cbuiltins\ngetattr\n.", `asks for "builtins.getattr"`},
		"a pickle in it":       {"ctorch.storage\n_load_from_bytes\nU\x01x\x85R.", `asks for "torch.storage._load_from_bytes"`},
		"a long name":          {"c" + strings.Repeat("m", 1000) + "\nf\n.", `asks for "` + strings.Repeat("m", 100) + `"`},
		"no name":              {"K\x01K\x02\x93.", `asks for "."`},
		"INST":                 {"(iposix\nsystem\n.", "opcode 0x69"},
		"OBJ":                  {"(o.", "opcode 0x6f"},
		"NEWOBJ":               {"ccollections\nOrderedDict\n)\x81.", "opcode 0x81"},
		"an extension":         {"\x82\x01.", "opcode 0x82"},
		"a text id":            {"Pstorage\n.", "opcode 0x50"},
		"calls a number":       {"K\x01)R.", "calls what is no function"},
		"calls a class":        {"ctorch\nFloatStorage\n)R.", "calls what is no function"},
		"calls with a list":    {"ccollections\nOrderedDict\n]R.", "calls with what are no arguments"},
		"a filled dictionary":  {"ccollections\nOrderedDict\n]\x85R.", "calls what is no function"},
		"few arguments":        {"ctorch._utils\n_rebuild_tensor_v2\n)R.", "a tensor lacks arguments"},
		"wrong arguments":      {"ctorch._utils\n_rebuild_tensor_v2\n(K\x00K\x00))tR.", "are not storage, offset, size and stride"},
		"an id of another":     {"(U\x06moduleK\x00K\x00K\x00K\x00tQ.", "is not that of a storage"},
		"an id of a list":      {"]Q.", "is not that of a storage"},
		"a short id":           {"(U\x07storagetQ.", "is not that of a storage"},
		"a negative storage":   {"(U\x07storagectorch\nFloatStorage\nU\x010U\x03cpuJ\xff\xff\xff\xfftQ.", "lacks its class, key or length"},
		"a function's storage": {"(U\x07storageccollections\nOrderedDict\nU\x010U\x03cpuK\x01tQ.", "lacks its class"},
		"a deep mark":          {"(((t.", ""},
		"no mark":              {"K\x01t.", "lacks a mark"},
		"an empty stack":       {".", "empty stack"},
		"a short tuple":        {"K\x01\x86.", "empty stack"},
		"puts nothing":         {"q\x00.", "empty stack"},
		"an empty memory":      {"h\x00.", "nothing was kept as 0"},
		"appends to nothing":   {"K\x01a.", "empty stack"},
		"appends to a number":  {"K\x01K\x02a.", "no list or dictionary"},
		"sets in a list":       {"]K\x01K\x02s.", "no list or dictionary"},
		"builds a list":        {"]}b.", "no list or dictionary"},
		"a lone key":           {"}(U\x01au.", "has no value"},
		"a wide integer":       {"\x8a\x09123456789.", "beyond 64 bits"},
		"an old protocol":      {"\x80\x01N.", "protocol 1"},
		"a coming protocol":    {"\x80\x06N.", "protocol 6"},
		"a long string":        {"X\xff\xff\xff\xffab.", "ends before"},
		"a longer string":      {"\x8d\xff\xff\xff\xff\xff\xff\xff\xffab.", "ends before"},
		"an endless name":      {"cmodule", "ends before"},
		"no end":               {strings.Repeat("N0", 10), "ends before"},
		"too long":             {strings.Repeat("N0", maxPickleSteps), "more than 1048576 steps"},
	} {
		_, err := unpickle([]byte(c.program))
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}

// Lists that hold themselves are made, and harm nobody.
func TestUnpickleCycle(t *testing.T) {
	v, err := unpickle([]byte("]q\x00h\x00a}q\x01U\x01xh\x01s\x86."))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (&torchFile{}).tensors(v); err == nil {
		t.Error("a pair of cycles is a dictionary of tensors")
	}
	v, err = unpickle([]byte("}q\x00U\x01xh\x00s."))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (&torchFile{}).tensors(v); err == nil || !strings.Contains(err.Error(), `"x" is no tensor`) {
		t.Errorf("a dictionary in itself: %v", err)
	}
}

func FuzzPickle(f *testing.F) {
	for protocol := 2; protocol <= 5; protocol++ {
		f.Add(readFile(f, fmt.Sprintf("testdata/pickle/state_%d.pkl", protocol)))
	}
	f.Add([]byte("cposix\nsystem\nU\x02ls\x85R."))
	f.Add([]byte("]q\x00h\x00a}q\x01U\x01xh\x01s\x86."))
	f.Fuzz(func(t *testing.T, data []byte) {
		root, err := unpickle(data)
		if err != nil {
			return
		}
		dict, ok := root.(*pickleDict)
		if !ok {
			return
		}
		if len(dict.keys) != len(dict.values) || len(dict.keys) > len(data) {
			t.Errorf("%d keys and %d values from %d bytes", len(dict.keys), len(dict.values), len(data))
		}
		for _, v := range dict.values {
			if x, ok := v.(*pickleTensor); ok && (len(x.shape) != len(x.stride) || len(x.shape) > len(data)) {
				t.Errorf("%d dimensions, %d strides from %d bytes", len(x.shape), len(x.stride), len(data))
			}
		}
	})
}
