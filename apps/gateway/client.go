package gateway

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// client is where a request comes from.
type client struct {
	address   string // of the client, as far as it is known
	forwarded string // X-Forwarded-For for the app
	scheme    string // that the client used
	internal  bool   // it is in a network of the installation
}

// networks tell clients apart by their addresses.
type networks struct{ internal, proxies []netip.Prefix }

// of says where a request comes from. A proxy's word counts only if the proxy is trusted; a request that has passed an
// unknown proxy comes from outside, whatever the address of the proxy.
func (n networks) of(r *http.Request) client {
	peer, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		peer = r.RemoteAddr
	}
	c := client{address: peer, forwarded: peer, scheme: "http"}
	if r.TLS != nil {
		c.scheme = "https"
	}
	passed := passedOn(r.Header)
	if !passed || !contains(n.proxies, peer) {
		c.internal = !passed && contains(n.internal, peer)
		return c
	}
	if scheme := strings.ToLower(r.Header.Get("X-Forwarded-Proto")); scheme == "http" || scheme == "https" {
		c.scheme = scheme
	}
	hops := hopsOf(r.Header)
	if len(hops) == 0 {
		return c // a proxy that does not say for whom
	}
	c.forwarded = strings.Join(append(hops, peer), ", ")
	for _, hop := range slices.Backward(hops) {
		c.address = hop
		if !contains(n.proxies, hop) {
			break
		}
	}
	c.internal = contains(n.internal, c.address)
	return c
}

// hopsOf lists the addresses of X-Forwarded-For, the client first.
func hopsOf(header http.Header) []string {
	var hops []string
	for _, line := range header.Values("X-Forwarded-For") {
		for hop := range strings.SplitSeq(line, ",") {
			if hop = strings.TrimSpace(hop); hop != "" {
				hops = append(hops, hop)
			}
		}
	}
	return hops
}

// passedOn reports whether a proxy has passed a request on.
func passedOn(header http.Header) bool {
	for _, name := range []string{"X-Forwarded-For", "Forwarded", "Via", "X-Real-Ip", "X-Forwarded-Host"} {
		if len(header[name]) > 0 {
			return true
		}
	}
	return false
}

func contains(networks []netip.Prefix, text string) bool {
	address, err := netip.ParseAddr(text)
	if err != nil {
		return false
	}
	address = address.Unmap().WithZone("")
	return slices.ContainsFunc(networks, func(p netip.Prefix) bool { return p.Contains(address) })
}
