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

// replaces applies a rule to a call of a socket for streams.
func replaces(by rule, address []byte, connects bool) bool {
	return by.concerns(address, connects) && by.change(-1, syscall.SOCK_STREAM, address, connects)
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
			require.Equal(t, want[i], replaces(port, raw, connects), "%s %t", address, connects)
			if want[i] {
				binary.BigEndian.PutUint16(before[2:], 40001)
			}
			require.Equal(t, before, raw)
		}
	}
	for _, broken := range [][]byte{nil, {1}, sockaddr("127.0.0.1:8080")[:7], sockaddr("[::1]:8080")[:23], append([]byte{1, 0}, "/tmp/socket"...)} {
		require.False(t, replaces(port, broken, false))
	}
}

// TestAnAddressOfTheProcessesTakesTheirPorts: what a program listens on and finds at 127.0.0.1 is at its own address, and only that.
func TestAnAddressOfTheProcessesTakesTheirPorts(t *testing.T) {
	own := newSite(netip.MustParseAddr("127.77.0.2"))
	for _, tc := range []struct {
		address, want string
		connects      bool
	}{
		{"127.0.0.1:8080", "", true}, // of another program
		{"0.0.0.0:8080", "127.77.0.2:8080", false},
		{"127.0.0.1:8081", "127.109.0.2:8081", false},
		{"[::ffff:0.0.0.0]:8082", "[::ffff:127.77.0.2]:8082", false},
		{"[::1]:8083", "[::1]:0", false},
		{"127.0.0.1:8080", "127.77.0.2:8080", true},
		{"0.0.0.0:8081", "127.109.0.2:8081", true},
		{"[::1]:8082", "[::ffff:127.77.0.2]:8082", true},
		{"[::1]:8083", "", true},
		{"127.0.0.1:0", "", false},
		{"0.0.0.0:0", "", false},
		{"10.0.0.1:8080", "", false},
		{"10.0.0.1:8080", "", true},
		{"127.77.0.3:8080", "", false},
		{"127.0.0.53:53", "", true},
	} {
		raw := sockaddr(tc.address)
		want := append([]byte(nil), raw...)
		if tc.want != "" {
			want = sockaddr(tc.want)
		}
		require.Equal(t, tc.want != "", replaces(own, raw, tc.connects), "%s %t", tc.address, tc.connects)
		require.Equal(t, want, raw, "%s %t", tc.address, tc.connects)
	}
}
