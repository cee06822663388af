package models

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// A SentencePiece model is a protocol buffer (src/sentencepiece_model.proto in
// google/sentencepiece; https://protobuf.dev/programming-guides/encoding). Of
// its fields these matter here:
//
//	ModelProto      1 pieces, 2 trainer_spec, 3 normalizer_spec
//	SentencePiece   1 piece, 2 score, 3 type
//	TrainerSpec     3 model_type
//	NormalizerSpec  2 precompiled_charsmap, 3 add_dummy_prefix, 4 remove_extra_whitespaces
const (
	modelUnigram = 1
	modelBPE     = 2
)

// maxPieces bounds a vocabulary; the largest of a published model is 8192.
const maxPieces = 1 << 18

// parseSentencePiece reads a SentencePiece model.
func parseSentencePiece(data []byte) (*PieceTokenizer, error) {
	model := int64(modelUnigram)
	var pieces []piece
	var normalizer pieceNormalizer
	normalizer.prefix, normalizer.collapse = true, true
	err := eachField(data, func(field int, value protoValue) error {
		switch field {
		case 1:
			if len(pieces) == maxPieces {
				return fmt.Errorf("more than %d pieces", maxPieces)
			}
			p, err := parsePiece(value.bytes)
			pieces = append(pieces, p)
			return err
		case 2:
			return eachField(value.bytes, func(field int, value protoValue) error {
				if field == 3 {
					model = int64(value.number)
				}
				return nil
			})
		case 3:
			return normalizer.parse(value.bytes)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(pieces) == 0 {
		return nil, errors.New("has no pieces: it is no SentencePiece model")
	}
	if model != modelUnigram && model != modelBPE {
		return nil, fmt.Errorf("model type %d: only unigram and BPE are read", model)
	}
	return newPieceTokenizer(pieces, model == modelUnigram, normalizer), nil
}

func parsePiece(data []byte) (piece, error) {
	p := piece{kind: normalPiece}
	err := eachField(data, func(field int, value protoValue) error {
		switch field {
		case 1:
			p.text = string(value.bytes)
		case 2:
			p.score = math.Float32frombits(uint32(value.number))
		case 3:
			if value.number < uint64(normalPiece) || value.number > uint64(bytePiece) {
				return fmt.Errorf("piece %.100q is of the unknown type %d", p.text, value.number)
			}
			p.kind = pieceKind(value.number)
		}
		return nil
	})
	return p, err
}

func (n *pieceNormalizer) parse(data []byte) error {
	return eachField(data, func(field int, value protoValue) (err error) {
		switch field {
		case 2:
			n.chars, err = parseCharsmap(value.bytes)
		case 3:
			n.prefix = value.number != 0
		case 4:
			n.collapse = value.number != 0
		}
		return err
	})
}

// protoValue is a field's value: a number, or the bytes of a string or message.
type protoValue struct {
	number uint64
	bytes  []byte
}

var errProto = errors.New("is no protocol buffer, or a truncated one")

// eachField calls visit for every field of a message, in the order of the file.
func eachField(data []byte, visit func(field int, value protoValue) error) error {
	for len(data) > 0 {
		key, n := binary.Uvarint(data)
		if n <= 0 || key>>3 == 0 || key>>3 > 1<<29-1 {
			return errProto
		}
		data = data[n:]
		var value protoValue
		size := 0
		switch key & 7 { // the wire type
		case 0:
			if value.number, size = binary.Uvarint(data); size <= 0 {
				return errProto
			}
		case 1:
			if size = 8; len(data) < size {
				return errProto
			}
			value.number = binary.LittleEndian.Uint64(data)
		case 5:
			if size = 4; len(data) < size {
				return errProto
			}
			value.number = uint64(binary.LittleEndian.Uint32(data))
		case 2:
			length, n := binary.Uvarint(data)
			if n <= 0 || length > uint64(len(data)-n) {
				return errProto
			}
			size = n + int(length)
			value.bytes = data[n:size]
		default: // groups, which the format has none of
			return errProto
		}
		if err := visit(int(key>>3), value); err != nil {
			return err
		}
		data = data[size:]
	}
	return nil
}
