package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"hark/engine/cpu"
)

// defaultPrecision is for models whose word errors nobody has counted. Int8's weights are as fine as those of
// CTranslate2's int8, which Whispers of every size are commonly run in, and its activations finer: an encoder's output
// differs from float32's by a third to a half as much (see TestPrecisions in engine/whisper).
const defaultPrecision = cpu.Int8

// counted is what a model does to the corpus in a precision: word errors among clipWords of 167 clips in the whole
// encoder context, and among longWords of three long recordings, decoded sequentially and cut at silence
// (scripts/wer-options.py and scripts/wer.sh, with HARK_PRECISION set, avx512-vnni).
type counted struct{ clips, sequential, windowed int }

const clipWords, longWords = 2733, 1073

// wordErrors are the models that were counted.
var wordErrors = map[string]map[cpu.Precision]counted{
	"tiny.en": {
		cpu.F32:         {234, 183, 161},
		cpu.BF16:        {234, 182, 158},
		cpu.Int8Encoder: {233, 177, 159},
		cpu.Int8:        {252, 186, 175},
	},
	"base": {
		cpu.F32:  {202, 149, 130},
		cpu.BF16: {205, 146, 130},
		cpu.Int8: {202, 146, 131},
	},
}

// costs is how many points more than another's the word error rates are, where it's worst: what clips lose, long
// recordings may gain by chance.
func (c counted) costs(other counted) float64 {
	points := func(errors, words int) float64 { return 100 * float64(errors) / float64(words) }
	return max(points(c.clips-other.clips, clipWords),
		points(c.sequential-other.sequential, longWords), points(c.windowed-other.windowed, longWords))
}

// describePrecision says what a value of --precision comes to.
func describePrecision(word string) string {
	if word != "auto" {
		return word + ": asked for by --precision"
	}
	chosen := map[cpu.Precision][]string{}
	for _, model := range slices.Sorted(maps.Keys(wordErrors)) {
		p := precisionFor(word, model)
		chosen[p] = append(chosen[p], model)
	}
	var parts []string
	for _, p := range slices.Sorted(maps.Keys(chosen)) {
		parts = append(parts, fmt.Sprintf("%s for %s", p, strings.Join(chosen[p], ", ")))
	}
	return strings.Join(append(parts,
		fmt.Sprintf("%s for models whose word errors were not counted", defaultPrecision)), "; ")
}

// fastest are the precisions that auto chooses from, before F32. Int8Fast isn't among them: its integers, and so its
// errors, are not the same on all CPUs.
var fastest = []cpu.Precision{cpu.Int8, cpu.Int8Encoder}

// precisionFor is the precision that a model is loaded in. word is a value of --precision; auto is the fastest that
// costs at most 0.2 points in clips and in long recordings.
func precisionFor(word, model string) cpu.Precision {
	if p, ok := cpu.ParsePrecision(word); ok {
		return p
	}
	counts, ok := wordErrors[model]
	if !ok {
		return defaultPrecision
	}
	for _, p := range fastest {
		if c, ok := counts[p]; ok && c.costs(counts[cpu.F32]) <= 0.2 {
			return p
		}
	}
	return cpu.F32
}
