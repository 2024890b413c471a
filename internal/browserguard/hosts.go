package browserguard

import (
	"net"
	"net/netip"
	"net/url"
	"strings"
)

// Hosts are the names under which a server may be addressed.
//
// Always allowed are names that no stranger can point at the server: IP addresses, localhost and its subdomains, names
// without a dot, and names of Kubernetes services.
type Hosts struct{ names map[string]struct{} }

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

// Allow reports whether a Host header, with or without a port, names the server.
func (h Hosts) Allow(header string) bool {
	name := hostname(header)
	if name == "" {
		return false
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	if !strings.Contains(name, ".") {
		return true
	}
	for _, suffix := range []string{".localhost", ".svc", ".svc.cluster.local"} {
		if strings.HasSuffix(name, suffix) {
			return true
		}
	}
	return h.Listed(header)
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
