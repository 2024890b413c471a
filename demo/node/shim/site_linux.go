package shim

import (
	"encoding/binary"
	"net/netip"
	"sync"
	"syscall"
)

// site is the rule of an address that processes have to themselves, see Network.
type site struct {
	own netip.Addr

	mu    sync.Mutex
	ports map[uint16]netip.Addr // GUARDED_BY(mu): where the processes have bound which
}

func newSite(own netip.Addr) *site { return &site{own: own, ports: map[uint16]netip.Addr{}} }

// loopback is what the processes have in place of 127.0.0.1. Programs bind the same port there and at their address, such as the
// agents of Ray. It has one bit more than the addresses in Subnet.
func (s *site) loopback() netip.Addr {
	raw := s.own.As4()
	raw[1] |= 1 << 5
	return netip.AddrFrom4(raw)
}

// concerns implements rule.
func (s *site) concerns(address []byte, connects bool) bool {
	named, ok := addressOf(address)
	switch ip, port := named.Addr(), named.Port(); {
	case !ok:
		return false
	case connects && Subnet().Contains(ip):
		return true
	case connects:
		return isHere(ip) && s.find(port).IsValid()
	default:
		return isHere(ip) && port != 0
	}
}

// isHere reports whether an address is one that every process believes to have to itself in a network of its own.
func isHere(ip netip.Addr) bool {
	return ip.IsUnspecified() || ip == netip.IPv6Loopback() || ip == netip.AddrFrom4([4]byte{127, 0, 0, 1})
}

// change implements rule.
func (s *site) change(socket, kind int, address []byte, connects bool) bool {
	named, _ := addressOf(address)
	if connects && Subnet().Contains(named.Addr()) {
		s.comeFrom(socket)
		return false
	}
	if kind != syscall.SOCK_STREAM {
		return false
	}
	if !connects && isIPv6(address) && (named.Addr() == netip.IPv6Loopback() || isIPv6Only(socket)) {
		// Programs that listen at both kinds of addresses would take the port from others of this machine.
		loopback := netip.IPv6Loopback().As16()
		copy(address[8:24], loopback[:])
		binary.BigEndian.PutUint16(address[2:4], 0)
		return true
	}
	to := s.own
	switch {
	case connects:
		to = s.find(named.Port())
	case !named.Addr().IsUnspecified():
		to = s.loopback()
	}
	if isIPv6(address) {
		mapped := to.As16()
		copy(address[8:24], mapped[:])
	} else {
		plain := to.As4()
		copy(address[4:8], plain[:])
	}
	if !connects {
		s.add(named.Port(), to)
	}
	return true
}

// comeFrom gives a socket that has no address that of the processes, so that the other end sees it, and so do programs that ask
// the kernel which address they have.
func (s *site) comeFrom(socket int) {
	name, err := syscall.Getsockname(socket)
	if err != nil {
		return
	}
	// The kernel chooses the port when the socket is connected, as it would have done.
	_ = syscall.SetsockoptInt(socket, syscall.IPPROTO_IP, bindNoPort, 1)
	switch free := name.(type) {
	case *syscall.SockaddrInet4:
		if free.Port == 0 && free.Addr == [4]byte{} {
			_ = syscall.Bind(socket, &syscall.SockaddrInet4{Addr: s.own.As4()})
		}
	case *syscall.SockaddrInet6:
		if free.Port == 0 && free.Addr == [16]byte{} {
			_ = syscall.Bind(socket, &syscall.SockaddrInet6{Addr: s.own.As16()})
		}
	}
}

// bindNoPort is IP_BIND_ADDRESS_NO_PORT.
const bindNoPort = 24

// find is where the processes have bound a port; not valid for nowhere.
func (s *site) find(port uint16) netip.Addr {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ports[port]
}

func (s *site) add(port uint16, at netip.Addr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ports[port] = at
}

func isIPv6(address []byte) bool {
	return binary.NativeEndian.Uint16(address) == syscall.AF_INET6
}

func isIPv6Only(socket int) bool {
	only, err := syscall.GetsockoptInt(socket, syscall.IPPROTO_IPV6, syscall.IPV6_V6ONLY)
	return err == nil && only != 0
}
