package main

import (
	"hark/engine"
	"hark/engine/cpu"
	"hark/engine/cuda"
)

// computer is what models run on: a GPU, or else the CPU.
type computer struct {
	cpu *cpu.Device  // nil with a GPU
	gpu *cuda.Device // nil without
	why string       // it is this one, in a few words
}

// info says what the device is.
func (c *computer) info() engine.DeviceInfo {
	if c.gpu != nil {
		return c.gpu.Info()
	}
	return c.cpu.Info()
}

// close gives the device back, after the last model on it.
func (c *computer) close() {
	if c.gpu != nil {
		c.gpu.Close()
		return
	}
	c.cpu.Close()
}

// forModel is the device as one model is to see it. What the model makes on it goes back by release.
func (c *computer) forModel(p cpu.Precision) (device engine.Device, release func(), err error) {
	if c.gpu == nil {
		return c.cpu.At(p), func() {}, nil
	}
	gpu, err := c.gpu.Model()
	if err != nil {
		return nil, nil, err
	}
	return gpu, gpu.Close, nil
}

// weightBytes is what a weight takes in memory.
func (c *computer) weightBytes() int64 {
	if c.gpu != nil {
		return 2
	}
	return 4
}

// releasingModel is a model that gives its device back.
type releasingModel struct {
	engine.Model
	release func()
}

func (m *releasingModel) Close() error {
	defer m.release()
	return m.Model.Close()
}
