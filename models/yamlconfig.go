package models

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// yamlConfig reads values by their path of keys, "encoder.n_layers". The first
// failure sticks; reads go on with defaults.
type yamlConfig struct {
	root *yaml.Node
	err  error
}

// maxYAMLHops bounds the references that lead from a key to its value, so that
// those that go in a circle end.
const maxYAMLHops = 32

// parseYAML reads the tree alone: an alias stays a reference, so that no
// document grows by being read.
func parseYAML(data []byte) (*yamlConfig, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(data, &document); err != nil {
		return nil, err
	}
	if document.Kind != yaml.DocumentNode || len(document.Content) != 1 ||
		document.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("is no mapping of keys")
	}
	return &yamlConfig{root: document.Content[0]}, nil
}

func (y *yamlConfig) fail(key, format string, args ...any) {
	if y.err == nil {
		y.err = fmt.Errorf("%s: %s", key, fmt.Sprintf(format, args...))
	}
}

// node returns the value at a path of keys; nil if there is none, or it is null.
func (y *yamlConfig) node(path string) *yaml.Node {
	hops := maxYAMLHops
	n := y.lookup(path, &hops)
	if n == nil || n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return nil
	}
	return n
}

func (y *yamlConfig) lookup(path string, hops *int) *yaml.Node {
	n := y.root
	for key := range strings.SplitSeq(path, ".") {
		if n.Kind != yaml.MappingNode {
			return nil
		}
		var value *yaml.Node
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == key {
				value = n.Content[i+1]
			}
		}
		if n = y.follow(value, hops); n == nil {
			return nil
		}
	}
	return n
}

// follow returns what an alias, or an OmegaConf interpolation such as
// ${model_defaults.enc_hidden}, stands for.
func (y *yamlConfig) follow(n *yaml.Node, hops *int) *yaml.Node {
	for n != nil {
		inner, isReference := strings.CutPrefix(n.Value, "${")
		inner, closed := strings.CutSuffix(inner, "}")
		switch *hops--; {
		case *hops < 0:
			return nil
		case n.Kind == yaml.AliasNode:
			n = n.Alias
		case n.Kind == yaml.ScalarNode && isReference && closed:
			// Written as in the training's file, whose root holds the model.
			return y.lookup(strings.TrimPrefix(inner, "model."), hops)
		default:
			return n
		}
	}
	return nil
}

// text returns a scalar as it is written.
func (y *yamlConfig) text(path string) (string, bool) {
	n := y.node(path)
	if n == nil || n.Kind != yaml.ScalarNode {
		return "", false
	}
	return n.Value, true
}

// want fails unless the value, or the default where there is none, is one of
// those allowed. Of a class only the name after the last dot counts.
func (y *yamlConfig) want(path, otherwise string, allowed ...string) {
	value, there := y.text(path)
	if !there {
		value = otherwise
	}
	if y.node(path) != nil && !there {
		y.fail(path, "is no single value")
	}
	class := value[strings.LastIndexByte(value, '.')+1:]
	if slices.Contains(allowed, value) || strings.HasSuffix(path, "_target_") && slices.Contains(allowed, class) {
		return
	}
	if value == "" {
		y.fail(path, "is missing: only %s is run", strings.Join(allowed, " or "))
		return
	}
	if slices.Contains(allowed, "") {
		y.fail(path, "%.100q is not run: only a model without it is", value)
		return
	}
	y.fail(path, "%.100q is not run: only %s is", value, strings.Join(allowed, " or "))
}

// wantBool fails if there is a value, and it's another than the one wanted, which
// is the default.
func (y *yamlConfig) wantBool(path string, wanted bool) {
	if y.bool(path, wanted) != wanted {
		y.fail(path, "%v is not run: only %v is", !wanted, wanted)
	}
}

func (y *yamlConfig) int(path string, otherwise int) int {
	return decodeYAML(y, path, otherwise)
}

func (y *yamlConfig) float(path string, otherwise float64) float64 {
	return decodeYAML(y, path, otherwise)
}

func (y *yamlConfig) bool(path string, otherwise bool) bool {
	return decodeYAML(y, path, otherwise)
}

func decodeYAML[T any](y *yamlConfig, path string, otherwise T) T {
	n := y.node(path)
	if n == nil {
		return otherwise
	}
	value := otherwise
	if n.Kind != yaml.ScalarNode || n.Decode(&value) != nil {
		y.fail(path, "is no %T", otherwise)
		return otherwise
	}
	return value
}

// ints returns a list of integers; nil if there is none.
func (y *yamlConfig) ints(path string) []int {
	n := y.node(path)
	if n == nil {
		return nil
	}
	values := make([]int, 0, len(n.Content))
	for _, item := range n.Content {
		hops := maxYAMLHops
		var value int
		if item = y.follow(item, &hops); item == nil || item.Kind != yaml.ScalarNode || item.Decode(&value) != nil {
			y.fail(path, "is no list of integers")
			return nil
		}
		values = append(values, value)
	}
	if n.Kind != yaml.SequenceNode {
		y.fail(path, "is no list of integers")
		return nil
	}
	return values
}

// len returns the length of a list, 0 if there is none.
func (y *yamlConfig) len(path string) int {
	if n := y.node(path); n != nil && n.Kind == yaml.SequenceNode {
		return len(n.Content)
	}
	return 0
}
