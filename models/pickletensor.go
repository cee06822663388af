package models

import (
	"bytes"
	"errors"
	"fmt"
)

// The functions that a pickle of tensors calls.
const (
	globalOrderedDict = pickleGlobal("collections.OrderedDict")
	globalTensor      = pickleGlobal("torch._utils._rebuild_tensor_v2")
	globalParameter   = pickleGlobal("torch._utils._rebuild_parameter")
)

// storageDTypes are torch's classes of storage (torch/__init__.py).
var storageDTypes = map[pickleGlobal]DType{
	"torch.FloatStorage": F32, "torch.HalfStorage": F16, "torch.BFloat16Storage": BF16, "torch.DoubleStorage": F64,
	"torch.CharStorage": I8, "torch.ShortStorage": I16, "torch.IntStorage": I32, "torch.LongStorage": I64,
	"torch.ByteStorage": U8, "torch.BoolStorage": Bool,
}

// pickleStorage is the file's promise of n elements in a member of its own.
type pickleStorage struct {
	dtype DType
	key   string
	n     int64
}

// pickleTensor is a view of a storage. Offset and strides count elements.
type pickleTensor struct {
	storage       pickleStorage
	offset        int64
	shape, stride []int
}

// global looks up a name, which must be one of those that tensors need.
func (m *pickleMachine) global(op byte) error {
	var parts [2]string // module and name
	for i := range parts {
		if op == 'c' {
			line, rest, ok := bytes.Cut(m.data, []byte("\n"))
			if !ok {
				return errPickleEnd
			}
			parts[i], m.data = string(line), rest
			continue
		}
		v, err := m.pop()
		if err != nil {
			return err
		}
		parts[1-i], _ = v.(string)
	}
	global := pickleGlobal(parts[0] + "." + parts[1])
	_, isStorage := storageDTypes[global]
	if !isStorage && global != globalOrderedDict && global != globalTensor && global != globalParameter {
		return fmt.Errorf("pickle: asks for %.100q: only tensors are read, nothing is run", string(global))
	}
	return m.push(global)
}

// storage turns a persistent id, ("storage", class, key, device, elements), into
// the storage it stands for (persistent_id in torch/serialization.py).
func (m *pickleMachine) storage() error {
	v, err := m.pop()
	if err != nil {
		return err
	}
	id, _ := v.(pickleTuple)
	if len(id) < 5 || id[0] != any("storage") {
		return errors.New("pickle: a persistent id is not that of a storage")
	}
	class, _ := id[1].(pickleGlobal)
	dtype, known := storageDTypes[class]
	key, isText := id[2].(string)
	n, isInt := id[4].(int64)
	if !known || !isText || !isInt || n < 0 {
		return errors.New("pickle: a storage lacks its class, key or length")
	}
	return m.push(pickleStorage{dtype, key, n})
}

// reduce calls one of the functions that tensors need.
func (m *pickleMachine) reduce() error {
	v, err := m.pop()
	if err != nil {
		return err
	}
	args, ok := v.(pickleTuple)
	if !ok {
		return errors.New("pickle: calls with what are no arguments")
	}
	callee, err := m.pop()
	if err != nil {
		return err
	}
	switch name, _ := callee.(pickleGlobal); {
	case name == globalOrderedDict && len(args) == 0:
		return m.push(&pickleDict{})
	case name == globalParameter && len(args) > 0: // data, requires_grad, hooks
		return m.push(args[0])
	case name == globalTensor:
		t, err := newPickleTensor(args)
		if err != nil {
			return err
		}
		return m.push(t)
	}
	return errors.New("pickle: calls what is no function that tensors need")
}

// newPickleTensor reads the arguments of _rebuild_tensor_v2: storage, offset,
// size, stride, requires_grad, hooks.
func newPickleTensor(args pickleTuple) (*pickleTensor, error) {
	if len(args) < 4 {
		return nil, errors.New("pickle: a tensor lacks arguments")
	}
	storage, isStorage := args[0].(pickleStorage)
	offset, isInt := args[1].(int64)
	shape, shapeOK := pickleInts(args[2])
	stride, strideOK := pickleInts(args[3])
	if !isStorage || !isInt || !shapeOK || !strideOK || len(shape) != len(stride) {
		return nil, errors.New("pickle: a tensor's arguments are not storage, offset, size and stride")
	}
	return &pickleTensor{storage, offset, shape, stride}, nil
}

func pickleInts(v any) ([]int, bool) {
	tuple, ok := v.(pickleTuple)
	ints := make([]int, len(tuple))
	for i, item := range tuple {
		n, isInt := item.(int64)
		ok = ok && isInt && int64(int(n)) == n
		ints[i] = int(n)
	}
	return ints, ok
}
