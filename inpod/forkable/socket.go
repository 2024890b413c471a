package forkable

import (
	"errors"
	"net"
	"os"
	"syscall"
)

// SocketPair returns a connected socket and its other end, which is for a child process. Neither is inherited by other children.
func SocketPair() (*net.UnixConn, *os.File, error) {
	syscall.ForkLock.RLock() // no child may start before both are marked
	numbers, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(numbers[0])
		syscall.CloseOnExec(numbers[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, err
	}
	file, theirs := os.NewFile(uintptr(numbers[0]), "control"), os.NewFile(uintptr(numbers[1]), "child")
	conn, err := net.FileConn(file)
	_ = file.Close()
	if err != nil {
		return nil, nil, errors.Join(err, theirs.Close())
	}
	ours, ok := conn.(*net.UnixConn)
	if !ok {
		return nil, nil, errors.Join(errors.New("the socket is of another kind"), conn.Close(), theirs.Close())
	}
	return ours, theirs, nil
}
