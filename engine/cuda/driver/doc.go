// Package driver calls NVIDIA's driver, libcuda.so.1, and cuBLASLt without cgo. Both are opened at run
// time by purego, so a user needs the driver alone and a machine without one still runs the program.
// The package knows no speech and no engine.
//
// # Terms
//
// A context is a process's state on one GPU. A stream is a queue of work that runs in order. An event marks a place in
// a stream. A module is a compiled set of kernels; here it's loaded from PTX, NVIDIA's portable assembly, which the
// driver translates for its GPU. A captured graph is a recorded run of a stream's work that is launched by one call.
//
// # Flow
//
// [Open] finds and checks the library; what stands in the way comes back as a [Refusal]. [Driver.Devices] lists
// the GPUs; [Driver.NewExecutor] makes a thread that owns one. Functions given to [Executor.Do] and
// [Executor.Go] run on it, one after another, and get a [Context], whose methods are the driver's functions,
// one each, under names that say the same.
//
// # Rules
//
// The driver keeps the current context per thread, while Go moves goroutines between threads: so one goroutine for each
// GPU, locked to its thread for good, makes every call.
//
// C must not see Go memory that can move or go away. An address is taken only inside the argument list of [call], which
// keeps it in place until the call returns. What the driver reads or writes later, such as the source of an
// asynchronous copy, lies in memory that the driver itself has allocated ([Context.HostAlloc]).
//
// Names and numbers are those of cuda.h and cublasLt.h 12.0. Functions that changed carry the suffix of their present
// form (cuMemAlloc_v2): the names without it are 32-bit leftovers that still exist.
package driver
