package driver

import (
	"errors"
	"fmt"
)

// Why a GPU can't be used. A [Refusal] wraps one of these.
var (
	// ErrNotBuilt: the program is for a system without CUDA, or was built with -tags nocuda.
	ErrNotBuilt = errors.New("this build has no CUDA")
	// ErrNoLibrary: there is no driver library, or the one that was named can't be opened.
	ErrNoLibrary = errors.New("no NVIDIA driver")
	// ErrOldDriver: the driver is older than [OldestDriver].
	ErrOldDriver = errors.New("the NVIDIA driver is too old")
	// ErrNoGPU: the driver sees no GPU.
	ErrNoGPU = errors.New("no NVIDIA GPU")
	// ErrUnusable: there is a GPU or a driver, but it does not work, or is too old.
	ErrUnusable = errors.New("the NVIDIA GPU can't be used")
)

// Refusal says why a library or a GPU can't be used, and what would help.
type Refusal struct {
	// Reason is one of the errors above.
	Reason error
	// Detail is what was seen: a path, a version, a status. It may be empty.
	Detail string
	// Hint says what to do. It may be empty.
	Hint string
	// Cause is the driver's own error, or nil.
	Cause error
}

func (r *Refusal) Error() string {
	text := r.Reason.Error()
	if r.Detail != "" {
		text += ": " + r.Detail
	}
	if r.Cause != nil {
		text += ": " + r.Cause.Error()
	}
	return text
}

// Unwrap gives the reason and the cause.
func (r *Refusal) Unwrap() []error {
	if r.Cause == nil {
		return []error{r.Reason}
	}
	return []error{r.Reason, r.Cause}
}

// Status is a driver function's result (CUresult in cuda.h of CUDA 12.0).
type Status int32

// The statuses that decide what happens next.
const (
	Success        Status = 0
	OutOfMemory    Status = 2
	StubLibrary    Status = 34
	NoDevice       Status = 100
	InvalidContext Status = 201
	NotReady       Status = 600
	IllegalAddress Status = 700
	LaunchFailed   Status = 719
)

// fatal are the statuses after which a context answers nothing but errors: faults of a kernel and of the
// GPU itself. cuda.h (12.0 and 13.0) says of 226, 700, 702, 714 to 719 and 911 that the process must be
// ended and launched anew, and of 709 and 710 that the context is of no use any more. 214 is an ECC error
// that can't be corrected, 999 an unknown one.
var fatal = map[Status]bool{
	214: true, 226: true, 700: true, 702: true, 709: true, 710: true, 714: true, 715: true, 716: true, 717: true, 718: true, 719: true, 911: true,
	999: true,
}

// Error is a driver call that failed.
type Error struct {
	Call   string // the function's name in C
	Status Status
	Name   string // "CUDA_ERROR_OUT_OF_MEMORY", as the library has it
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %s (%d)", e.Call, e.Name, e.Status) }

// IsFatal reports whether err is a driver's error after which nothing will work on that GPU in this process.
func IsFatal(err error) bool {
	var e *Error
	return errors.As(err, &e) && fatal[e.Status]
}

// IsOutOfMemory reports whether err is a call of the driver's or of cuBLASLt's that found no memory.
func IsOutOfMemory(err error) bool {
	var product *BLASError
	return IsStatus(err, OutOfMemory) || errors.As(err, &product) && product.Status == blasAllocFailed
}

// IsStatus reports whether err is a driver call that failed with a status.
func IsStatus(err error, s Status) bool {
	var e *Error
	return errors.As(err, &e) && e.Status == s
}
