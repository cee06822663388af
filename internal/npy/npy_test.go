package npy

import (
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// file is a .npy file of version 1 with a header and elements.
func file(header string, elements any) []byte {
	b := append([]byte(magic), 1, 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(header)))
	b = append(b, header...)
	b, err := binary.Append(b, binary.LittleEndian, elements)
	if err != nil {
		panic(err)
	}
	return b
}

func header(descr, shape string) string {
	return "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }    \n"
}

func TestRead(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, c := range []struct {
		name  string
		file  []byte
		shape []int
		want  []float32
	}{
		{"f4", file(header("<f4", "(2, 3)"), []float32{1, 2, 3, 4, 5, -6.5}), []int{2, 3}, []float32{1, 2, 3, 4, 5, -6.5}},
		{"f8", file(header("<f8", "(1,)"), []float64{0.5}), []int{1}, []float32{0.5}},
		{"f2", file(header("<f2", "(6,)"), []uint16{0x3c00, 0xc000, 0x7c00, 1, 0x8000, 0x7bff}), []int{6},
			[]float32{1, -2, inf, 1.0 / (1 << 24), float32(math.Copysign(0, -1)), 65504}},
		{"i4", file(header("<i4", "(1, 1, 2)"), []int32{-7, 9}), []int{1, 1, 2}, []float32{-7, 9}},
		{"i8", file(header("<i8", "()"), []int64{1 << 20}), nil, []float32{1 << 20}},
		{"empty", file(header("<f4", "(0, 3)"), []float32{}), []int{0, 3}, []float32{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.npy")
			if err := os.WriteFile(path, c.file, 0o600); err != nil {
				t.Fatal(err)
			}
			shape, data, err := Read(path)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(shape, c.shape) || !reflect.DeepEqual(data, c.want) {
				t.Errorf("got %v %v, want %v %v", shape, data, c.shape, c.want)
			}
		})
	}
}

func TestRefuse(t *testing.T) {
	good := file(header("<f4", "(2,)"), []float32{1, 2})
	for name, b := range map[string][]byte{
		"nothing":      nil,
		"other magic":  []byte("RIFF....WAVEfmt "),
		"cut header":   good[:20],
		"cut elements": good[:len(good)-1],
		"one too many": append(good[:len(good):len(good)], 0, 0, 0, 0),
		"big-endian":   file(header(">f4", "(1,)"), []float32{1}),
		"complex":      file(header("<c8", "(1,)"), []float64{1}),
		"huge shape":   file(header("<f4", "(4294967296, 4294967296)"), []float32{1}),
		"column-major": file("{'descr': '<f4', 'fortran_order': True, 'shape': (1,), }", []float32{1}),
	} {
		if _, _, err := Parse(b); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: got %v, want ErrFormat", name, err)
		}
	}
	if _, _, err := Read(filepath.Join(t.TempDir(), "none.npy")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: got %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(file(header("<f4", "(2, 1)"), []float32{1, 2}))
	f.Add(file(header("<f2", "(1,)"), []uint16{1}))
	f.Add([]byte(magic + "\x02\x00\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		shape, data, err := Parse(b)
		if err != nil {
			return
		}
		n := 1
		for _, d := range shape {
			n *= d
		}
		if n != len(data) || len(data) > len(b) {
			t.Errorf("shape %v with %d elements of %d bytes", shape, len(data), len(b))
		}
	})
}
