package main

import "hark/engine/cpu"

// defaultPrecision is what a model that is not in the table gets from --precision=auto: weights in bytes, but activations as exact as
// those.
const defaultPrecision = cpu.F32

// precisions is the fastest precision for each model whose word errors stay within 0.2 points of float32's.
var precisions = map[string]cpu.Precision{}

// precisionFor is the precision that a model is loaded in. word is a value of --precision.
func precisionFor(word, model string) cpu.Precision {
	if p, ok := cpu.ParsePrecision(word); ok {
		return p
	}
	if p, ok := precisions[model]; ok {
		return p
	}
	return defaultPrecision
}
