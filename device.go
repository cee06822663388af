package main

import (
	"errors"
	"fmt"
	"time"

	"hark/engine"
	"hark/engine/cpu"
	"hark/engine/parakeet"
)

// deviceFlags choose what models run on.
type deviceFlags struct {
	Device         string        `enum:"auto,cpu,cuda" default:"auto" placeholder:"WORD" help:"What to compute on: ${enum}; auto takes the best there is (default: ${default})."`
	Precision      string        `enum:"auto,f32,int8,int8-fast" default:"auto" placeholder:"WORD" help:"How exactly to compute on the CPU: ${enum}; auto is the fastest that costs a model no more than 0.2 points of word errors (default: ${default})."`
	EncoderContext string        `enum:"auto,full,short" default:"auto" placeholder:"WORD" help:"How much of the silence that pads a window under 30 s a Whisper is shown: ${enum}; short is several times faster for short clips, auto takes it for models that lose nothing by it (default: ${default})."`
	MaxWindow      time.Duration `default:"30s" placeholder:"TIME" help:"Longest stretch of a recording that a Parakeet hears at once, 3s to 5m; the work for each second grows with it (default: ${default})."`
	Threads        int           `placeholder:"N" help:"CPU threads to compute with (default: one for each core)."`
}

// open makes the device, and says in a few words why it is this one.
func (f deviceFlags) open() (device *cpu.Device, why string, err error) {
	why = "this build has no CUDA device"
	switch f.Device {
	case "cuda":
		return nil, "", withHint(errors.New("--device cuda: this build has no CUDA device"), "use --device auto, which takes the CPU")
	case "cpu":
		why = "asked for by --device"
	}
	if f.Threads < 0 {
		return nil, "", &usage{errors.New("--threads: want 1 or more")}
	}
	if n := f.maxWindowSamples(); n < parakeet.MinWindowSamples || n > parakeet.MaxWindowSamples {
		return nil, "", &usage{fmt.Errorf("--max-window: %s is not between 3s and 5m", f.MaxWindow)}
	}
	device, err = cpu.New(cpu.Config{Threads: f.Threads})
	if err != nil {
		return nil, "", withHint(err, "HARK_CPU can stay unset: the fastest code for this CPU is then used")
	}
	return device, why, nil
}

func (f deviceFlags) maxWindowSamples() int {
	return int(f.MaxWindow * engine.SampleRate / time.Second)
}
