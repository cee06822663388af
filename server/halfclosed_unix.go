//go:build unix

package server

import (
	"crypto/tls"
	"net"
	"syscall"
)

const canTellReset = true

// wasReset reports whether the other side has reset a link.
func wasReset(c net.Conn) bool {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	s, ok := c.(syscall.Conn)
	if !ok {
		return true
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return true
	}
	pending := 0
	if raw.Control(func(fd uintptr) {
		pending, err = syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_ERROR)
	}) != nil {
		return true
	}
	return err != nil || pending != 0
}
