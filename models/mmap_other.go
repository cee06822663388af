//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package models

import "os"

// mapFile reads the file where there is no mapping to be had.
func mapFile(path string) (data []byte, unmap func() error, err error) {
	data, err = os.ReadFile(path)
	return data, func() error { return nil }, err
}
