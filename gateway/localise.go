package gateway

import (
	"net/http"
	"net/url"
	"strings"
)

// sandbox isolates pages of apps that share their origin with the console: their scripts run with an origin of their own,
// and reach neither the console's storage nor the API.
const sandbox = "sandbox allow-scripts allow-forms allow-popups allow-popups-to-escape-sandbox allow-modals allow-downloads"

// shared are headers of answers that concern a whole host. An app that shares one with the console and other apps has no say
// in them.
func shared() []string {
	return []string{"Alt-Svc", "Clear-Site-Data", "Service-Worker-Allowed", "Strict-Transport-Security"}
}

// localise makes the answer of an app fit the address under which the client knows the app.
func localise(x *exchange, response *http.Response, sandboxed bool) {
	header := response.Header
	for name := range header {
		if strings.HasPrefix(name, ours) {
			delete(header, name)
		}
	}
	for i, cookie := range header["Set-Cookie"] {
		header["Set-Cookie"][i] = x.cookie(cookie)
	}
	if x.prefix == "" {
		return
	}
	for _, name := range []string{"Location", "Content-Location"} {
		if value := header.Get(name); value != "" {
			header.Set(name, x.location(value, response.Request.Host, response.Request.URL.Host))
		}
	}
	for _, name := range shared() {
		header.Del(name)
	}
	if sandboxed {
		header.Add("Content-Security-Policy", sandbox)
	}
}

// location puts an address of the app under the prefix. Addresses of other hosts stay as they are, and so do relative ones.
func (p place) location(value, host, replica string) string {
	to, err := url.Parse(value)
	if err != nil {
		return p.prefix + "/"
	}
	switch {
	case to.Host == "" && to.Scheme == "" && strings.HasPrefix(value, "/"):
	case to.Host != "" && (to.Host == host || to.Host == replica) && to.User == nil:
	default:
		return value
	}
	path := to.EscapedPath()
	if path != p.prefix && !strings.HasPrefix(path, p.prefix+"/") { // some frameworks know X-Forwarded-Prefix
		path = p.prefix + "/" + strings.TrimPrefix(path, "/")
	}
	if to.RawQuery != "" {
		path += "?" + to.RawQuery
	}
	if to.Fragment != "" {
		path += "#" + to.EscapedFragment()
	}
	return path
}

// cookie binds a cookie to the app: to its path, and to the host that set it.
func (p place) cookie(line string) string {
	parts := strings.Split(line, ";")
	bound := parts[:1]
	path := ""
	for _, part := range parts[1:] {
		name, value, _ := strings.Cut(part, "=")
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "domain":
		case "path":
			path = strings.TrimSpace(value)
		default:
			bound = append(bound, part)
		}
	}
	switch {
	case p.prefix == "" && path != "":
		bound = append(bound, " Path="+path)
	case p.prefix == "":
	case path == "" || path[0] != '/' || path == "/":
		bound = append(bound, " Path="+p.prefix)
	case path == p.prefix || strings.HasPrefix(path, p.prefix+"/"):
		bound = append(bound, " Path="+path)
	default:
		bound = append(bound, " Path="+p.prefix+path)
	}
	return strings.Join(bound, ";")
}
