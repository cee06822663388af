package driver

import (
	"bytes"
	"fmt"
	"unsafe"
)

// Handles of the driver's. The zero value is none.
type (
	// Module is a loaded set of kernels.
	Module uintptr
	// Function is a kernel.
	Function uintptr
)

// Dim3 is the extent of a grid in blocks, or of a block in threads.
type Dim3 struct{ X, Y, Z int }

// maxParameters is how many parameters a kernel may have here.
const maxParameters = 64

// Attributes of a function (CUfunction_attribute in cuda.h of CUDA 12.0).
const (
	FuncSharedBytes     = 1 // that it has without asking
	FuncLocalBytes      = 3 // per thread: spilled registers
	FuncRegisters       = 4 // per thread
	FuncMaxDynamicBytes = 8 // of shared memory, that a launch may ask for
)

// LoadModule translates PTX for the GPU. The error holds what the driver's translator said.
func (c *Context) LoadModule(ptx []byte) (Module, error) {
	const logBuffer, logBytes = 5, 6 // CU_JIT_ERROR_LOG_BUFFER and …_SIZE_BYTES (CUjit_option)
	text := append(bytes.Clone(ptx), 0)
	log, err := c.HostAlloc(4096)
	if err != nil {
		return 0, err
	}
	defer func() { _ = c.HostFree(log) }() // of memory that is ours, so it can't fail
	clear(log)
	// The translator is given a list of options and one of values, which are pointers or numbers in a pointer's place.
	options := [2]int32{logBuffer, logBytes}
	values := [2]uintptr{uintptr(unsafe.Pointer(unsafe.SliceData(log))), uintptr(len(log))}
	var m Module
	// cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int numOptions,
	//     CUjit_option *options, void **optionValues)
	err = c.d.check("cuModuleLoadDataEx", call(c.d.fn.moduleLoadDataEx, uintptr(unsafe.Pointer(&m)),
		uintptr(unsafe.Pointer(unsafe.SliceData(text))),
		uintptr(len(options)), uintptr(unsafe.Pointer(&options)), uintptr(unsafe.Pointer(&values))))
	if err == nil {
		return m, nil
	}
	if said, _, _ := bytes.Cut(log, []byte{0}); len(bytes.TrimSpace(said)) > 0 {
		return 0, fmt.Errorf("%w: %s", err, bytes.TrimSpace(said))
	}
	return 0, err
}

// UnloadModule unloads a module whose kernels have all ended.
func (c *Context) UnloadModule(m Module) error {
	// cuModuleUnload(CUmodule hmod)
	return c.d.check("cuModuleUnload", call(c.d.fn.moduleUnload, uintptr(m)))
}

// Function finds a kernel of a module by its name.
func (c *Context) Function(m Module, name string) (Function, error) {
	text := append([]byte(name), 0)
	var f Function
	// cuModuleGetFunction(CUfunction *hfunc, CUmodule hmod, const char *name)
	err := c.d.check("cuModuleGetFunction", call(c.d.fn.moduleGetFunction, uintptr(unsafe.Pointer(&f)), uintptr(m),
		uintptr(unsafe.Pointer(unsafe.SliceData(text)))))
	if err != nil {
		return 0, fmt.Errorf("kernel %s: %w", name, err)
	}
	return f, nil
}

// SetAttribute sets an attribute of a function: more than 48 KiB of dynamic shared memory must be asked for.
func (c *Context) SetAttribute(f Function, attribute, value int) error {
	// cuFuncSetAttribute(CUfunction hfunc, CUfunction_attribute attrib, int value)
	return c.d.check("cuFuncSetAttribute", call(c.d.fn.funcSetAttribute, uintptr(f),
		uintptr(attribute), uintptr(value)))
}

// Attribute reads an attribute of a function.
func (c *Context) Attribute(f Function, attribute int) (int, error) {
	var value int32
	// cuFuncGetAttribute(int *pi, CUfunction_attribute attrib, CUfunction hfunc)
	err := c.d.check("cuFuncGetAttribute", call(c.d.fn.funcGetAttribute, uintptr(unsafe.Pointer(&value)),
		uintptr(attribute), uintptr(f)))
	return int(value), err
}

// Occupancy is how many blocks of a function fit on a multiprocessor at once.
func (c *Context) Occupancy(f Function, threads, sharedBytes int) (int, error) {
	var blocks int32
	// cuOccupancyMaxActiveBlocksPerMultiprocessor(int *numBlocks, CUfunction func,
	//     int blockSize, size_t dynamicSMemSize)
	err := c.d.check("cuOccupancyMaxActiveBlocksPerMultiprocessor",
		call(c.d.fn.occupancyMaxActiveBlocks, uintptr(unsafe.Pointer(&blocks)), uintptr(f),
			uintptr(threads), uintptr(sharedBytes)))
	return int(blocks), err
}

// Launch queues a kernel. parameters are its arguments in order, each in the low bytes of its element.
func (c *Context) Launch(f Function, grid, block Dim3, sharedBytes int, s Stream, parameters []uint64) error {
	if len(parameters) > maxParameters {
		return fmt.Errorf("driver: a kernel with %d parameters; %d is the most", len(parameters), maxParameters)
	}
	// The driver copies them before it returns, also while a stream is captured.
	addresses, slots := c.parameters[:maxParameters], c.parameters[maxParameters:]
	for i, p := range parameters {
		slots[i] = p
		addresses[i] = uint64(uintptr(unsafe.Pointer(&slots[i]))) // C's memory: it doesn't move
	}
	// cuLaunchKernel(CUfunction f, unsigned int gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ,
	//     unsigned int sharedMemBytes, CUstream hStream, void **kernelParams, void **extra)
	return c.d.check("cuLaunchKernel", call(c.d.fn.launchKernel, uintptr(f), uintptr(grid.X),
		uintptr(grid.Y), uintptr(grid.Z),
		uintptr(block.X), uintptr(block.Y), uintptr(block.Z), uintptr(sharedBytes), uintptr(s),
		uintptr(unsafe.Pointer(&addresses[0])), 0))
}
