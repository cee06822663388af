//go:build !unix

package server

import "net"

const canTellReset = false

func wasReset(net.Conn) bool { return true }
