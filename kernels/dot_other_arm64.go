//go:build !darwin && arm64 && !noasm

package kernels

// alwaysDot says that every CPU of the system has SDOT.
const alwaysDot = false
