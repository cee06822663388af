package models

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sort"
	"strings"
)

// maxSafetensorsHeader bounds the JSON, as the reference implementation does
// (MAX_HEADER_SIZE in safetensors/src/tensor.rs of huggingface/safetensors).
const maxSafetensorsHeader = 100_000_000

// safetensorsDTypes are the types by their name in the header. The 8-bit
// floats and the packed types of newer files are refused.
var safetensorsDTypes = func() map[string]DType {
	m := map[string]DType{}
	for d := F32; d.Size() != 0; d++ {
		m[d.String()] = d
	}
	return m
}()

func (w *Weights) addSafetensors(path string) error {
	w.format = FormatSafetensors
	data, err := w.mapped(path)
	if err != nil {
		return err
	}
	tensors, err := parseSafetensors(path, data)
	if err != nil {
		return err
	}
	for _, t := range tensors {
		w.tensors[t.Name] = t
	}
	return nil
}

// addShards opens every file that the index names. The index decides which
// shard a tensor comes from; what a shard holds beyond it is left alone.
func (w *Weights) addShards(path string) error {
	w.format = FormatSafetensors
	index, err := w.mapped(path)
	if err != nil {
		return err
	}
	shardOf, err := parseShardIndex(path, index)
	if err != nil {
		return err
	}
	shards := map[string]bool{}
	for _, shard := range shardOf {
		shards[shard] = true
	}
	for shard := range shards {
		file := filepath.Join(filepath.Dir(path), shard)
		data, err := w.mapped(file)
		if err != nil {
			return err
		}
		tensors, err := parseSafetensors(file, data)
		if err != nil {
			return err
		}
		for _, t := range tensors {
			if shardOf[t.Name] == shard {
				w.tensors[t.Name] = t
			}
		}
	}
	for name, shard := range shardOf {
		if _, ok := w.tensors[name]; !ok {
			return &FormatError{path, name, "is not in " + shard + ", where the index has it"}
		}
	}
	return nil
}

// parseShardIndex reads the weight_map of an index: tensor name to file name.
func parseShardIndex(path string, data []byte) (map[string]string, error) {
	bad := func(tensor, format string, args ...any) error {
		return &FormatError{path, tensor, fmt.Sprintf(format, args...)}
	}
	var index struct {
		WeightMap json.RawMessage `json:"weight_map"`
	}
	if err := json.Unmarshal(data, &index); err != nil {
		return nil, bad("", "not an index of shards: %v", err)
	}
	shardOf := map[string]string{}
	err := eachMember(index.WeightMap, func(name string, dec *json.Decoder) error {
		var shard string
		if err := dec.Decode(&shard); err != nil {
			return bad(name, "%v", err)
		}
		// A shard lies beside its index: no name may lead out of the folder.
		if !filepath.IsLocal(shard) || strings.ContainsAny(shard, `/\`) || shard == "." {
			return bad(name, "shard %q is not a plain file name", shard)
		}
		shardOf[name] = shard
		return nil
	})
	if err != nil {
		var format *FormatError
		if errors.As(err, &format) {
			return nil, err
		}
		return nil, bad("", "weight_map: %v", err)
	}
	if len(shardOf) == 0 {
		return nil, bad("", "weight_map names no tensor")
	}
	return shardOf, nil
}

// parseSafetensors returns the tensors of a file, in the order of their bytes,
// which are slices of data.
func parseSafetensors(path string, data []byte) ([]Tensor, error) {
	bad := func(tensor, format string, args ...any) error {
		return &FormatError{path, tensor, fmt.Sprintf(format, args...)}
	}
	if len(data) < 8 {
		return nil, bad("", "%d bytes are too short for a safetensors file", len(data))
	}
	n := binary.LittleEndian.Uint64(data)
	if n > uint64(len(data)-8) {
		return nil, bad("", "the header claims %d bytes, the file has %d: it is truncated or no safetensors file", n, len(data)-8)
	}
	if n > maxSafetensorsHeader {
		return nil, bad("", "a header of %d bytes is over the limit of %d", n, maxSafetensorsHeader)
	}
	header, body := data[8:8+n], data[8+n:]

	type located struct {
		Tensor
		begin, end int
	}
	var all []located
	err := eachMember(header, func(name string, dec *json.Decoder) error {
		if name == "__metadata__" {
			var skip json.RawMessage
			return dec.Decode(&skip)
		}
		var entry struct {
			DType   string `json:"dtype"`
			Shape   []int  `json:"shape"`
			Offsets []int  `json:"data_offsets"`
		}
		if err := dec.Decode(&entry); err != nil {
			return bad(name, "%v", err)
		}
		dtype, ok := safetensorsDTypes[entry.DType]
		if !ok {
			return bad(name, "type %q is not supported", entry.DType)
		}
		size, ok := byteSize(entry.Shape, dtype)
		if !ok {
			return bad(name, "shape %v of %v is no possible size", entry.Shape, dtype)
		}
		if len(entry.Offsets) != 2 {
			return bad(name, "data_offsets has %d numbers, not 2", len(entry.Offsets))
		}
		begin, end := entry.Offsets[0], entry.Offsets[1]
		if begin < 0 || end < begin || end > len(body) {
			return bad(name, "bytes %d to %d are not within the %d of the file: it is truncated or damaged", begin, end, len(body))
		}
		if end-begin != size {
			return bad(name, "shape %v of %v takes %d bytes, data_offsets give %d", entry.Shape, dtype, size, end-begin)
		}
		all = append(all, located{Tensor{name, dtype, entry.Shape, body[begin:end:end]}, begin, end})
		return nil
	})
	if err != nil {
		var format *FormatError
		if errors.As(err, &format) {
			return nil, err
		}
		return nil, bad("", "header: %v", err)
	}

	// The format allows neither holes nor overlaps, so that no byte of the file
	// means nothing and none means two things.
	sort.Slice(all, func(i, j int) bool {
		return all[i].begin < all[j].begin || all[i].begin == all[j].begin && all[i].end < all[j].end
	})
	tensors, at := make([]Tensor, len(all)), 0
	for i, t := range all {
		if t.begin != at {
			return nil, bad(t.Name, "starts at byte %d where %d is expected: tensors overlap or leave a hole", t.begin, at)
		}
		tensors[i], at = t.Tensor, t.end
	}
	if at != len(body) {
		return nil, bad("", "%d bytes after the last tensor belong to none", len(body)-at)
	}
	return tensors, nil
}

// eachMember calls visit for every member of a JSON object, with the decoder
// before the member's value, which visit must consume. Unlike decoding into a
// map it refuses a name that comes twice.
func eachMember(object []byte, visit func(name string, dec *json.Decoder) error) error {
	dec := json.NewDecoder(bytes.NewReader(object))
	if token, err := dec.Token(); err != nil || token != json.Delim('{') {
		return errors.New("not a JSON object")
	}
	seen := map[string]bool{}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string) // the decoder allows nothing else here
		if seen[name] {
			return fmt.Errorf("%q is there twice", name)
		}
		seen[name] = true
		if err := visit(name, dec); err != nil {
			return err
		}
	}
	if _, err := dec.Token(); err != nil {
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return errors.New("more data follows the JSON object")
	}
	return nil
}
