// Package npy reads NumPy's .npy files, in which the tests' reference values lie.
//
// A file is the magic "\x93NUMPY", a version (major, minor), the length of a header (two bytes
// in version 1, four after it), the header — a Python dictionary with the keys descr,
// fortran_order and shape, padded with spaces — and the elements, row-major. The format is
// described in https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html.
//
// Only what the tests need is read: little-endian floats of 2, 4 and 8 bytes and integers of 4
// and 8 bytes, in row-major order. All of them come back as float32.
package npy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// ErrFormat is what every file that is no readable .npy file comes back with.
var ErrFormat = errors.New("not a readable .npy file")

const magic = "\x93NUMPY"

var (
	descrKey   = regexp.MustCompile(`'descr':\s*'([<|=])([a-z])(\d+)'`)
	fortranKey = regexp.MustCompile(`'fortran_order':\s*False`)
	shapeKey   = regexp.MustCompile(`'shape':\s*\(([0-9, ]*)\)`)
)

// Read reads a file: its shape, outermost dimension first (empty for a single number), and its
// elements, row-major. The slices are the caller's.
func Read(path string) (shape []int, data []float32, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	shape, data, err = Parse(b)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return shape, data, nil
}

// Parse is [Read] for the bytes of a file.
func Parse(b []byte) (shape []int, data []float32, err error) {
	header, body, err := split(b)
	if err != nil {
		return nil, nil, err
	}
	descr := descrKey.FindStringSubmatch(header)
	dims := shapeKey.FindStringSubmatch(header)
	if descr == nil || dims == nil || !fortranKey.MatchString(header) {
		return nil, nil, fmt.Errorf("header %.80q: %w", header, ErrFormat)
	}
	decode, size := decoder(descr[2] + descr[3])
	if decode == nil {
		return nil, nil, fmt.Errorf("elements of type %s%s: %w", descr[2], descr[3], ErrFormat)
	}
	n := 1
	for _, f := range strings.FieldsFunc(dims[1], func(r rune) bool { return r == ',' || r == ' ' }) {
		d, err := strconv.Atoi(f)
		if err != nil || d != 0 && n > len(body)/d {
			return nil, nil, fmt.Errorf("shape (%s) of %d bytes: %w", dims[1], len(body), ErrFormat)
		}
		shape, n = append(shape, d), n*d
	}
	if n != len(body)/size || len(body)%size != 0 {
		return nil, nil, fmt.Errorf("shape (%s) of %d bytes: %w", dims[1], len(body), ErrFormat)
	}
	data = make([]float32, n)
	for i := range data {
		data[i] = decode(body[i*size:])
	}
	return shape, data, nil
}

// split cuts a file in header and elements.
func split(b []byte) (header string, body []byte, err error) {
	if !bytes.HasPrefix(b, []byte(magic)) || len(b) < 12 {
		return "", nil, fmt.Errorf("no magic: %w", ErrFormat)
	}
	start, length := 10, int(binary.LittleEndian.Uint16(b[8:]))
	if b[6] > 1 {
		start, length = 12, int(binary.LittleEndian.Uint32(b[8:]))
	}
	if length > len(b)-start {
		return "", nil, fmt.Errorf("header of %d bytes in a file of %d: %w", length, len(b), ErrFormat)
	}
	return string(b[start : start+length]), b[start+length:], nil
}

// decoder is how an element of a type is read, and its size in bytes.
func decoder(descr string) (func([]byte) float32, int) {
	le := binary.LittleEndian
	switch descr {
	case "f2":
		return func(b []byte) float32 { return half(le.Uint16(b)) }, 2
	case "f4":
		return func(b []byte) float32 { return math.Float32frombits(le.Uint32(b)) }, 4
	case "f8":
		return func(b []byte) float32 { return float32(math.Float64frombits(le.Uint64(b))) }, 8
	case "i4":
		return func(b []byte) float32 { return float32(int32(le.Uint32(b))) }, 4
	case "i8":
		return func(b []byte) float32 { return float32(int64(le.Uint64(b))) }, 8
	}
	return nil, 0
}

// half is an IEEE 754 binary16 as float32, exactly.
func half(h uint16) float32 {
	sign, exp, frac := uint32(h>>15)<<31, uint32(h>>10&31), uint32(h&1023)
	switch exp {
	case 0:
		v := float32(frac) / (1 << 24)
		return math.Float32frombits(sign | math.Float32bits(v))
	case 31:
		return math.Float32frombits(sign | 0xff<<23 | frac<<13)
	}
	return math.Float32frombits(sign | (exp+127-15)<<23 | frac<<13)
}
