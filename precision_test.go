package main

import (
	"testing"

	"hark/engine/cpu"
)

func TestPrecisionFor(t *testing.T) {
	for _, c := range []struct {
		word, model string
		want        cpu.Precision
	}{
		{"auto", "tiny.en", cpu.Int8Encoder}, {"auto", "base", cpu.Int8}, {"auto", "never-counted", defaultPrecision},
		{"f32", "base", cpu.F32}, {"bf16", "base", cpu.BF16}, {"int8-encoder", "base", cpu.Int8Encoder}, {"int8", "base", cpu.Int8}, {"int8-fast", "base", cpu.Int8Fast},
	} {
		if got := precisionFor(c.word, c.model); got != c.want {
			t.Errorf("%s for %s: got %v, want %v", c.word, c.model, got, c.want)
		}
	}
}

// TestPrecisionCostsTooMuch has a model that loses more by bytes than auto allows.
func TestPrecisionCostsTooMuch(t *testing.T) {
	const model = "crude"
	wordErrors[model] = map[cpu.Precision]counted{cpu.F32: {clips: 50}, cpu.Int8: {clips: 56}}
	defer delete(wordErrors, model)
	if got := precisionFor("auto", model); got != cpu.F32 {
		t.Errorf("0.22 points more: got %v, want f32", got)
	}
	wordErrors[model][cpu.Int8Encoder] = counted{clips: 55}
	if got := precisionFor("auto", model); got != cpu.Int8Encoder {
		t.Errorf("0.18 points more by the encoder: got %v, want int8-encoder", got)
	}
	wordErrors[model][cpu.Int8] = counted{clips: 55}
	if got := precisionFor("auto", model); got != cpu.Int8 {
		t.Errorf("0.18 points more: got %v, want int8", got)
	}
	wordErrors[model][cpu.Int8] = counted{sequential: 3}
	if got := precisionFor("auto", model); got != cpu.Int8Encoder {
		t.Errorf("0.28 points more in one of three: got %v, want int8-encoder", got)
	}
}
