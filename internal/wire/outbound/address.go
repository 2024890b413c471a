package outbound

import (
	"fmt"
	"net/netip"

	"github.com/flyte-binary/flyte-binary/internal/invalid"
)

// ForbiddenError says that an address must not be called. A retry does not help.
type ForbiddenError struct {
	// Address is the IP address.
	Address string
	// Setting is the configuration key that would allow it.
	Setting string
}

func (e *ForbiddenError) Error() string {
	return fmt.Sprintf("the address %s must not be called; see %s", e.Address, e.Setting)
}

// refused lists addresses that a task's author must not reach through the server: this machine, private networks with the
// cluster's own services, cloud metadata services, which serve the credentials of the machine, and addresses that reach
// these through a translator or a tunnel. From the special-purpose registries of IANA.
func refused() []netip.Prefix {
	var ranges []netip.Prefix
	for _, text := range []string{
		"0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "240.0.0.0/4", "::/128", "::1/128", "fe80::/10", "ff00::/8",
		"10.0.0.0/8", "100.64.0.0/10", "172.16.0.0/12", "192.0.0.0/24", "192.168.0.0/16", "198.18.0.0/15", "fc00::/7", "fec0::/10",
		"64:ff9b::/96", "64:ff9b:1::/48", "2001::/32", "2002::/16",
	} {
		ranges = append(ranges, netip.MustParsePrefix(text))
	}
	return ranges
}

// policy says which addresses may be dialled.
type policy struct {
	allowed, denied []netip.Prefix
	setting         string
}

func (p policy) check(address string) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("the address %s cannot be read", address)
	}
	ip := at.Addr().Unmap().WithZone("")
	for _, prefix := range p.allowed {
		if prefix.Contains(ip) {
			return nil
		}
	}
	for _, prefix := range p.denied {
		if prefix.Contains(ip) {
			return &ForbiddenError{Address: ip.String(), Setting: p.setting}
		}
	}
	return nil
}

// Prefixes parses the address ranges of a configuration field. The error lists all that are wrong, by their index.
func Prefixes(texts []string) ([]netip.Prefix, error) {
	parsed := make([]netip.Prefix, 0, len(texts))
	var found invalid.Fields
	for i, text := range texts {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			found.Add("[%d]: must be an address range such as 127.0.0.0/8, got %q", i, text)
			continue
		}
		parsed = append(parsed, prefix)
	}
	return parsed, found.Err()
}
