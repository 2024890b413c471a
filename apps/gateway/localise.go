package gateway

import (
	"net/http"
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

// localise makes the header of an app's answer fit the address under which the client knows the app. It is that of an early
// hint, or of the answer itself.
func (x *exchange) localise(header http.Header, replica string) {
	dropOwn(header)
	for i, cookie := range header["Set-Cookie"] {
		header["Set-Cookie"][i] = x.cookie(cookie)
	}
	x.readdress(header, replica)
	if x.prefix == "" {
		return
	}
	for _, name := range shared() {
		header.Del(name)
	}
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
