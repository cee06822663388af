//go:build linux && (amd64 || arm64)

package main

import (
	"math"
	"sync"
	"time"

	"hark/engine"
	"hark/engine/cpu"
	"hark/kernels"
)

// manyRows is from how many rows on weights in halves are left out: they are for a decoder's steps.
const manyRows = 64

// harkSide computes with hark's own device.
type harkSide struct{ device *cpu.Device }

func newHark(threads int) (*harkSide, error) {
	d, err := cpu.New(cpu.Config{Threads: threads})
	return &harkSide{d}, err
}

func (h *harkSide) describe() string {
	info := h.device.Info()
	return info.Name + ", " + info.Detail
}

func (h *harkSide) contenders(s shape, x, w []float32) ([]contender, error) {
	f32, err := h.product(cpu.F32, s, x, w)
	if err != nil {
		return nil, err
	}
	int8, err := h.product(cpu.Int8, s, x, w)
	if err != nil {
		return nil, err
	}
	all := []contender{{"hark f32", 1e-5, f32}, {"hark int8", 0.02, int8}}
	if s.m < manyRows {
		halves, err := h.product(cpu.F32, s, x, cut(w))
		if err != nil {
			return nil, err
		}
		all = append(all, contender{"hark halves", 1e-3, halves})
	}
	return all, nil
}

// cut is w with numbers that are halves: sign, ten bits behind the point, and an exponent that a half has, as a normal distribution's are
// but for a few next to nothing.
func cut(w []float32) []float32 {
	c := make([]float32, len(w))
	for i, v := range w {
		if math.Abs(float64(v)) >= 1<<10*0x1p-24 {
			c[i] = math.Float32frombits((math.Float32bits(v) + 1<<12) &^ (1<<13 - 1))
		}
	}
	return c
}

// harkProduct is a linear layer and its tensors.
type harkProduct struct {
	device *cpu.Device
	w      engine.Linear
	x, y   engine.Tensor
}

func (h *harkSide) product(p cpu.Precision, s shape, x, w []float32) (*harkProduct, error) {
	d := h.device.At(p)
	linear, err := d.NewLinear(w, nil, s.n, s.k)
	if err != nil {
		return nil, err
	}
	in, err := d.Alloc(s.m * s.k)
	if err != nil {
		return nil, err
	}
	out, err := d.Alloc(s.m * s.n)
	if err != nil {
		return nil, err
	}
	product := &harkProduct{d, linear, engine.NewTensor(in, s.m, s.k), engine.NewTensor(out, s.m, s.n)}
	d.Upload(product.x, x)
	return product, nil
}

func (p *harkProduct) multiply() error {
	p.device.Linear(p.y, p.x, p.w, engine.NoActivation, engine.Tensor{})
	return nil
}

func (p *harkProduct) result() ([]float32, error) {
	y := make([]float32, p.y.Rows*p.y.Cols)
	return y, p.device.Download(y, p.y)
}

// peak is what so many threads can do at once in float32, in billions of operations a second.
func peak(threads int) float64 {
	rates := make([]float64, threads)
	var wg sync.WaitGroup
	for i := range rates {
		wg.Go(func() { rates[i] = kernels.PeakFLOPS(300 * time.Millisecond) })
	}
	wg.Wait()
	sum := 0.0
	for _, r := range rates {
		sum += r
	}
	return sum / 1e9
}
