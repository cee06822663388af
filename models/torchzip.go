package models

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// maxPickle bounds the description of the tensors; 725 of them take 110 KB.
const maxPickle = 8 << 20

// parseTorch returns the tensors of a file that torch.save wrote: a zip archive
// whose members, all below one folder and none compressed, are data.pkl, which
// describes the tensors, and data/KEY, the bytes of each storage. A tensor's Data
// is a slice of the file, unless its strides are not those of row-major order:
// then it's a copy that is.
func parseTorch(data []byte) ([]Tensor, error) {
	if !bytes.HasPrefix(data, []byte("PK")) {
		if bytes.HasPrefix(data, []byte{0x80}) {
			return nil, errors.New("is in the form of torch before 1.6: load it and save it with a newer one")
		}
		return nil, errors.New("is no file of torch.save")
	}
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	t := &torchFile{data: data, members: make(map[string]*zip.File, len(archive.File))}
	for _, f := range archive.File {
		if _, twice := t.members[f.Name]; twice {
			return nil, fmt.Errorf("%.100q is there twice", f.Name)
		}
		t.members[f.Name] = f
		if folder, ok := strings.CutSuffix(f.Name, "/data.pkl"); ok && !strings.Contains(folder, "/") {
			t.folder = folder + "/"
		}
	}
	if t.folder == "" {
		return nil, errors.New("has no data.pkl: it is no file of torch.save")
	}
	if order, err := t.member("byteorder"); err == nil && string(order) != "little" {
		return nil, fmt.Errorf("has its numbers in %.10q-endian order: only little is read", order)
	}
	pickle, err := t.member("data.pkl")
	if err != nil {
		return nil, err
	}
	if len(pickle) > maxPickle {
		return nil, fmt.Errorf("data.pkl: %d bytes are more than a list of tensors takes", len(pickle))
	}
	root, err := unpickle(pickle)
	if err != nil {
		return nil, fmt.Errorf("data.pkl: %w", err)
	}
	return t.tensors(root)
}

// torchFile is an open file of torch.save.
type torchFile struct {
	data    []byte
	members map[string]*zip.File
	folder  string // with a slash at its end
	copied  int    // bytes of tensors that are no slices of data
}

// member returns the bytes of a member, a slice of the file.
func (t *torchFile) member(name string) ([]byte, error) {
	f, ok := t.members[t.folder+name]
	if !ok {
		return nil, fmt.Errorf("%.100q is not in it", name)
	}
	if f.Method != zip.Store {
		return nil, fmt.Errorf("%.100q is compressed, which torch.save never does", name)
	}
	begin, err := f.DataOffset()
	if err != nil {
		return nil, err
	}
	size := int64(len(t.data))
	if begin < 0 || begin > size || f.UncompressedSize64 > uint64(size-begin) {
		return nil, fmt.Errorf("%.100q goes beyond the end: the file is truncated", name)
	}
	end := begin + int64(f.UncompressedSize64)
	return t.data[begin:end:end], nil
}

// tensors turns a dictionary of descriptions into tensors.
func (t *torchFile) tensors(root any) ([]Tensor, error) {
	dict, ok := root.(*pickleDict)
	if !ok {
		return nil, errors.New("data.pkl: is no dictionary of tensors")
	}
	tensors := make([]Tensor, 0, len(dict.keys))
	seen := make(map[string]bool, len(dict.keys))
	for i, name := range dict.keys {
		view, ok := dict.values[i].(*pickleTensor)
		if !ok {
			return nil, fmt.Errorf("%.100q is no tensor", name)
		}
		if seen[name] {
			return nil, fmt.Errorf("tensor %.100q is there twice", name)
		}
		seen[name] = true
		x, err := t.tensor(name, view)
		if err != nil {
			return nil, fmt.Errorf("tensor %.100q: %w", name, err)
		}
		tensors = append(tensors, x)
	}
	return tensors, nil
}

// tensor looks up the bytes of one.
func (t *torchFile) tensor(name string, view *pickleTensor) (Tensor, error) {
	s := view.storage
	storage, err := t.member("data/" + s.key)
	if err != nil {
		return Tensor{}, err
	}
	elements, size := int64(len(storage)/s.dtype.Size()), s.dtype.Size()
	if s.n != elements || len(storage)%size != 0 {
		return Tensor{}, fmt.Errorf("storage %.100q has %d bytes, not %d elements of %v", s.key,
			len(storage), s.n, s.dtype)
	}
	bytes, ok := byteSize(view.shape, s.dtype)
	if !ok || !view.within(elements) {
		return Tensor{}, fmt.Errorf("shape %v by strides %v from %d is not within the storage's %d elements",
			view.shape, view.stride, view.offset, elements)
	}
	x := Tensor{Name: name, DType: s.dtype, Shape: view.shape}
	begin := int(view.offset) * size
	switch {
	case bytes == 0:
	case view.contiguous():
		x.Data = storage[begin : begin+bytes : begin+bytes]
	case bytes > len(storage) || t.copied+bytes > len(t.data):
		return Tensor{}, fmt.Errorf("shape %v by strides %v repeats the storage's elements", view.shape, view.stride)
	default:
		t.copied += bytes
		x.Data = view.gather(storage[begin:], bytes)
	}
	return x, nil
}

// within says whether all elements of the view are among the first n of the
// storage.
func (v *pickleTensor) within(n int64) bool {
	if v.offset < 0 || v.offset > n {
		return false
	}
	if slices.Contains(v.shape, 0) {
		return true
	}
	left := n - v.offset - 1 // the farthest element is no further than this from the first
	for i, dim := range v.shape {
		steps, stride := int64(dim)-1, int64(v.stride[i])
		if stride < 0 || stride > 0 && steps > left/stride {
			return false
		}
		left -= steps * stride
	}
	return left >= 0
}

// contiguous says whether the elements lie in row-major order without gaps.
func (v *pickleTensor) contiguous() bool {
	next := 1
	for i := len(v.shape) - 1; i >= 0; i-- {
		if v.shape[i] != 1 && v.stride[i] != next {
			return false
		}
		next *= v.shape[i]
	}
	return true
}

// gather copies the view's elements into row-major order.
func (v *pickleTensor) gather(src []byte, bytes int) []byte {
	dst := make([]byte, 0, bytes)
	size := v.storage.dtype.Size()
	index := make([]int, len(v.shape))
	for at := 0; ; {
		dst = append(dst, src[at*size:(at+1)*size]...)
		if len(dst) == bytes {
			return dst
		}
		for i := len(index) - 1; ; i-- {
			index[i]++
			at += v.stride[i]
			if index[i] < v.shape[i] {
				break
			}
			at -= index[i] * v.stride[i]
			index[i] = 0
		}
	}
}
