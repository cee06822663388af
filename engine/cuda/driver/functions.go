package driver

// functions are the addresses of the driver's functions, under the names that cuda.h of CUDA 12.0 gives them, so that
// driver 525 has all of them. A name without its _v2 may be there as well and be another function, with 32-bit sizes or
// another order; names that later headers prefer, as cuEventElapsedTime_v2 of 13.0, are not in 525.
type functions struct {
	init, driverGetVersion, getErrorName uintptr

	deviceGetCount, deviceGet, deviceGetName, deviceTotalMem, deviceGetAttribute                        uintptr
	devicePrimaryCtxSetFlags, devicePrimaryCtxRetain, devicePrimaryCtxRelease, ctxSetCurrent            uintptr
	ctxSynchronize, memGetInfo, memAlloc, memFree, memHostAlloc, memFreeHost                            uintptr
	memcpyHtoDAsync, memcpyDtoHAsync, memcpyDtoDAsync, memsetD8Async                                    uintptr
	moduleLoadDataEx, moduleUnload, moduleGetFunction, funcSetAttribute, funcGetAttribute               uintptr
	occupancyMaxActiveBlocks, launchKernel                                                              uintptr
	streamCreateWithPriority, streamDestroy, streamSynchronize, streamWaitEvent                         uintptr
	eventCreate, eventDestroy, eventRecord, eventQuery, eventSynchronize, eventElapsedTime              uintptr
	streamBeginCapture, streamEndCapture, graphInstantiate, graphLaunch, graphExecDestroy, graphDestroy uintptr
}

// first are those that say whether the rest will be there.
func (f *functions) first() []symbol {
	return []symbol{
		{"cuInit", &f.init},
		{"cuDriverGetVersion", &f.driverGetVersion},
		{"cuGetErrorName", &f.getErrorName},
	}
}

func (f *functions) all() []symbol {
	return []symbol{
		{"cuDeviceGetCount", &f.deviceGetCount},
		{"cuDeviceGet", &f.deviceGet},
		{"cuDeviceGetName", &f.deviceGetName},
		{"cuDeviceTotalMem_v2", &f.deviceTotalMem},
		{"cuDeviceGetAttribute", &f.deviceGetAttribute},
		{"cuDevicePrimaryCtxSetFlags_v2", &f.devicePrimaryCtxSetFlags},
		{"cuDevicePrimaryCtxRetain", &f.devicePrimaryCtxRetain},
		{"cuDevicePrimaryCtxRelease_v2", &f.devicePrimaryCtxRelease},
		{"cuCtxSetCurrent", &f.ctxSetCurrent},
		{"cuCtxSynchronize", &f.ctxSynchronize},
		{"cuMemGetInfo_v2", &f.memGetInfo},
		{"cuMemAlloc_v2", &f.memAlloc},
		{"cuMemFree_v2", &f.memFree},
		{"cuMemHostAlloc", &f.memHostAlloc},
		{"cuMemFreeHost", &f.memFreeHost},
		{"cuMemcpyHtoDAsync_v2", &f.memcpyHtoDAsync},
		{"cuMemcpyDtoHAsync_v2", &f.memcpyDtoHAsync},
		{"cuMemcpyDtoDAsync_v2", &f.memcpyDtoDAsync},
		{"cuMemsetD8Async", &f.memsetD8Async},
		{"cuModuleLoadDataEx", &f.moduleLoadDataEx},
		{"cuModuleUnload", &f.moduleUnload},
		{"cuModuleGetFunction", &f.moduleGetFunction},
		{"cuFuncSetAttribute", &f.funcSetAttribute},
		{"cuFuncGetAttribute", &f.funcGetAttribute},
		{"cuOccupancyMaxActiveBlocksPerMultiprocessor", &f.occupancyMaxActiveBlocks},
		{"cuLaunchKernel", &f.launchKernel},
		{"cuStreamCreateWithPriority", &f.streamCreateWithPriority},
		{"cuStreamDestroy_v2", &f.streamDestroy},
		{"cuStreamSynchronize", &f.streamSynchronize},
		{"cuStreamWaitEvent", &f.streamWaitEvent},
		{"cuEventCreate", &f.eventCreate},
		{"cuEventDestroy_v2", &f.eventDestroy},
		{"cuEventRecord", &f.eventRecord},
		{"cuEventQuery", &f.eventQuery},
		{"cuEventSynchronize", &f.eventSynchronize},
		{"cuEventElapsedTime", &f.eventElapsedTime},
		{"cuStreamBeginCapture_v2", &f.streamBeginCapture},
		{"cuStreamEndCapture", &f.streamEndCapture},
		{"cuGraphInstantiateWithFlags", &f.graphInstantiate},
		{"cuGraphLaunch", &f.graphLaunch},
		{"cuGraphExecDestroy", &f.graphExecDestroy},
		{"cuGraphDestroy", &f.graphDestroy},
	}
}
