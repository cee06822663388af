package models

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// The values of [Weights.Format].
const (
	FormatNemo        = "nemo"
	FormatSafetensors = "safetensors"
	FormatCTranslate2 = "ctranslate2"
)

// The names under which a model's folder holds its weights.
const (
	safetensorsFile  = "model.safetensors"
	safetensorsIndex = "model.safetensors.index.json"
	ctranslate2File  = "model.bin"
)

// ErrNoWeights is returned, wrapped, for a folder without a weight file that
// this package reads.
var ErrNoWeights = errors.New("no weights in the folder")

// FormatError says what is wrong with a weight or tokenizer file. Such a file
// is damaged or of another kind: pull it again.
type FormatError struct {
	File   string // path of the file
	Tensor string // name of the tensor at fault; empty when the fault is the file's own
	Reason string
}

func (e *FormatError) Error() string {
	if e.Tensor != "" {
		return fmt.Sprintf("%s: tensor %q: %s", e.File, e.Tensor, e.Reason)
	}
	return e.File + ": " + e.Reason
}

// Weights is an open set of tensors. Its methods are safe for concurrent use,
// but for Close, which ends the life of every tensor's Data.
type Weights struct {
	format  string
	names   []string // sorted
	tensors map[string]Tensor
	unmaps  []func() error
	nemo    *nemoArchive // that the tensors are from, or nil
}

// OpenWeights opens the weights of the model at path: a NeMo archive, or a
// folder with one, else model.safetensors, else model.safetensors.index.json with
// the shards that it names, else CTranslate2's model.bin. The error wraps [ErrNoWeights] if there is none of them, is a
// [*FormatError] if a file is not what it claims to be, and comes from the
// operating system otherwise.
func OpenWeights(path string) (*Weights, error) {
	archive, err := nemoFile(path)
	if err != nil {
		return nil, err
	}
	if archive != "" {
		return openWeights((*Weights).addNemo, archive)
	}
	for _, form := range []struct {
		file string
		open func(w *Weights, path string) error
	}{
		{safetensorsFile, (*Weights).addSafetensors},
		{safetensorsIndex, (*Weights).addShards},
		{ctranslate2File, (*Weights).addCTranslate2},
	} {
		file := filepath.Join(path, form.file)
		if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
			return openWeights(form.open, file)
		}
	}
	return nil, fmt.Errorf("%s: %w: looked for %s, %s, %s and a NeMo archive", path, ErrNoWeights, safetensorsFile,
		safetensorsIndex, ctranslate2File)
}

func openWeights(add func(w *Weights, path string) error, path string) (*Weights, error) {
	w := &Weights{tensors: map[string]Tensor{}}
	if err := add(w, path); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	w.sortNames()
	return w, nil
}

func (w *Weights) sortNames() {
	w.names = slices.Sorted(maps.Keys(w.tensors))
}

// Format returns [FormatSafetensors] or [FormatCTranslate2], which use
// different names for the same layers.
func (w *Weights) Format() string { return w.format }

// Names returns every tensor's name, aliases included, sorted by byte. The
// slice is the caller's.
func (w *Weights) Names() []string { return append([]string(nil), w.names...) }

// Tensor returns a tensor by name or by alias. Shape and Data are the
// [Weights]' own: read only.
func (w *Weights) Tensor(name string) (Tensor, bool) {
	t, ok := w.tensors[name]
	return t, ok
}

// Read converts the tensor of this name into dst, as [Tensor.Float32] does. It
// fails if there is none, or its shape is another.
func (w *Weights) Read(dst []float32, name string, shape ...int) error {
	t, ok := w.tensors[name]
	if !ok {
		return fmt.Errorf("tensor %s is missing", name)
	}
	if !slices.Equal(t.Shape, shape) {
		return fmt.Errorf("tensor %s has shape %v, want %v", name, t.Shape, shape)
	}
	return t.Float32(dst)
}

// Close unmaps the files. No tensor's Data may be touched afterwards. A second
// call does nothing.
func (w *Weights) Close() error {
	var err error
	for _, unmap := range w.unmaps {
		err = errors.Join(err, unmap())
	}
	w.unmaps, w.tensors, w.names, w.nemo = nil, nil, nil, nil
	return err
}

// mapped maps a file that is unmapped by Close.
func (w *Weights) mapped(path string) ([]byte, error) {
	data, unmap, err := mapFile(path)
	if err != nil {
		return nil, err
	}
	w.unmaps = append(w.unmaps, unmap)
	return data, nil
}

// rename gives every tensor the name that newName returns for it.
func (w *Weights) rename(newName func(string) string) error {
	tensors := make(map[string]Tensor, len(w.tensors))
	for _, old := range w.names {
		t := w.tensors[old]
		t.Name = newName(old)
		if _, twice := tensors[t.Name]; twice {
			return fmt.Errorf("tensor %q: another is called %s too", old, t.Name)
		}
		tensors[t.Name] = t
	}
	w.tensors = tensors
	w.sortNames()
	return nil
}

// byteSize returns the bytes that a shape of a type takes, or false when a
// dimension is negative or the product is beyond what an int holds.
func byteSize(shape []int, d DType) (int, bool) {
	const most = int(^uint(0) >> 1)
	n, empty := d.Size(), false
	for _, dim := range shape {
		switch {
		case dim < 0:
			return 0, false
		case dim == 0:
			empty = true
		case n > most/dim:
			return 0, false
		default:
			n *= dim
		}
	}
	if empty {
		return 0, true
	}
	return n, true
}
