package shim

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"
)

// Numbers of the kernel's interface, see seccomp_unotify(2). Those of the calls without a comment are the same everywhere.
const (
	secFilter        = 1      // SECCOMP_SET_MODE_FILTER
	secListener      = 1 << 3 // SECCOMP_FILTER_FLAG_NEW_LISTENER
	secWaitKillable  = 1 << 5 // SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, since Linux 5.19
	secReceive       = 0xc0502100
	secSend          = 0xc0182101
	secValid         = 0x40082102
	secContinue      = 1 // SECCOMP_USER_NOTIF_FLAG_CONTINUE
	sysPidfdOpen     = 434
	sysPidfdGetfd    = 438
	longestAddress   = 28                     // sockaddr_in6
	archX86, archArm = 0xc000003e, 0xc00000b7 // AUDIT_ARCH_X86_64, AUDIT_ARCH_AARCH64
	returnAllow      = 0x7fff0000
	returnAsk        = 0x7fc00000 // SECCOMP_RET_USER_NOTIF
	loadWord         = 0x20
	jumpEqual        = 0x15
	giveBack         = 0x06
	offsetNumber     = 0
	offsetArch       = 4
)

// question is a call that the kernel asks about (seccomp_notif), answer the decision (seccomp_notif_resp).
type (
	question struct {
		id      uint64
		tid     uint32
		flags   uint32
		number  int32
		arch    uint32
		pointer uint64
		args    [6]uint64
	}
	answer struct {
		id    uint64
		value int64
		errno int32
		flags uint32
	}
)

// rule says which calls are made with another address.
type rule interface {
	// concerns reports whether a call with this address may be one of them. Most are not, and cost no more than this.
	concerns(address []byte, connects bool) bool
	// change puts the other address into a call on a socket of a kind, such as SOCK_STREAM, and reports whether it did.
	change(socket, kind int, address []byte, connects bool) bool
}

// portListener is what the kernel asks about the calls that name a port.
type portListener struct {
	rule rule
	fd   int
}

// GivesPorts reports whether a process of this machine can have another port than the one that it asks for, see Port. It tries.
func GivesPorts() bool {
	works := make(chan bool, 1)
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine, and its filter with it
		works <- tryPort() == nil
	}()
	return <-works
}

// tryPort binds a socket of this thread to another port than it asks for.
func tryPort() error {
	const asked = 1
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = syscall.Close(socket) }()
	listener, err := listen(Port{Declared: asked})
	if err != nil {
		return err
	}
	defer func() { _ = syscall.Close(listener.fd) }()
	go listener.next()
	if err := syscall.Bind(socket, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}, Port: asked}); err != nil {
		return err
	}
	name, err := syscall.Getsockname(socket)
	if err != nil {
		return err
	}
	if got, ok := name.(*syscall.SockaddrInet4); !ok || got.Port == asked {
		return errors.New("the port was not replaced")
	}
	return nil
}

// listen makes the kernel ask before this thread, and what it starts from now on, binds a socket or connects one.
func listen(by rule) (*portListener, error) {
	arch, number := uint32(archX86), uintptr(317)
	switch runtime.GOARCH {
	case "amd64":
	case "arm64":
		arch, number = archArm, 277
	default:
		return nil, errors.ErrUnsupported
	}
	type instruction struct {
		code     uint16
		yes, no  uint8
		constant uint32
	}
	program := []instruction{
		{loadWord, 0, 0, offsetArch}, {jumpEqual, 0, 3, arch},
		{loadWord, 0, 0, offsetNumber}, {jumpEqual, 2, 0, syscall.SYS_BIND}, {jumpEqual, 1, 0, syscall.SYS_CONNECT},
		{giveBack, 0, 0, returnAllow}, {giveBack, 0, 0, returnAsk},
	}
	filter := struct {
		length  uint16
		program *instruction
	}{uint16(len(program)), &program[0]} //nolint:gosec // seven instructions
	install := func(flags uintptr) (uintptr, syscall.Errno) {
		fd, _, errno := syscall.RawSyscall(number, secFilter, flags, uintptr(unsafe.Pointer(&filter))) //nolint:gosec // a call of the kernel
		return fd, errno
	}
	fd, errno := install(secListener | secWaitKillable)
	if errno == syscall.EACCES { // who is not root must give up new privileges first
		if err := (Security{NoNewPrivileges: true}).restrict(); err != nil {
			return nil, err
		}
		fd, errno = install(secListener | secWaitKillable)
	}
	if errno == syscall.EINVAL {
		fd, errno = install(secListener)
	}
	runtime.KeepAlive(program)
	if errno != 0 {
		return nil, fmt.Errorf("ask the kernel about ports: %w", errno)
	}
	return &portListener{rule: by, fd: int(fd)}, nil
}

