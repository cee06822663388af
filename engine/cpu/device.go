// Package cpu is the [engine.Device] that computes on the machine's own cores.
//
// Numbers are float32 between operations; what weights are, and what is multiplied, says [Precision]. The arithmetic is
// package kernels'; what is done here is to cut each operation in blocks and to spread them over a fixed set of
// threads. A block is a run of rows (of positions, of queries), or, where there are few rows as in a decoder's step, a
// run of columns. Since every kernel's result for a row depends on that row alone, it matters neither how an operation
// was cut nor how many threads there are: results are the same to the bit.
//
// Operations are done when they return; nothing is queued. In a steady state they allocate
// nothing but what they return: the structs that describe an operation to the
// threads are kept for the next one, with the scratch they have grown.
//
// A Device may be used by several goroutines. The threads serve one operation at a time; an
// operation that finds them busy is done by its caller alone.
package cpu

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strings"

	"hark/engine"
	"hark/kernels"
)

// Device computes on the CPU. Devices made by [Device.At] share its threads.
type Device struct {
	*machine
	precision Precision
}

// machine is what devices of any precision share.
type machine struct {
	info engine.DeviceInfo
	pool *pool

	linears    spare[linearTask]
	convs      spare[convTask]
	norms      spare[normTask]
	attentions spare[attentionTask]
	cacheds    spare[cachedTask]
	copies     spare[copyTask]
	crosses    spare[crossTask]
	selects    spare[selectTask]
	probs      spare[probTask]
	subsamples spare[subsampleTask]
	gateds     spare[gatedTask]
	relatives  spare[relativeTask]
	lstms      spare[lstmTask]
	peaks      spare[peaksTask]
}

var (
	_ engine.Device     = (*Device)(nil)
	_ engine.HalfDevice = (*Device)(nil)
	_ engine.StepDevice = (*Device)(nil)
)

// MaxThreads is how many threads a device may have. Each of them has scratch of its own.
const MaxThreads = 1024

// Config says how a device computes. The zero value is float32 on all cores.
type Config struct {
	// Threads is how many threads compute, at most MaxThreads; 0 means as many as Go may use (GOMAXPROCS).
	Threads int
	// Precision is that of the weights, and so of the work on them.
	Precision Precision
}

// New makes a device. The error is that of a number of threads that can't be, or of a
// HARK_CPU that names no usable kind of code.
func New(c Config) (*Device, error) {
	threads := c.Threads
	if threads < 0 || threads > MaxThreads {
		return nil, fmt.Errorf("cpu: %d threads: want 1 to %d, or 0 for all cores", threads, MaxThreads)
	}
	if threads == 0 {
		threads = min(runtime.GOMAXPROCS(0), MaxThreads)
	}
	tier, _, err := kernels.Tier()
	if err != nil {
		return nil, fmt.Errorf("cpu: %w", err)
	}
	unit := "threads"
	if threads == 1 {
		unit = "thread"
	}
	info := engine.DeviceInfo{
		Kind:   "cpu",
		Name:   ProcessorName(),
		Detail: fmt.Sprintf("%s, %d %s", tier, threads, unit),
		// Several windows at once would only push each other out of the caches.
		EncodeGroup: 1,
	}
	return &Device{&machine{info: info, pool: newPool(threads)}, c.Precision}, nil
}

// At returns the device with another precision for what is made from now on. It is the same threads: closing one closes
// both. Handles of any precision work on all.
func (d *Device) At(p Precision) *Device { return &Device{d.machine, p} }

// ForSteps is the device for the weights of a decoder's steps.
func (d *Device) ForSteps() engine.Device {
	if d.precision == Int8Encoder {
		return d.At(int8Output)
	}
	return d
}

// Precision is that of the weights made now.
func (d *Device) Precision() Precision { return d.precision }

// Threads is how many threads compute.
func (d *Device) Threads() int { return d.pool.threads }

// Close ends the device's threads. No operation may be under way.
func (d *Device) Close() { d.pool.close() }

// Info says what the device is.
func (d *Device) Info() engine.DeviceInfo { return d.info }

// ProcessorName is the model that Linux reports, or the architecture.
func ProcessorName() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if key, name, ok := strings.Cut(s.Text(), ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.Join(strings.Fields(name), " ")
		}
	}
	return runtime.GOARCH
}

// activation is the kernels' name of an activation.
func activation(a engine.Activation) kernels.Activation {
	switch a {
	case engine.NoActivation:
		return kernels.ActNone
	case engine.GELU:
		return kernels.ActGELU
	case engine.ReLU:
		return kernels.ActReLU
	case engine.SiLU:
		return kernels.ActSiLU
	}
	panic(fmt.Sprintf("cpu: activation %d is unknown", a))
}
