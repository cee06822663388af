package main

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"slices"

	"hark/engine"
)

// sample is speech made for this repository: a WAV of 13.3 s, mono, 16 kHz, 16 bits, with a header of 44 bytes.
//
//go:embed testdata/sample.wav
var sample []byte

const wavHeader = 44

// samplePause is how many seconds of silence follow each copy of the sample: with them two copies don't fit into the 30 s
// that a Whisper hears at once. It takes a text that repeats itself for unsound, and decodes it again and again.
const samplePause = 4

// sampleOf is a WAV of so many seconds of the sample, over and over, with pauses.
func sampleOf(seconds int) []byte {
	sound := append(slices.Clone(sample[wavHeader:]), make([]byte, 2*samplePause*engine.SampleRate)...)
	size := 2 * seconds * engine.SampleRate
	wav := slices.Concat(sample[:wavHeader], bytes.Repeat(sound, size/len(sound)+1)[:size])
	binary.LittleEndian.PutUint32(wav[4:], uint32(len(wav)-8))
	binary.LittleEndian.PutUint32(wav[wavHeader-4:], uint32(len(wav)-wavHeader))
	return wav
}

// sampleSound is the first seconds of the sample.
func sampleSound(seconds int) []float32 {
	sound := make([]float32, seconds*engine.SampleRate)
	for i := range sound {
		sound[i] = float32(int16(binary.LittleEndian.Uint16(sample[wavHeader+2*i:]))) / 32768
	}
	return sound
}
