package driver

import "unsafe"

// DevicePtr is an address in a GPU's memory (CUdeviceptr); 0 is no address.
type DevicePtr uint64

// MemInfo is how much of the GPU's memory is free, for all processes, and how much there is.
func (c *Context) MemInfo() (free, total int64, err error) {
	var f, t uint64
	// cuMemGetInfo_v2(size_t *free, size_t *total)
	err = c.d.check("cuMemGetInfo_v2", call(c.d.fn.memGetInfo, uintptr(unsafe.Pointer(&f)),
		uintptr(unsafe.Pointer(&t))))
	return int64(f), int64(t), err
}

// MemAlloc allocates bytes of the GPU's memory, aligned to 256 at least. What they hold is anything.
func (c *Context) MemAlloc(bytes int) (DevicePtr, error) {
	var p DevicePtr
	// cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
	err := c.d.check("cuMemAlloc_v2", call(c.d.fn.memAlloc, uintptr(unsafe.Pointer(&p)), uintptr(bytes)))
	return p, err
}

// MemFree frees what MemAlloc gave. It may wait for the GPU's work.
func (c *Context) MemFree(p DevicePtr) error {
	// cuMemFree_v2(CUdeviceptr dptr)
	return c.d.check("cuMemFree_v2", call(c.d.fn.memFree, uintptr(p)))
}

// HostAlloc allocates the host's memory in a place that the GPU can copy from and to on its own. It's C's, so the
// garbage collector neither moves nor frees it.
func (c *Context) HostAlloc(bytes int) ([]byte, error) {
	var p unsafe.Pointer
	// cuMemHostAlloc(void **pp, size_t bytesize, unsigned int flags)
	if err := c.d.check("cuMemHostAlloc", call(c.d.fn.memHostAlloc, uintptr(unsafe.Pointer(&p)),
		uintptr(bytes), 0)); err != nil {
		return nil, err
	}
	return unsafe.Slice((*byte)(p), bytes), nil
}

// HostFree frees what HostAlloc gave, once no copy uses it any more.
func (c *Context) HostFree(block []byte) error {
	// cuMemFreeHost(void *p)
	return c.d.check("cuMemFreeHost", call(c.d.fn.memFreeHost, uintptr(unsafe.Pointer(unsafe.SliceData(block)))))
}

// CopyToDevice queues a copy of src to dst. src is HostAlloc's and stays as it is until the copy is done.
func (c *Context) CopyToDevice(dst DevicePtr, src []byte, s Stream) error {
	// cuMemcpyHtoDAsync_v2(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount, CUstream hStream)
	return c.d.check("cuMemcpyHtoDAsync_v2", call(c.d.fn.memcpyHtoDAsync, uintptr(dst),
		uintptr(unsafe.Pointer(unsafe.SliceData(src))), uintptr(len(src)), uintptr(s)))
}

// CopyToHost queues a copy of src to dst, which is HostAlloc's and has its contents once the stream has come that far.
func (c *Context) CopyToHost(dst []byte, src DevicePtr, s Stream) error {
	// cuMemcpyDtoHAsync_v2(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream)
	return c.d.check("cuMemcpyDtoHAsync_v2", call(c.d.fn.memcpyDtoHAsync,
		uintptr(unsafe.Pointer(unsafe.SliceData(dst))), uintptr(src), uintptr(len(dst)), uintptr(s)))
}

// CopyOnDevice queues a copy within the GPU's memory. The two places must not overlap.
func (c *Context) CopyOnDevice(dst, src DevicePtr, bytes int, s Stream) error {
	// cuMemcpyDtoDAsync_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream)
	return c.d.check("cuMemcpyDtoDAsync_v2", call(c.d.fn.memcpyDtoDAsync, uintptr(dst), uintptr(src),
		uintptr(bytes), uintptr(s)))
}

// Zero queues the setting of memory to zero.
func (c *Context) Zero(dst DevicePtr, bytes int, s Stream) error {
	// cuMemsetD8Async(CUdeviceptr dstDevice, unsigned char uc, size_t N, CUstream hStream)
	return c.d.check("cuMemsetD8Async", call(c.d.fn.memsetD8Async, uintptr(dst), 0, uintptr(bytes), uintptr(s)))
}