// serve answers until this process ends.
func (l *portListener) serve() {
	for l.next() {
	}
}

// next answers one question. It returns false when the kernel has no more questions.
func (l *portListener) next() bool {
	var asked question
	switch errno := l.control(secReceive, unsafe.Pointer(&asked)); errno { //nolint:gosec // a call of the kernel
	case 0:
	case syscall.EINTR, syscall.ENOENT: // who asked has ended
		return true
	default:
		return false
	}
	call, ours := l.judge(&asked)
	if !ours {
		l.reply(answer{id: asked.id, flags: secContinue})
		return true
	}
	go func() { // a connection may take its time
		defer func() { _ = syscall.Close(call.socket) }()
		errno := call.run()
		l.reply(answer{id: asked.id, errno: -int32(errno)}) //nolint:gosec // at most 4095
	}()
	return true
}

func (l *portListener) reply(a answer) {
	_ = l.control(secSend, unsafe.Pointer(&a)) //nolint:gosec // a call of the kernel; who asked may have ended
}

func (l *portListener) control(command uintptr, about unsafe.Pointer) syscall.Errno {
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(l.fd), command, uintptr(about))
	return errno
}

// portCall is a call that is made here instead, on the caller's own socket, with another port.
type portCall struct {
	number  uintptr
	socket  int
	address []byte
}

func (c *portCall) run() syscall.Errno {
	_, _, errno := syscall.Syscall(c.number, uintptr(c.socket), uintptr(unsafe.Pointer(&c.address[0])), uintptr(len(c.address))) //nolint:gosec // a call of the kernel
	return errno
}

// judge returns the call that takes the place of one that the rule changes. All others continue as they are: this is not a
// fence, so it does not matter that a program can change an address after it was read.
func (l *portListener) judge(asked *question) (*portCall, bool) {
	tid := strconv.FormatUint(uint64(asked.tid), 10)
	address := make([]byte, min(asked.args[2], longestAddress))
	memory, err := os.Open("/proc/" + tid + "/mem")
	if err != nil {
		return nil, false
	}
	defer func() { _ = memory.Close() }()
	if _, err := memory.ReadAt(address, int64(asked.args[1])); err != nil { //nolint:gosec // an address of the process
		return nil, false
	}
	connects := asked.number == syscall.SYS_CONNECT
	if !l.rule.concerns(address, connects) {
		return nil, false
	}
	socket, err := takeSocket(tid, uintptr(asked.args[0]))
	if err != nil {
		return nil, false
	}
	kind, err := syscall.GetsockoptInt(socket, syscall.SOL_SOCKET, syscall.SO_TYPE)
	if err != nil || l.control(secValid, unsafe.Pointer(&asked.id)) != 0 || //nolint:gosec // a call of the kernel
		!l.rule.change(socket, kind, address, connects) {
		_ = syscall.Close(socket)
		return nil, false
	}
	return &portCall{number: uintptr(asked.number), socket: socket, address: address}, true //nolint:gosec // not negative
}

