package shim

import (
	"encoding/binary"
	"net/netip"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// sockaddr is a socket address as the kernel has it.
func sockaddr(to string) []byte {
	at := netip.MustParseAddrPort(to)
	if at.Addr().Is4() {
		raw := binary.NativeEndian.AppendUint16(nil, syscall.AF_INET)
		return append(append(binary.BigEndian.AppendUint16(raw, at.Port()), at.Addr().AsSlice()...), make([]byte, 8)...)
	}
	raw := binary.NativeEndian.AppendUint16(nil, syscall.AF_INET6)
	raw = append(binary.BigEndian.AppendUint16(raw, at.Port()), 0, 0, 0, 0)
	return append(append(raw, at.Addr().AsSlice()...), 0, 0, 0, 0)
}

// TestOnlyThePortOfThisMachineIsReplaced: a program reaches other machines on the port that it has itself.
func TestOnlyThePortOfThisMachineIsReplaced(t *testing.T) {
	port := Port{Declared: 8080, Given: 40001}
	for address, want := range map[string][2]bool{ // bound, connected
		"127.0.0.1:8080":          {true, true},
		"127.8.9.10:8080":         {true, true},
		"0.0.0.0:8080":            {true, true},
		"[::]:8080":               {true, true},
		"[::1]:8080":              {true, true},
		"[::ffff:127.0.0.1]:8080": {true, true},
		"10.0.0.1:8080":           {true, false},
		"[2001:db8::1]:8080":      {true, false},
		"[::ffff:10.0.0.1]:8080":  {true, false},
		"127.0.0.1:8081":          {false, false},
		"127.0.0.1:40001":         {false, false},
		"[::1]:0":                 {false, false},
	} {
		for i, connects := range []bool{false, true} {
			raw := sockaddr(address)
			before := append([]byte(nil), raw...)
			require.Equal(t, want[i], port.replace(raw, connects), "%s %t", address, connects)
			if want[i] {
				binary.BigEndian.PutUint16(before[2:], 40001)
			}
			require.Equal(t, before, raw)
		}
	}
	for _, broken := range [][]byte{nil, {1}, sockaddr("127.0.0.1:8080")[:7], sockaddr("[::1]:8080")[:23], append([]byte{1, 0}, "/tmp/socket"...)} {
		require.False(t, port.replace(broken, false))
	}
}
