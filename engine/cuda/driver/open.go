package driver

import (
	"fmt"
	"unsafe"
)

// OldestDriver is the oldest driver that is used, as cuDriverGetVersion gives it: CUDA 12.0, which came with driver
// 525. The kernels' PTX is of version 8.0, which older ones don't read.
const OldestDriver Version = 12000

// Version is a version of CUDA: 1000 * major + 10 * minor.
type Version int

func (v Version) String() string { return fmt.Sprintf("%d.%d", v/1000, v%1000/10) }

// Config says where the driver is. The zero value looks in the usual places.
type Config struct {
	// Library is the file or soname of the driver's library; empty: libcuda.so.1, by the
	// loader, then in the usual folders.
	Library string
}

// Driver is the opened library. It's safe for concurrent use. It is never closed: NVIDIA's libraries don't take to it.
type Driver struct {
	fn      functions
	path    string
	version Version
}

// Open finds the driver and wakes it up. The error is a *[Refusal].
func Open(c Config) (*Driver, error) {
	if !built {
		return nil, &Refusal{Reason: ErrNotBuilt, Hint: "use a build for Linux that was not made with -tags nocuda"}
	}
	lib, err := open(c.Library, []string{"libcuda.so.1"}, driverFolders)
	if err != nil {
		return nil, &Refusal{Reason: ErrNoLibrary, Cause: err,
			Hint: "install NVIDIA's driver, 525 or newer; in a container, start it with the GPU (docker run --gpus all)"}
	}
	d := &Driver{path: lib.path}
	if err := lib.resolve(d.fn.first()); err != nil {
		return nil, &Refusal{Reason: ErrNoLibrary, Detail: lib.path, Cause: err,
			Hint: "name the driver's own libcuda.so.1"}
	}
	var version int32
	if err := d.check("cuDriverGetVersion", call(d.fn.driverGetVersion,
		uintptr(unsafe.Pointer(&version)))); err != nil {
		return nil, &Refusal{Reason: ErrUnusable, Detail: lib.path, Cause: err}
	}
	if d.version = Version(version); d.version < OldestDriver {
		return nil, &Refusal{Reason: ErrOldDriver,
			Detail: fmt.Sprintf("%s is for CUDA %s; %s is needed", lib.path, d.version, OldestDriver),
			Hint:   "update the driver to 525 or newer"}
	}
	if err := lib.resolve(d.fn.all()); err != nil {
		return nil, &Refusal{Reason: ErrUnusable, Detail: fmt.Sprintf("%s (CUDA %s)", lib.path, d.version), Cause: err}
	}
	// cuInit(0)
	if err := d.check("cuInit", call(d.fn.init, 0)); err != nil {
		switch {
		case IsStatus(err, NoDevice):
			return nil, &Refusal{Reason: ErrNoGPU, Detail: lib.path, Cause: err}
		case IsStatus(err, StubLibrary):
			return nil, &Refusal{Reason: ErrNoLibrary,
				Detail: lib.path + " is the toolkit's stand-in, not the driver", Cause: err}
		}
		return nil, &Refusal{Reason: ErrUnusable, Detail: lib.path, Cause: err, Hint: "nvidia-smi says more"}
	}
	return d, nil
}

// Path is the file that the driver's library was loaded from.
func (d *Driver) Path() string { return d.path }

// Version is the newest version of CUDA that the driver knows.
func (d *Driver) Version() Version { return d.version }

// check makes an error of a status.
func (d *Driver) check(name string, status uintptr) error {
	s := Status(int32(status))
	if s == Success {
		return nil
	}
	return &Error{Call: name, Status: s, Name: d.statusName(s)}
}

// statusName is what the driver calls a status.
func (d *Driver) statusName(s Status) string {
	const unknown = "unknown error"
	if d.fn.getErrorName == 0 {
		return unknown
	}
	var name *byte
	// cuGetErrorName(CUresult error, const char **pStr)
	if call(d.fn.getErrorName, uintptr(s), uintptr(unsafe.Pointer(&name))) != 0 || name == nil {
		return unknown
	}
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(name), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(name, n))
}
