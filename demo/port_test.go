package demo

import (
	"errors"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

// Links and clients get a name that leads to the address that is listened on.
func TestTheAddressThatClientsGetIsTheOneListenedOn(t *testing.T) {
	both, four, six := []string{"127.0.0.1", "::1"}, []string{"127.0.0.1"}, []string{"::1"}
	for _, c := range []struct {
		host, listened, want string
		localhost            []string
	}{
		{"127.0.0.1", "127.0.0.1", "localhost", both},
		{"127.0.0.1", "127.0.0.1", "127.0.0.1", six},
		{"127.0.0.1", "127.0.0.1", "127.0.0.1", nil},
		{"127.0.0.2", "127.0.0.2", "127.0.0.2", both},
		{"::1", "::1", "localhost", both},
		{"::1", "::1", "::1", four},
		{"localhost", "127.0.0.1", "localhost", four},
		{"localhost", "::1", "localhost", six},
		{"", "::", "localhost", both},
		{"0.0.0.0", "0.0.0.0", "localhost", both},
		{"0.0.0.0", "0.0.0.0", "127.0.0.1", six},
		{"192.0.2.1", "192.0.2.1", "192.0.2.1", both},
		{"laptop.example", "192.0.2.1", "laptop.example", both},
	} {
		got := hostFor(c.host, net.ParseIP(c.listened), func(name string) ([]net.IP, error) {
			if c.localhost == nil || name != "localhost" {
				return nil, errors.New("no such host")
			}
			var all []net.IP
			for _, address := range c.localhost {
				all = append(all, net.ParseIP(address))
			}
			return all, nil
		})
		require.Equal(t, c.want, got, "%s (%s) where localhost is %v", c.host, c.listened, c.localhost)
	}
	got := hostFor("::1", net.ParseIP("::1"), func(name string) ([]net.IP, error) {
		return map[string][]net.IP{"localhost": {net.IPv4(127, 0, 0, 1)}, "ip6-localhost": {net.ParseIP("::1")}}[name], nil
	})
	require.Equal(t, "ip6-localhost", got, "the SDK cannot print links with brackets")
}
