package driver

import (
	"time"
	"unsafe"
)

// Handles of the driver's. The zero value is none.
type (
	// Stream is a queue of work that runs in order.
	Stream uintptr
	// Event marks a place in a stream.
	Event uintptr
	// Graph is a recorded run of a stream's work; Exec one made ready to be launched.
	Graph uintptr
	Exec  uintptr
)

// NewStream makes a stream that waits for no other. Of several, those with a lower
// priority number go first; 0 is the usual.
func (c *Context) NewStream(priority int) (Stream, error) {
	const nonBlocking = 1 // CU_STREAM_NON_BLOCKING
	var s Stream
	// cuStreamCreateWithPriority(CUstream *phStream, unsigned int flags, int priority)
	err := c.d.check("cuStreamCreateWithPriority",
		call(c.d.fn.streamCreateWithPriority, uintptr(unsafe.Pointer(&s)), nonBlocking, uintptr(priority)))
	return s, err
}

// DestroyStream ends a stream after its work.
func (c *Context) DestroyStream(s Stream) error {
	// cuStreamDestroy_v2(CUstream hStream)
	return c.d.check("cuStreamDestroy_v2", call(c.d.fn.streamDestroy, uintptr(s)))
}

// SynchronizeStream waits for all of a stream's work, and returns its first failure.
func (c *Context) SynchronizeStream(s Stream) error {
	// cuStreamSynchronize(CUstream hStream)
	return c.d.check("cuStreamSynchronize", call(c.d.fn.streamSynchronize, uintptr(s)))
}

// WaitEvent has a stream wait for an event of another one.
func (c *Context) WaitEvent(s Stream, e Event) error {
	// cuStreamWaitEvent(CUstream hStream, CUevent hEvent, unsigned int Flags)
	return c.d.check("cuStreamWaitEvent", call(c.d.fn.streamWaitEvent, uintptr(s), uintptr(e), 0))
}

// NewEvent makes an event; timed ones can be told apart by time, the others are cheaper.
func (c *Context) NewEvent(timed bool) (Event, error) {
	const blockingSync, disableTiming = 1, 2 // CU_EVENT_BLOCKING_SYNC, CU_EVENT_DISABLE_TIMING
	flags := uintptr(blockingSync)
	if !timed {
		flags |= disableTiming
	}
	var e Event
	// cuEventCreate(CUevent *phEvent, unsigned int Flags)
	err := c.d.check("cuEventCreate", call(c.d.fn.eventCreate, uintptr(unsafe.Pointer(&e)), flags))
	return e, err
}

// DestroyEvent lets go of an event.
func (c *Context) DestroyEvent(e Event) error {
	// cuEventDestroy_v2(CUevent hEvent)
	return c.d.check("cuEventDestroy_v2", call(c.d.fn.eventDestroy, uintptr(e)))
}

// RecordEvent puts an event behind what a stream has been given so far.
func (c *Context) RecordEvent(e Event, s Stream) error {
	// cuEventRecord(CUevent hEvent, CUstream hStream)
	return c.d.check("cuEventRecord", call(c.d.fn.eventRecord, uintptr(e), uintptr(s)))
}

// EventDone reports whether the stream has passed an event.
func (c *Context) EventDone(e Event) (bool, error) {
	// cuEventQuery(CUevent hEvent)
	err := c.d.check("cuEventQuery", call(c.d.fn.eventQuery, uintptr(e)))
	if IsStatus(err, NotReady) {
		return false, nil
	}
	return err == nil, err
}

// SynchronizeEvent waits until the stream has passed an event.
func (c *Context) SynchronizeEvent(e Event) error {
	// cuEventSynchronize(CUevent hEvent)
	return c.d.check("cuEventSynchronize", call(c.d.fn.eventSynchronize, uintptr(e)))
}

// Elapsed is the time between two timed events that have passed.
func (c *Context) Elapsed(from, to Event) (time.Duration, error) {
	var millis float32
	// cuEventElapsedTime(float *pMilliseconds, CUevent hStart, CUevent hEnd)
	err := c.d.check("cuEventElapsedTime", call(c.d.fn.eventElapsedTime, uintptr(unsafe.Pointer(&millis)),
		uintptr(from), uintptr(to)))
	return time.Duration(float64(millis) * float64(time.Millisecond)), err
}

// BeginCapture has a stream record what it is given, instead of running it.
func (c *Context) BeginCapture(s Stream) error {
	const threadLocal = 1 // CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
	// cuStreamBeginCapture_v2(CUstream hStream, CUstreamCaptureMode mode)
	return c.d.check("cuStreamBeginCapture_v2", call(c.d.fn.streamBeginCapture, uintptr(s), threadLocal))
}

// EndCapture ends the recording.
func (c *Context) EndCapture(s Stream) (Graph, error) {
	var g Graph
	// cuStreamEndCapture(CUstream hStream, CUgraph *phGraph)
	err := c.d.check("cuStreamEndCapture", call(c.d.fn.streamEndCapture, uintptr(s), uintptr(unsafe.Pointer(&g))))
	return g, err
}

// Instantiate makes a graph ready. The graph may be destroyed afterwards.
func (c *Context) Instantiate(g Graph) (Exec, error) {
	var x Exec
	// cuGraphInstantiateWithFlags(CUgraphExec *phGraphExec, CUgraph hGraph, unsigned long long flags)
	err := c.d.check("cuGraphInstantiateWithFlags",
		call(c.d.fn.graphInstantiate, uintptr(unsafe.Pointer(&x)), uintptr(g), 0))
	return x, err
}

// LaunchGraph queues all of a graph's work.
func (c *Context) LaunchGraph(x Exec, s Stream) error {
	// cuGraphLaunch(CUgraphExec hGraphExec, CUstream hStream)
	return c.d.check("cuGraphLaunch", call(c.d.fn.graphLaunch, uintptr(x), uintptr(s)))
}

// DestroyExec lets go of a graph that is not running.
func (c *Context) DestroyExec(x Exec) error {
	// cuGraphExecDestroy(CUgraphExec hGraphExec)
	return c.d.check("cuGraphExecDestroy", call(c.d.fn.graphExecDestroy, uintptr(x)))
}

// DestroyGraph lets go of a recording.
func (c *Context) DestroyGraph(g Graph) error {
	// cuGraphDestroy(CUgraph hGraph)
	return c.d.check("cuGraphDestroy", call(c.d.fn.graphDestroy, uintptr(g)))
}
