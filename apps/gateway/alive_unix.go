//go:build unix

package gateway

import (
	"net"
	"syscall"
)

// closed reports whether the other side has closed a connection. Nothing is read from it. Between the end of a replica and
// the moment that the transport notices it, requests on kept connections would be written to no one.
func closed(conn net.Conn) bool {
	socket, ok := conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return false
	}
	ended := false
	var one [1]byte
	err = raw.Control(func(fd uintptr) {
		n, _, err := syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK)
		ended = n == 0 && err == nil || err != nil && err != syscall.EAGAIN && err != syscall.EINTR
	})
	return ended || err != nil
}
