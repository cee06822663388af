//go:build !linux

package audioprep

// forget leaves it to the system which pages of a mapped file stay in memory.
func forget([]byte) {}
