package driver

import (
	"bytes"
	"fmt"
	"unsafe"
)

// GPU describes one device of the driver's.
type GPU struct {
	// Ordinal is its place in the driver's order, from 0; CUDA_VISIBLE_DEVICES changes it.
	Ordinal int
	Name    string
	// Major and Minor are its compute capability: 8.9 is Ada.
	Major, Minor int
	// SMs is how many streaming multiprocessors it has.
	SMs int
	// MemoryBytes is all its memory; SharedBytes the most shared memory of one block; L2Bytes its cache.
	MemoryBytes          int64
	SharedBytes, L2Bytes int

	handle int32
}

// Capability is the compute capability as one number: 89 for 8.9.
func (g GPU) Capability() int { return 10*g.Major + g.Minor }

// OldestCapability is that of the oldest GPUs that are used: Turing's 7.5, the first whose
// tensor cores multiply as the kernels do.
const OldestCapability = 75

// What cuDeviceGetAttribute is asked for (CUdevice_attribute in cuda.h of CUDA 12.0).
const (
	attributeSMs    = 16
	attributeL2     = 38
	attributeMajor  = 75
	attributeMinor  = 76
	attributeShared = 97
)

// Devices lists the GPUs, also those too old to be used. The error is a *[Refusal]; it
// wraps [ErrNoGPU] if there is none.
func (d *Driver) Devices() ([]GPU, error) {
	var count int32
	// cuDeviceGetCount(int *count)
	if err := d.check("cuDeviceGetCount", call(d.fn.deviceGetCount, uintptr(unsafe.Pointer(&count)))); err != nil {
		return nil, &Refusal{Reason: ErrUnusable, Detail: d.path, Cause: err}
	}
	if count == 0 {
		return nil, &Refusal{Reason: ErrNoGPU, Detail: d.path + " sees none", Hint: "CUDA_VISIBLE_DEVICES may hide it"}
	}
	gpus := make([]GPU, count)
	for i := range gpus {
		g, err := d.examine(i)
		if err != nil {
			return nil, &Refusal{Reason: ErrUnusable, Detail: fmt.Sprintf("GPU %d", i), Cause: err}
		}
		gpus[i] = g
	}
	return gpus, nil
}

// examine asks for everything that is known of a GPU.
func (d *Driver) examine(ordinal int) (GPU, error) {
	g := GPU{Ordinal: ordinal}
	var handle int32
	// cuDeviceGet(CUdevice *device, int ordinal)
	if err := d.check("cuDeviceGet", call(d.fn.deviceGet, uintptr(unsafe.Pointer(&handle)),
		uintptr(ordinal))); err != nil {
		return g, err
	}
	g.handle = handle
	var name [256]byte
	// cuDeviceGetName(char *name, int len, CUdevice dev)
	if err := d.check("cuDeviceGetName", call(d.fn.deviceGetName, uintptr(unsafe.Pointer(&name)), uintptr(len(name)),
		uintptr(handle))); err != nil {
		return g, err
	}
	text, _, _ := bytes.Cut(name[:], []byte{0})
	g.Name = string(text)
	var total uint64
	// cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev)
	if err := d.check("cuDeviceTotalMem_v2", call(d.fn.deviceTotalMem, uintptr(unsafe.Pointer(&total)),
		uintptr(handle))); err != nil {
		return g, err
	}
	g.MemoryBytes = int64(total)
	for _, a := range []struct {
		dst       *int
		attribute uintptr
	}{
		{&g.Major, attributeMajor}, {&g.Minor, attributeMinor}, {&g.SMs, attributeSMs},
		{&g.SharedBytes, attributeShared}, {&g.L2Bytes, attributeL2},
	} {
		var value int32
		// cuDeviceGetAttribute(int *pi, CUdevice_attribute attrib, CUdevice dev)
		if err := d.check("cuDeviceGetAttribute",
			call(d.fn.deviceGetAttribute, uintptr(unsafe.Pointer(&value)), a.attribute, uintptr(handle))); err != nil {
			return g, err
		}
		*a.dst = int(value)
	}
	return g, nil
}
