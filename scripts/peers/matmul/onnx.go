//go:build linux && (amd64 || arm64)

package main

import (
	"encoding/binary"
	"math"
	"unsafe"
)

// Types of elements in ONNX (TensorProto.DataType).
const (
	onnxFloat = 1
	onnxInt8  = 3
)

// Versions that a model names: of the format, of ONNX's operators and of Microsoft's.
const (
	irVersion = 9
	opset     = 17
	msDomain  = "com.microsoft"
)

// message is a protobuf message that is being written. Numbers of fields are onnx.proto's.
type message []byte

func (m message) number(field, v int) message {
	m = binary.AppendUvarint(m, uint64(field)<<3)
	return binary.AppendUvarint(m, uint64(v))
}

func (m message) bytes(field int, v []byte) message {
	m = binary.AppendUvarint(m, uint64(field)<<3|2)
	m = binary.AppendUvarint(m, uint64(len(v)))
	return append(m, v...)
}

func (m message) text(field int, v string) message { return m.bytes(field, []byte(v)) }

// tensorProto is a constant.
func tensorProto(name string, kind int, dims []int, data []byte) message {
	var m message
	for _, d := range dims {
		m = m.number(1, d)
	}
	return m.number(2, kind).text(8, name).bytes(9, data)
}

// valueInfo is an input or output of floats.
func valueInfo(name string, dims ...int) message {
	var shape message
	for _, d := range dims {
		shape = shape.bytes(1, message{}.number(1, d))
	}
	tensor := message{}.number(1, onnxFloat).bytes(2, shape)
	return message{}.text(1, name).bytes(2, message{}.bytes(1, tensor))
}

// oneOp is a model of one operation, y = op(x, constants…), whose constants are named in constants' order.
func oneOp(s shape, op, domain string, names []string, constants ...message) []byte {
	node := message{}.text(1, "x")
	for _, n := range names {
		node = node.text(1, n)
	}
	node = node.text(2, "y").text(4, op).text(7, domain)
	graph := message{}.bytes(1, node).text(2, "product")
	for _, c := range constants {
		graph = graph.bytes(5, c)
	}
	graph = graph.bytes(11, valueInfo("x", s.m, s.k)).bytes(12, valueInfo("y", s.m, s.n))
	return message{}.number(1, irVersion).bytes(7, graph).
		bytes(8, message{}.text(1, "").number(2, opset)).bytes(8, message{}.text(1, msDomain).number(2, 1))
}

// floatModel is MatMul of x and the transpose of w, [n][k].
func floatModel(s shape, w []float32) []byte {
	turned := make([]float32, len(w))
	for j := range s.n {
		for i := range s.k {
			turned[i*s.n+j] = w[j*s.k+i]
		}
	}
	return oneOp(s, "MatMul", "", []string{"w"}, tensorProto("w", onnxFloat, []int{s.k, s.n}, rawFloats(turned)))
}

// byteModel is DynamicQuantizeMatMul, which makes rows bytes, multiplies them by w in bytes and scales the sums.
func byteModel(s shape, w []float32) []byte {
	turned, scales := make([]byte, len(w)), make([]float32, s.n)
	for j := range s.n {
		row := w[j*s.k:][:s.k]
		greatest := 0.0
		for _, v := range row {
			greatest = max(greatest, math.Abs(float64(v)))
		}
		scales[j] = float32(greatest / 127)
		for i, v := range row {
			turned[i*s.n+j] = byte(int8(math.Round(float64(v) / greatest * 127)))
		}
	}
	return oneOp(s, "DynamicQuantizeMatMul", msDomain, []string{"w", "scales"},
		tensorProto("w", onnxInt8, []int{s.k, s.n}, turned), tensorProto("scales", onnxFloat, []int{s.n}, rawFloats(scales)))
}

// rawFloats is the memory of x; amd64 and arm64 are little-endian, as ONNX's raw data is.
func rawFloats(x []float32) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(&x[0])), 4*len(x)) }
