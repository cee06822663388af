package models

import (
	"encoding/binary"
	"fmt"
	"unicode/utf8"
)

// What this reader accepts of CTranslate2 (CURRENT_BINARY_VERSION in
// python/ctranslate2/specs/model_spec.py and WhisperSpec in whisper_spec.py):
// older layouts differ.
const (
	ct2BinaryVersion = 6
	ct2SpecName      = "WhisperSpec"
	ct2SpecRevision  = 3
)

// ct2DTypes are the types by their number in the file.
var ct2DTypes = [...]DType{0: F32, 1: I8, 2: I16, 3: I32, 4: F16, 5: BF16}

func (w *Weights) addCTranslate2(path string) error {
	w.format = FormatCTranslate2
	data, err := w.mapped(path)
	if err != nil {
		return err
	}
	w.tensors, err = parseCTranslate2(path, data)
	return err
}

// parseCTranslate2 returns the variables of a model.bin by name and by alias.
// All integers are little-endian and nothing is aligned:
//
//	u32 binary version, str spec name, u32 spec revision
//	u32 variables; each: str name, u8 rank, rank × u32 dimensions, u8 type, u32 bytes, the bytes
//	u32 aliases; each: str alias, str variable
//
// where str is a u16 length that counts a final NUL, then the bytes and the NUL.
func parseCTranslate2(path string, data []byte) (map[string]Tensor, error) {
	c := &ct2Cursor{path: path, data: data}
	version := c.uint32("binary version")
	if c.err == nil && version != ct2BinaryVersion {
		return nil, c.bad("", "binary version %d, only %d is read: convert the model again with a current CTranslate2",
			version, ct2BinaryVersion)
	}
	spec, revision := c.str("spec name"), c.uint32("spec revision")
	if c.err == nil && (spec != ct2SpecName || revision != ct2SpecRevision) {
		return nil, c.bad("", "holds a %q, revision %d, not a %s, revision %d", spec, revision,
			ct2SpecName, ct2SpecRevision)
	}

	tensors := map[string]Tensor{}
	for n := c.uint32("number of variables"); n > 0 && c.err == nil; n-- {
		t := c.variable()
		if c.err != nil {
			break
		}
		if _, twice := tensors[t.Name]; twice {
			return nil, c.bad(t.Name, "is there twice")
		}
		tensors[t.Name] = t
	}
	for n := c.uint32("number of aliases"); n > 0 && c.err == nil; n-- {
		alias, name := c.str("alias"), c.str("alias's variable")
		if c.err != nil {
			break
		}
		t, ok := tensors[name]
		if !ok {
			return nil, c.bad(alias, "is an alias of %q, which is not there", name)
		}
		if _, twice := tensors[alias]; twice {
			return nil, c.bad(alias, "is there twice")
		}
		t.Name = alias
		tensors[alias] = t
	}
	if c.err != nil {
		return nil, c.err
	}
	if rest := len(data) - c.at; rest > 0 {
		return nil, c.bad("", "%d bytes follow the last alias", rest)
	}
	return tensors, nil
}

// ct2Cursor reads a model.bin from front to back and keeps the first error;
// after it every read gives zeros.
type ct2Cursor struct {
	path string
	data []byte
	at   int
	err  error
}

func (c *ct2Cursor) bad(tensor, format string, args ...any) error {
	return &FormatError{c.path, tensor, fmt.Sprintf(format, args...)}
}

func (c *ct2Cursor) fail(tensor, format string, args ...any) {
	if c.err == nil {
		c.err = c.bad(tensor, format, args...)
	}
}

// take returns the next n bytes, or nil beyond the end.
func (c *ct2Cursor) take(n int, tensor, what string) []byte {
	if c.err != nil {
		return nil
	}
	if n > len(c.data)-c.at {
		c.fail(tensor, "%s takes %d bytes at %d, the file ends at %d: it is truncated or no CTranslate2 model",
			what, n, c.at, len(c.data))
		return nil
	}
	b := c.data[c.at : c.at+n : c.at+n]
	c.at += n
	return b
}

func (c *ct2Cursor) uint32(what string) uint32 {
	if b := c.take(4, "", what); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (c *ct2Cursor) str(what string) string {
	head := c.take(2, "", what)
	if head == nil {
		return ""
	}
	n := int(binary.LittleEndian.Uint16(head))
	b := c.take(n, "", what)
	if c.err != nil {
		return ""
	}
	if n == 0 || b[n-1] != 0 || !utf8.Valid(b[:n-1]) {
		c.fail("", "%s at byte %d is not a string", what, c.at-n)
		return ""
	}
	return string(b[:n-1])
}

// variable reads one named array; its Data is a slice of the file.
func (c *ct2Cursor) variable() Tensor {
	t := Tensor{Name: c.str("name of a variable")}
	rank := c.take(1, t.Name, "rank")
	if rank == nil {
		return t
	}
	dims := c.take(4*int(rank[0]), t.Name, "shape")
	dtype := c.take(1, t.Name, "type")
	size := c.take(4, t.Name, "size")
	if c.err != nil {
		return t
	}
	for ; len(dims) > 0; dims = dims[4:] {
		t.Shape = append(t.Shape, int(binary.LittleEndian.Uint32(dims)))
	}
	if int(dtype[0]) >= len(ct2DTypes) {
		c.fail(t.Name, "type %d is not known", dtype[0])
		return t
	}
	t.DType = ct2DTypes[dtype[0]]
	want, ok := byteSize(t.Shape, t.DType)
	if got := binary.LittleEndian.Uint32(size); !ok || uint64(want) != uint64(got) {
		c.fail(t.Name, "shape %v of %v does not take the %d bytes that the file gives it", t.Shape, t.DType, got)
		return t
	}
	t.Data = c.take(want, t.Name, "data")
	return t
}
