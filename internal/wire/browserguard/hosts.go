package browserguard

import (
	"maps"
	"net"
	"net/netip"
	"net/url"
	"strings"
)

// Hosts are the names under which a server may be addressed.
//
// Always allowed are names that no attacker can point at the server: IP addresses, localhost and its subdomains and, where
// OnMachine was not called, names without a dot and names of Kubernetes services.
type Hosts struct {
	names     map[string]struct{}
	onMachine bool
}

// NewHosts returns the hosts with the given names and URLs; a port, an empty text and the part * of a URL are ignored.
func NewHosts(namesAndURLs ...string) Hosts {
	h := Hosts{names: map[string]struct{}{}}
	for _, text := range namesAndURLs {
		if u, err := url.Parse(strings.ReplaceAll(text, ":*", "")); err == nil && u.Host != "" {
			text = u.Host
		}
		if name := hostname(text); name != "" {
			h.names[name] = struct{}{}
		}
	}
	return h
}

// OnMachine returns the hosts of a server outside of a cluster, which is known by the given names of its machine: in the network of
// a laptop, a neighbour may answer for any other name without a dot, by multicast DNS and similar protocols.
func (h Hosts) OnMachine(names ...string) Hosts {
	h.onMachine, h.names = true, maps.Clone(h.names)
	for _, text := range names {
		if name := hostname(text); name != "" {
			h.names[name] = struct{}{}
		}
	}
	return h
}

// Allow reports whether a Host header, with or without a port, names the server.
func (h Hosts) Allow(header string) bool {
	name := hostname(header)
	if name == "" {
		return false
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return true
	}
	inCluster := !strings.Contains(name, ".") || strings.HasSuffix(name, ".svc") || strings.HasSuffix(name, ".svc.cluster.local")
	return inCluster && !h.onMachine || h.Listed(header)
}

// Listed reports whether a Host header has one of the names that NewHosts was given.
func (h Hosts) Listed(header string) bool {
	_, ok := h.names[hostname(header)]
	return ok
}

// hostname is the name or address in a Host header, in lower case, without brackets, port and final dot.
func hostname(header string) string {
	name := header
	if host, _, err := net.SplitHostPort(header); err == nil {
		name = host
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	return strings.ToLower(strings.TrimSuffix(name, "."))
}
