package main

import (
	"errors"
	"fmt"
	"time"

	"hark/engine"
	"hark/engine/cpu"
	"hark/engine/cuda"
	"hark/engine/cuda/driver"
	"hark/engine/parakeet"
	"hark/kernels"
)

// deviceFlags choose what models run on.
type deviceFlags struct {
	Device         string        `enum:"auto,cpu,cuda" default:"auto" placeholder:"WORD" help:"What to compute on: ${enum}; auto takes an NVIDIA GPU where there is one that works (default: ${default})."`
	CUDALibrary    string        `name:"cuda-library" placeholder:"FILE" help:"The NVIDIA driver's library (default: libcuda.so.1, where the system finds it)."`
	CuBLAS         string        `name:"cublas" default:"auto" placeholder:"WORD|FILE" help:"What multiplies large matrices on a GPU: auto, cuBLASLt where it is found; off, kernels of our own; or the file of a cuBLASLt (default: ${default})."`
	CUDAStorage    string        `name:"cuda-storage" enum:"f16,bf16" default:"f16" placeholder:"WORD" help:"How a GPU keeps numbers: ${enum} (default: ${default})."`
	CUDACross      string        `name:"cuda-cross" enum:"half,int8" default:"half" placeholder:"WORD" help:"How a GPU keeps what a Whisper has made of a window while it decodes: ${enum}; int8 takes half the memory, and less time in large batches, for a little accuracy (default: ${default})."`
	Precision      string        `enum:"auto,f32,bf16,int8-encoder,int8,int8-fast" default:"auto" placeholder:"WORD" help:"How exactly to compute on the CPU: ${enum}; auto is the fastest that costs a model no more than 0.2 points of word errors (default: ${default})."`
	EncoderContext string        `enum:"auto,full,short" default:"auto" placeholder:"WORD" help:"How much of the silence that pads a window under 30 s a Whisper is shown: ${enum}; short is several times faster for short clips, auto takes it for models that lose nothing by it (default: ${default})."`
	MaxWindow      time.Duration `default:"30s" placeholder:"TIME" help:"Longest stretch of a recording that a Parakeet hears at once, 3s to 5m; the work for each second grows with it (default: ${default})."`
	Threads        int           `placeholder:"N" help:"CPU threads to compute with (default: one for each core)."`
}

// open makes the device.
func (f deviceFlags) open() (*computer, error) {
	if f.Threads < 0 || f.Threads > cpu.MaxThreads {
		return nil, &usage{fmt.Errorf("--threads: want 1 to %d", cpu.MaxThreads)}
	}
	if n := f.maxWindowSamples(); n < parakeet.MinWindowSamples || n > parakeet.MaxWindowSamples {
		return nil, &usage{fmt.Errorf("--max-window: %s is not between 3s and 5m", f.MaxWindow)}
	}
	if _, _, err := kernels.Tier(); err != nil { // the CPU has work beside a GPU too
		return nil, withHint(&usage{err}, "HARK_CPU can stay unset: the fastest code for this CPU is then used")
	}
	why := "asked for by --device"
	if f.Device != "cpu" {
		gpu, err := f.openGPU()
		switch {
		case err == nil && f.Device == "auto":
			return &computer{gpu: gpu, why: "the first NVIDIA GPU"}, nil
		case err == nil:
			return &computer{gpu: gpu, why: why}, nil
		case errors.Is(err, driver.ErrNoBLAS): // it was named, or its want would be no error
			return nil, refusedGPU("--cublas", err, "--cublas off does without")
		case f.Device == "cuda":
			return nil, refusedGPU("--device cuda", err, "--device cpu does without a GPU")
		case f.CUDALibrary != "":
			return nil, refusedGPU("--cuda-library", err, "--device cpu does without a GPU")
		}
		why = err.Error()
	}
	device, err := cpu.New(cpu.Config{Threads: f.Threads})
	if err != nil {
		return nil, err
	}
	return &computer{cpu: device, why: why}, nil
}

// openGPU opens the first GPU and has it tried.
func (f deviceFlags) openGPU() (*cuda.Device, error) {
	storage, err := cuda.ParseStorage(f.CUDAStorage)
	if err != nil {
		return nil, err
	}
	gpu, err := cuda.New(cuda.Config{
		Driver: driver.Config{Library: f.CUDALibrary}, Storage: storage, CuBLAS: f.CuBLAS,
		CrossBytes: f.CUDACross == "int8",
	})
	if err != nil {
		return nil, err
	}
	if err := gpu.SelfTest(); err != nil {
		gpu.Close()
		return nil, err
	}
	return gpu, nil
}

// refusedGPU is an error about something that a flag asked for, with what would help and how to do without.
func refusedGPU(flag string, err error, without string) error {
	help := "`hark doctor` says more"
	var refusal *driver.Refusal
	if errors.As(err, &refusal) && refusal.Hint != "" {
		help = refusal.Hint
	}
	return withHint(fmt.Errorf("%s: %w", flag, err), "%s; %s", help, without)
}

func (f deviceFlags) maxWindowSamples() int {
	return int(f.MaxWindow * engine.SampleRate / time.Second)
}
