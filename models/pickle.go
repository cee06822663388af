package models

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
)

// A pickle is a program for a small stack machine (Lib/pickletools.py in
// python/cpython describes each opcode). In Python it may call anything that can
// be imported. Here it can't: the machine knows the few names that torch.save
// writes for a dictionary of tensors, and stops at any other. What it builds is
// plain data; nothing is followed into what it points to, so that cycles do no
// harm.

// maxPickleSteps bounds the opcodes of a pickle, and with them the memory: each
// makes at most one object. A model of 725 tensors takes 30,000.
const maxPickleSteps = 1 << 20

// What the machine makes, beside nil, bool, int64, float64 and string.
type (
	pickleTuple  []any
	pickleList   struct{ items []any }
	pickleGlobal string // module.name
	pickleMark   struct{}

	// pickleDict keeps the order of its items. Only strings are kept as keys.
	pickleDict struct {
		keys   []string
		values []any
	}
)

var (
	errPickleEnd   = errors.New("pickle: ends before its last opcode")
	errPickleStack = errors.New("pickle: takes from an empty stack")
)

// unpickle runs a pickle and returns what it leaves.
func unpickle(data []byte) (any, error) {
	m := pickleMachine{data: data, memo: map[uint32]any{}}
	for range maxPickleSteps {
		if len(m.data) == 0 {
			return nil, errPickleEnd
		}
		op := m.data[0]
		m.data = m.data[1:]
		if op == '.' {
			return m.pop()
		}
		if err := m.step(op); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("pickle: takes more than %d steps", maxPickleSteps)
}

type pickleMachine struct {
	data  []byte // what follows
	stack []any
	memo  map[uint32]any
}

// step runs one opcode.
func (m *pickleMachine) step(op byte) error {
	switch op {
	case 0x80: // PROTO
		version, err := m.take(1)
		if err == nil && (version[0] < 2 || version[0] > 5) {
			return fmt.Errorf("pickle: protocol %d, only 2 to 5 are read", version[0])
		}
		return err
	case 0x95: // FRAME
		_, err := m.take(8)
		return err
	case '(':
		return m.push(pickleMark{})
	case '0': // POP
		_, err := m.pop()
		return err
	case 'N':
		return m.push(nil)
	case 0x88, 0x89: // NEWTRUE, NEWFALSE
		return m.push(op == 0x88)
	case 'K', 'M', 'J', 0x8a, 'G': // BININT1, BININT2, BININT, LONG1, BINFLOAT
		return m.number(op)
	case 'X', 0x8c, 0x8d, 'T', 'U': // BINUNICODE, SHORT_ and 8, BINSTRING, SHORT_
		text, err := m.text(op)
		if err != nil {
			return err
		}
		return m.push(text)
	case 'q', 'r', 0x94, 'h', 'j': // BINPUT, LONG_, MEMOIZE, BINGET, LONG_
		return m.memory(op)
	case ')', 0x85, 0x86, 0x87, 't': // EMPTY_TUPLE, TUPLE1 to 3, TUPLE
		return m.tuple(op)
	case ']', 'a', 'e', '}', 's', 'u', 'b': // lists, dictionaries, BUILD
		return m.container(op)
	case 'c', 0x93: // GLOBAL, STACK_GLOBAL
		return m.global(op)
	case 'Q': // BINPERSID
		return m.storage()
	case 'R': // REDUCE
		return m.reduce()
	}
	return fmt.Errorf("pickle: opcode %#02x is none that tensors need", op)
}

// push returns nil, as the last of a step.
func (m *pickleMachine) push(v any) error {
	m.stack = append(m.stack, v)
	return nil
}

func (m *pickleMachine) pop() (any, error) {
	top := len(m.stack) - 1
	if top < 0 {
		return nil, errPickleStack
	}
	v := m.stack[top]
	m.stack[top] = nil
	m.stack = m.stack[:top]
	return v, nil
}

// popN takes the last n. The slice is the stack's own, good until the next push.
func (m *pickleMachine) popN(n int) ([]any, error) {
	from := len(m.stack) - n
	if from < 0 {
		return nil, errPickleStack
	}
	items := m.stack[from:]
	m.stack = m.stack[:from]
	return items, nil
}

// popMark is popN for what was pushed since the last mark, which goes too.
func (m *pickleMachine) popMark() ([]any, error) {
	for i := len(m.stack) - 1; i >= 0; i-- {
		if _, ok := m.stack[i].(pickleMark); ok {
			items := m.stack[i+1:]
			m.stack = m.stack[:i]
			return items, nil
		}
	}
	return nil, errors.New("pickle: lacks a mark")
}

// take returns the next n bytes of the program.
func (m *pickleMachine) take(n uint64) ([]byte, error) {
	if n > uint64(len(m.data)) {
		return nil, errPickleEnd
	}
	b := m.data[:n]
	m.data = m.data[n:]
	return b, nil
}

func (m *pickleMachine) number(op byte) error {
	if op == 0x8a { // little-endian, of any length up to 255
		size, err := m.take(1)
		if err != nil {
			return err
		}
		b, err := m.take(uint64(size[0]))
		if err != nil {
			return err
		}
		if len(b) > 8 {
			return errors.New("pickle: an integer is beyond 64 bits")
		}
		var v [8]byte
		if n := copy(v[:], b); n > 0 && b[n-1] >= 0x80 {
			copy(v[n:], bytes.Repeat([]byte{0xff}, 8))
		}
		return m.push(int64(binary.LittleEndian.Uint64(v[:])))
	}
	size := map[byte]uint64{'K': 1, 'M': 2, 'J': 4, 'G': 8}[op]
	b, err := m.take(size)
	if err != nil {
		return err
	}
	switch op {
	case 'K':
		return m.push(int64(b[0]))
	case 'M':
		return m.push(int64(binary.LittleEndian.Uint16(b)))
	case 'J':
		return m.push(int64(int32(binary.LittleEndian.Uint32(b))))
	}
	return m.push(math.Float64frombits(binary.BigEndian.Uint64(b)))
}

// text reads a string with its length before it.
func (m *pickleMachine) text(op byte) (string, error) {
	size := map[byte]uint64{0x8c: 1, 'U': 1, 'X': 4, 'T': 4, 0x8d: 8}[op]
	head, err := m.take(size)
	if err != nil {
		return "", err
	}
	var n [8]byte
	copy(n[:], head)
	b, err := m.take(binary.LittleEndian.Uint64(n[:]))
	return string(b), err
}

// memory keeps the top of the stack, or pushes what was kept.
func (m *pickleMachine) memory(op byte) error {
	at := uint32(len(m.memo))
	if op != 0x94 {
		size := uint64(1)
		if op == 'r' || op == 'j' {
			size = 4
		}
		b, err := m.take(size)
		if err != nil {
			return err
		}
		var n [4]byte
		copy(n[:], b)
		at = binary.LittleEndian.Uint32(n[:])
	}
	if op == 'h' || op == 'j' {
		v, ok := m.memo[at]
		if !ok {
			return fmt.Errorf("pickle: nothing was kept as %d", at)
		}
		return m.push(v)
	}
	if len(m.stack) == 0 {
		return errPickleStack
	}
	m.memo[at] = m.stack[len(m.stack)-1]
	return nil
}

func (m *pickleMachine) tuple(op byte) error {
	var items []any
	var err error
	switch op {
	case 't':
		items, err = m.popMark()
	case 0x85, 0x86, 0x87:
		items, err = m.popN(int(op - 0x84))
	}
	if err != nil {
		return err
	}
	return m.push(pickleTuple(append([]any(nil), items...)))
}

// container makes and fills lists and dictionaries.
func (m *pickleMachine) container(op byte) error {
	var items []any
	var err error
	switch op {
	case ']':
		return m.push(&pickleList{})
	case '}':
		return m.push(&pickleDict{})
	case 'a', 'b':
		items, err = m.popN(1)
	case 's':
		items, err = m.popN(2)
	case 'e', 'u':
		items, err = m.popMark()
	}
	if err != nil {
		return err
	}
	if len(m.stack) == 0 {
		return errPickleStack
	}
	switch target := m.stack[len(m.stack)-1].(type) {
	case *pickleList:
		if op == 'a' || op == 'e' {
			target.items = append(target.items, items...)
			return nil
		}
	case *pickleDict:
		switch op {
		case 's', 'u':
			return target.add(items)
		case 'b':
			return nil // the attributes of an OrderedDict: torch notes versions there
		}
	}
	return errors.New("pickle: fills what is no list or dictionary")
}

// add puts keys and values, by turns, into the dictionary. Others than strings
// occur in what torch notes beside the tensors.
func (d *pickleDict) add(items []any) error {
	if len(items)%2 != 0 {
		return errors.New("pickle: a dictionary's key has no value")
	}
	for i := 0; i < len(items); i += 2 {
		key, ok := items[i].(string)
		if !ok {
			key = "key " + strconv.Itoa(len(d.keys))
		}
		d.keys = append(d.keys, key)
		d.values = append(d.values, items[i+1])
	}
	return nil
}
