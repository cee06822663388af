//go:build darwin && arm64 && !noasm

package kernels

// alwaysDot says that every CPU of the system has SDOT: Apple's have, from the M1 on.
const alwaysDot = true
