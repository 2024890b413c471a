package gateway

import (
	"net/http"
	"net/url"
	"strings"
)

// readdress puts the addresses in the header of an answer under the prefix of the app: those that the app means to be its
// own. Addresses of other hosts stay as they are, and so does what is relative and stays within the app.
func (x *exchange) readdress(header http.Header, replica string) {
	if x.prefix == "" {
		return
	}
	at := func(address string) string { return x.location(address, x.host, replica) }
	for _, name := range [...]string{"Location", "Content-Location", "Sourcemap"} {
		for i, address := range header[name] {
			header[name][i] = at(address)
		}
	}
	for i, value := range header["Refresh"] {
		header["Refresh"][i] = refreshed(value, at)
	}
	for i, value := range header["Link"] {
		header["Link"][i] = linked(value, at)
	}
}

// location is an address of the app as the client has to know it. It keeps the bytes that the app has sent, as far as a path
// may have them: browsers and programs differ from each other, and from url.Parse, in what they take.
func (p place) location(value, host, replica string) string {
	value = strings.Trim(value, " \t")
	scheme, rest, absolute := strings.Cut(value, "://")
	absolute = absolute && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https"))
	switch {
	case absolute:
	case strings.HasPrefix(value, "//"):
		rest = value[2:]
	case strings.HasPrefix(value, "/"):
		return p.under(value)
	default:
		return p.relative(value)
	}
	end := strings.IndexAny(rest, "/?#\\")
	if end < 0 {
		end = len(rest)
	}
	if _, err := url.Parse("http://" + rest[:end]); err != nil {
		return p.prefix + "/"
	}
	if authority := withoutPort(scheme, rest[:end]); !strings.EqualFold(authority, withoutPort(scheme, host)) && rest[:end] != replica {
		return value
	}
	return p.under(rest[end:])
}

// withoutPort removes the port of an authority that is the one of its scheme.
func withoutPort(scheme, authority string) string {
	if strings.EqualFold(scheme, "https") {
		return strings.TrimSuffix(authority, ":443")
	}
	return strings.TrimSuffix(authority, ":80")
}

// under puts a path, with its query and fragment, under the prefix. Some frameworks know X-Forwarded-Prefix, and have put it
// there already.
func (p place) under(address string) string {
	path, rest := cutPath(address)
	path = escapeRest(path)
	if path != p.prefix && !strings.HasPrefix(path, p.prefix+"/") {
		path = "/" + strings.TrimPrefix(path, "/")
		if climbs(path) {
			path = withoutDots(path)
		}
		path = p.prefix + path
	} else if inner := path[len(p.prefix):]; climbs(inner) {
		path = p.prefix + withoutDots(inner)
	}
	return path + rest
}

// relative keeps an address that is relative to the one that was asked for, unless it leads out of the app: at a host of its
// own, the root of the app is where that ends.
func (p place) relative(address string) string {
	path, rest := cutPath(address)
	if before, _, ok := strings.Cut(path, ":"); ok && !strings.Contains(before, "/") {
		return address // of another scheme
	}
	if !climbs("/" + path) {
		return address
	}
	dir := p.path[:strings.LastIndexByte(p.path, '/')+1]
	return p.prefix + withoutDots("/"+strings.TrimPrefix(dir, "/")+escapeRest(path)) + rest
}

// cutPath splits an address before its query or fragment.
func cutPath(address string) (path, rest string) {
	if at := strings.IndexAny(address, "?#"); at >= 0 {
		return address[:at], address[at:]
	}
	return address, ""
}

// dots reports whether a segment of a path is one dot or two, also if they are escaped.
func dots(segment string) int {
	switch strings.ReplaceAll(strings.ToLower(segment), "%2e", ".") {
	case ".":
		return 1
	case "..":
		return 2
	}
	return 0
}

// climbs reports whether a path leads to the directory above at some point.
func climbs(path string) bool {
	for segment := range strings.SplitSeq(path, "/") {
		if dots(segment) == 2 {
			return true
		}
	}
	return false
}

// withoutDots resolves the segments of dots of a path that begins with a slash. None leads above the root.
func withoutDots(path string) string {
	segments := strings.Split(path[1:], "/")
	kept := segments[:0:0]
	for i, segment := range segments {
		n := dots(segment)
		if n == 2 && len(kept) > 0 {
			kept = kept[:len(kept)-1]
		}
		if n == 0 {
			kept = append(kept, segment)
		} else if i == len(segments)-1 {
			kept = append(kept, "")
		}
	}
	return "/" + strings.Join(kept, "/")
}

// refreshed changes the address of a Refresh header, which is "5" or "5; url=/login".
func refreshed(value string, at func(string) string) string {
	begin := strings.IndexAny(value, ";,")
	if begin < 0 {
		return value
	}
	name, address, ok := strings.Cut(value[begin+1:], "=")
	if !ok || !strings.EqualFold(strings.TrimSpace(name), "url") {
		return value
	}
	return value[:begin] + "; url=" + at(strings.Trim(address, ` '"`))
}

// linked changes the addresses of a Link header, which are in angle brackets.
func linked(value string, at func(string) string) string {
	var changed strings.Builder
	for {
		begin := strings.IndexByte(value, '<')
		end := begin + strings.IndexByte(value[max(begin, 0):], '>')
		if begin < 0 || end < begin {
			changed.WriteString(value)
			return changed.String()
		}
		changed.WriteString(value[:begin+1])
		changed.WriteString(at(value[begin+1 : end]))
		value = value[end:]
	}
}
