package gateway

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// base is where the paths of apps begin.
const base = "/apps/"

// Hosts are the names of the server itself; browserguard.Hosts is one. The values are those of Host headers.
type Hosts interface {
	// Allow reports whether a name may be the server's.
	Allow(host string) bool
	// Listed reports whether a name was configured as the server's.
	Listed(host string) bool
}

// place is where a request goes.
type place struct {
	// app is nil if no app has the address.
	app *app
	// prefix is what the path has in front of the app's own, such as /apps/p/d/name; empty for an app with its own host.
	prefix string
	// path is the app's own path as it was sent, with its escapes.
	path string
}

// find returns where a request goes, and whether its address is one of apps at all. It compares addresses as they were
// sent: what is escaped or has dots names no app, and whatever follows the name of an app goes to that app and to no other.
func find(r *http.Request, t *table, domain string, own Hosts) (found place, ours bool) {
	if label, ok := below(r.Host, domain); ok && !own.Listed(r.Host) {
		// All names below the domain are reserved for apps, so that a page of a deleted app never finds the console in its place.
		return place{app: t.subdomain(label), path: sentPath(r)}, true
	}
	if a := t.host(r.Host); a != nil && !serverName(r.Host, own) {
		return place{app: a, path: sentPath(r)}, true
	}
	rest, ok := strings.CutPrefix(sentPath(r), base)
	if !ok || !own.Allow(r.Host) {
		return place{}, false
	}
	key, path := cutSegments(rest, 3)
	return place{app: t.path(key), prefix: base + key, path: path}, true
}

// sentPath is the path of a request as it was sent. url.URL has it only if it has no byte that should be escaped, and else
// escapes again what it has unescaped, so that an escaped slash would become a plain one.
func sentPath(r *http.Request) string {
	path, _, _ := strings.Cut(r.RequestURI, "?")
	if !strings.HasPrefix(path, "/") { // an absolute address, or the star of OPTIONS
		path = r.URL.EscapedPath()
	}
	return escapeRest(path)
}

// escapeRest escapes the bytes that no path may have, and keeps the escapes that are there.
func escapeRest(path string) string {
	clean := 0
	for clean < len(path) && !strays(path[clean]) {
		clean++
	}
	if clean == len(path) {
		return path
	}
	escaped := []byte(path[:clean])
	for _, c := range []byte(path[clean:]) {
		if strays(c) {
			const hex = "0123456789ABCDEF"
			escaped = append(escaped, '%', hex[c>>4], hex[c&15])
		} else {
			escaped = append(escaped, c)
		}
	}
	return string(escaped)
}

// strays reports whether a byte must be escaped in a path.
func strays(c byte) bool { return c <= ' ' || c > '~' || strings.IndexByte("\"<>\\^`{|}#?", c) >= 0 }

// cutSegments splits a path after n segments.
func cutSegments(path string, n int) (segments, rest string) {
	for i := range len(path) {
		if path[i] != '/' {
			continue
		}
		if n--; n == 0 {
			return path[:i], path[i:]
		}
	}
	return path, ""
}

// below returns the label of a host that is one label below the domain.
func below(host, domain string) (label string, ok bool) {
	if domain == "" {
		return "", false
	}
	return strings.CutSuffix(hostname(host), "."+domain)
}

// serverName reports whether a host can only be the server's: no app may take it, whatever it declares.
func serverName(host string, own Hosts) bool {
	name := hostname(host)
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	return !strings.Contains(name, ".") || own.Listed(host)
}

// hostname is the name in a Host header in lower case, without brackets, port and final dot.
func hostname(header string) string {
	name := header
	if host, _, err := net.SplitHostPort(header); err == nil {
		name = host
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	return strings.ToLower(strings.TrimSuffix(name, "."))
}

// target is the address at a replica that a request means, without the replica.
func (p place) target(asked *url.URL) (*url.URL, error) {
	escaped := p.path
	if escaped == "" {
		escaped = "/"
	}
	path, err := url.PathUnescape(escaped)
	if err != nil {
		return nil, err
	}
	return &url.URL{Scheme: "http", Path: path, RawPath: escaped, RawQuery: asked.RawQuery, ForceQuery: asked.ForceQuery}, nil
}

func (t *table) path(key string) *app {
	if t == nil {
		return nil
	}
	return t.paths[key]
}

func (t *table) subdomain(label string) *app {
	if t == nil {
		return nil
	}
	return t.subdomains[label]
}

func (t *table) host(host string) *app {
	if t == nil || len(t.hosts) == 0 {
		return nil
	}
	return t.hosts[hostname(host)]
}
