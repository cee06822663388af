package main

import (
	"bytes"
	"encoding/binary"
	"testing"

	"hark/engine"
)

// TestSampleOf holds the long sample to its length, and to pauses that keep two copies of the text out of one window of
// a Whisper.
func TestSampleOf(t *testing.T) {
	const seconds = 70
	wav := sampleOf(seconds)
	sound, want := wav[wavHeader:], 2*seconds*engine.SampleRate
	if len(sound) != want || int(binary.LittleEndian.Uint32(wav[wavHeader-4:])) != want ||
		int(binary.LittleEndian.Uint32(wav[4:])) != len(wav)-8 {
		t.Fatalf("%d bytes of sound, header % x; want %d", len(sound), wav[:wavHeader], want)
	}
	copied := sample[wavHeader:]
	second := bytes.Index(sound[len(copied):], copied)
	if !bytes.HasPrefix(sound, copied) || second < 0 {
		t.Fatal("the sample is not in it twice")
	}
	if fits := 2*len(copied) + second; fits <= 2*30*engine.SampleRate {
		t.Errorf("two copies take %d bytes: both fit into a window", fits)
	}
}
