// Package cuda is the [engine.Device] that computes on an NVIDIA GPU, in this process, through
// the driver alone (see engine/cuda/driver).
//
// # Numbers
//
// Tensors hold 16 bits an element, fp16 or bf16 as [Storage] says, or, where they were made by AllocSingle, float32.
// Weights have the 16-bit format. Every sum is a float32.
//
// An item's result does not depend on the items beside it, to the bit. A product adds up in one of three orders: that
// of cuBLASLt with the one algorithm chosen for the weight's shape, that of our own kernels for many rows, or that of
// those for few. Which one is a matter of the weight ([engine.ManyRowsDevice]), never of how many rows a call has.
//
// # The way of an operation
//
// An operation checks its shapes, puts what it needs from the host (positions, slots, lengths) in the staging block,
// and queues its kernels: nothing has run yet. The queue goes to the GPU, as one group, when something has to be waited
// for or when it has grown long: one copy brings the staging block, then the kernels follow. A group that was seen
// before, the same kernels with the same grids and addresses, is recorded as a graph, and from then on takes a single
// call, so that a decoder's step is one copy up, one launch, one copy down and one wait. Graphs above this package know
// nothing of that; what they must keep to is that lengths which change at each step reach kernels through the staging
// block and never through a grid or an argument.
//
// Texts without a beam go on by [Device.Ahead]: a step's last kernels choose each text's token and write down, where
// the next step's kernels look, what it is, where it stands and which rule comes next. So a step needs nothing from the
// host, two more of them are queued while the host waits for what one of them chose, and the GPU has no gap between
// them. A transducer's utterances go on likewise, by [Device.Transduce].
//
// # Who owns what
//
// A machine is a GPU with its executor thread, stream, memory and kernels. A [Device] is a machine as one model sees
// it: with a queue, staging and scratch of its own, and a list of what it has allocated, which goes back when it is
// closed. [Device.Model] makes further ones.
//
// There is one stream, so work is done in the order in which it was queued, and memory that's given back may be used
// anew at once: whoever gets it comes later in the stream.
//
// # Failures
//
// The first failure of queued work sticks and comes back from the next call that waits. After a
// fault the driver answers nothing but errors in this process: then the device is lost, and
// every call says so by [engine.ErrDeviceLost].
package cuda
