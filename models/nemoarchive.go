package models

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// The members of a NeMo archive that hold the model. The tokenizer's has the
// name that the configuration gives it.
const (
	nemoConfig  = "model_config.yaml"
	nemoWeights = "model_weights.ckpt"
)

// Bounds of an archive: published ones have 6 members, and weights hardly
// compress.
const (
	maxNemoMembers   = 1 << 10
	maxNemoExpansion = 4
	nemoSlack        = 16 << 20 // bytes that any archive may expand to
)

var gzipMagic = []byte{0x1f, 0x8b}

// nemoMembers returns the members of an archive by name, without "./" before
// it. Those of a plain archive are slices of data; a compressed archive, as NeMo
// once wrote them, is unpacked into memory.
func nemoMembers(data []byte) (map[string][]byte, error) {
	if bytes.HasPrefix(data, gzipMagic) {
		return unpackNemo(data)
	}
	src := bytes.NewReader(data)
	return tarMembers(src, func(size int64, _ io.Reader) ([]byte, error) {
		// tar reads whole headers and not a byte further.
		if size > int64(src.Len()) {
			return nil, io.ErrUnexpectedEOF
		}
		begin := len(data) - src.Len()
		end := begin + int(size)
		return data[begin:end:end], nil
	})
}

// unpackNemo is nemoMembers for a compressed archive.
func unpackNemo(data []byte) (map[string][]byte, error) {
	unzipped, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	limit := int64(len(data))*maxNemoExpansion + nemoSlack
	return tarMembers(io.LimitReader(unzipped, limit), func(size int64, body io.Reader) ([]byte, error) {
		if size > limit {
			return nil, fmt.Errorf("unpacks to more than %d times the archive's size", maxNemoExpansion)
		}
		var content bytes.Buffer
		content.Grow(int(size) + bytes.MinRead)
		_, err := content.ReadFrom(body)
		return content.Bytes(), err
	})
}

// tarMembers reads the members of a tar archive. take returns the content of the
// member whose header has just been read.
func tarMembers(r io.Reader, take func(size int64, body io.Reader) ([]byte, error)) (map[string][]byte, error) {
	members := map[string][]byte{}
	archive := tar.NewReader(r)
	for range maxNemoMembers {
		header, err := archive.Next()
		if err == io.EOF {
			return members, nil
		}
		if err != nil {
			return nil, err
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		if isSparse(header) {
			return nil, fmt.Errorf("%.100q is a sparse file, which NeMo never writes", header.Name)
		}
		name := path.Clean(header.Name)
		if _, twice := members[name]; twice {
			return nil, fmt.Errorf("%.100q is there twice", name)
		}
		if members[name], err = take(header.Size, archive); err != nil {
			return nil, fmt.Errorf("%.100q: %w", name, err)
		}
	}
	return nil, fmt.Errorf("has more than %d members", maxNemoMembers)
}

// isSparse says whether the size in a regular file's header is not that of the
// bytes that follow.
func isSparse(h *tar.Header) bool {
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return true
		}
	}
	return false
}

// addNemo adds the tensors of a NeMo archive.
func (w *Weights) addNemo(path string) error {
	w.format = FormatNemo
	data, err := w.mapped(path)
	if err != nil {
		return err
	}
	members, err := nemoMembers(data)
	if err != nil {
		return &FormatError{File: path, Reason: "no NeMo archive, or a damaged one: " + err.Error()}
	}
	w.nemo = &nemoArchive{path, members}
	checkpoint, err := w.nemo.member(nemoWeights, math.MaxInt)
	if err != nil {
		return err
	}
	tensors, err := parseTorch(checkpoint)
	if err != nil {
		return w.nemo.bad(nemoWeights, err)
	}
	for _, t := range tensors {
		w.tensors[t.Name] = t
	}
	return nil
}

// nemoArchive is an open archive.
type nemoArchive struct {
	file    string
	members map[string][]byte
}

// bad is the error for a member that can't be read.
func (a *nemoArchive) bad(member string, err error) error {
	return &FormatError{File: a.file, Reason: member + ": " + err.Error()}
}

// member returns a member that must be there, and no larger than limit.
func (a *nemoArchive) member(name string, limit int) ([]byte, error) {
	data, ok := a.members[name]
	if !ok {
		return nil, &FormatError{File: a.file, Reason: fmt.Sprintf("has no %.100s: it is no NeMo archive of a model", name)}
	}
	if len(data) > limit {
		return nil, a.bad(name, fmt.Errorf("%d bytes are more than such a file takes", len(data)))
	}
	return data, nil
}

// nemoFile returns the path of the NeMo archive that path is or holds, "" if
// there is none.
func nemoFile(path string) (string, error) {
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		return path, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	archive := ""
	for _, e := range entries {
		switch {
		case !strings.HasSuffix(e.Name(), nemoSuffix):
		case archive != "":
			return "", fmt.Errorf("%s: holds more than one NeMo archive: give the path of one", path)
		default:
			archive = filepath.Join(path, e.Name())
		}
	}
	return archive, nil
}