// addressOf reads the address of a socket. The other families have none.
func addressOf(address []byte) (netip.AddrPort, bool) {
	if len(address) < 8 {
		return netip.AddrPort{}, false
	}
	var ip netip.Addr
	switch family := binary.NativeEndian.Uint16(address); {
	case family == syscall.AF_INET:
		ip, _ = netip.AddrFromSlice(address[4:8])
	case family == syscall.AF_INET6 && len(address) >= 24:
		ip, _ = netip.AddrFromSlice(address[8:24])
		ip = ip.Unmap()
	default:
		return netip.AddrPort{}, false
	}
	return netip.AddrPortFrom(ip, binary.BigEndian.Uint16(address[2:4])), true
}

// concerns implements rule: the address names the declared port. Connections to other machines keep their port.
func (p Port) concerns(address []byte, connects bool) bool {
	named, ok := addressOf(address)
	return ok && named.Port() == p.Declared && (!connects || named.Addr().IsLoopback() || named.Addr().IsUnspecified())
}

// change implements rule.
func (p Port) change(_, kind int, address []byte, _ bool) bool {
	if kind != syscall.SOCK_STREAM {
		return false
	}
	binary.BigEndian.PutUint16(address[2:4], p.Given)
	return true
}

// takeSocket returns a duplicate of a socket of another process.
func takeSocket(tid string, number uintptr) (int, error) {
	pid, err := leaderOf(tid)
	if err != nil {
		return 0, err
	}
	process, _, errno := syscall.Syscall(sysPidfdOpen, uintptr(pid), 0, 0)
	if errno != 0 {
		return 0, errno
	}
	defer func() { _ = syscall.Close(int(process)) }()
	socket, _, errno := syscall.Syscall(sysPidfdGetfd, process, number, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(socket), nil
}

// leaderOf returns the process to which a thread belongs.
func leaderOf(tid string) (int, error) {
	raw, err := os.ReadFile("/proc/" + tid + "/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(raw)) {
		if pid, ok := strings.CutPrefix(line, "Tgid:"); ok {
			return strconv.Atoi(strings.TrimSpace(pid))
		}
	}
	return 0, os.ErrNotExist
}

// readdress makes the container's processes listen on another port than the one that they ask for, or at an address of their own.
func (s *supervisor) readdress() error {
	var by rule
	switch {
	case s.spec.Port != nil:
		by = *s.spec.Port
	case s.spec.Network != nil && s.spec.Network.Address.IsValid():
		by = newSite(s.spec.Network.Address)
	default:
		return nil
	}
	listener, err := listen(by)
	if err != nil {
		return err
	}
	go listener.serve()
	return nil
}

// RunWithPort is the life of a process that runs one command with another port than it asks for, as a container does: a probe
// by command looks for the container where the container believes to be. The arguments are the two ports, the executable and
// the arguments with the name as the first. It returns the exit code of the command.
func RunWithPort(args []string) int {
	runtime.LockOSThread()
	if len(args) < 4 {
		return exitBadSpec
	}
	declared, err := strconv.ParseUint(args[0], 10, 16)
	given, other := strconv.ParseUint(args[1], 10, 16)
	if err != nil || other != nil {
		return exitBadSpec
	}
	listener, err := listen(Port{Declared: uint16(declared), Given: uint16(given)})
	if err != nil {
		return exitNoState
	}
	go listener.serve()
	attr := &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}}
	pid, err := syscall.ForkExec(args[2], args[3:], attr)
	if err != nil {
		return exitNoState
	}
	for {
		var status syscall.WaitStatus
		switch _, err := syscall.Wait4(pid, &status, 0, nil); {
		case err == syscall.EINTR:
		case err != nil:
			return exitNoState
		case status.Exited():
			return status.ExitStatus()
		case status.Signaled():
			return 128 + int(status.Signal())
		}
	}
}
