package main

import (
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

// sampleOf is a WAV of so many seconds of the sample, over and over.
func sampleOf(seconds float64) []byte {
	sound := sample[wavHeader:]
	size := 2 * int(seconds*engine.SampleRate)
	wav := slices.Grow(slices.Clone(sample[:wavHeader]), size)
	for size > 0 {
		n := min(size, len(sound))
		wav = append(wav, sound[:n]...)
		size -= n
	}
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
