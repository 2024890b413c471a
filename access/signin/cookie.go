package signin

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/flyte-binary/flyte-binary/access/visitors"
)

// cookies are those of the console at one URL.
type cookies struct {
	secure bool
	suffix string
}

// cookiesAt returns the cookies of an installation. Over TLS they are bound to its host. Cookies do not know ports, so the names
// have it: several installations may run on one machine.
func cookiesAt(installation string) cookies {
	at, err := url.Parse(installation)
	if err != nil {
		return cookies{}
	}
	c := cookies{secure: at.Scheme == "https"}
	if port := at.Port(); port != "" {
		c.suffix = "-" + port
	}
	return c
}

func (c cookies) name(what string) string {
	name := "flyte-" + what + c.suffix
	if c.secure {
		return "__Host-" + name
	}
	return name
}

// set sends a cookie that the browser keeps for a time; a negative one deletes it.
func (c cookies) set(w http.ResponseWriter, what, value string, lifetime time.Duration) {
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // it is secure over TLS; without, browsers would not keep it
		Name: c.name(what), Value: value, Path: "/", Secure: c.secure, HttpOnly: true, SameSite: http.SameSiteLaxMode, MaxAge: int(lifetime / time.Second),
	})
}

// read is the value of a cookie; empty if there is none.
func (c cookies) read(header http.Header, what string) string {
	if header["Cookie"] == nil {
		return ""
	}
	cookie, err := (&http.Request{Header: header}).Cookie(c.name(what))
	if err != nil {
		return ""
	}
	return cookie.Value
}

// local is a path of this installation to return to: the console if the given one leads elsewhere.
func local(path string) string {
	to, err := url.Parse(path)
	if err != nil || to.IsAbs() || to.Host != "" || strings.ContainsAny(path, "\\\r\n\t") ||
		!strings.HasPrefix(path, "/v2/") && !strings.HasPrefix(path, "/apps/") && !strings.HasPrefix(path, DevicePage) && !strings.HasPrefix(path, visitors.Page+"?") && !strings.HasPrefix(path, Page+"?request=") {
		return "/v2/"
	}
	return path
}
