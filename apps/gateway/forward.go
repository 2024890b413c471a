package gateway

import (
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"

	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
)

// Headers that tell an app who calls. Only the gateway sets headers that begin with X-Flyte-.
const (
	headerCaller  = "X-Flyte-Caller"
	headerSubject = "X-Flyte-Subject"
	headerEmail   = "X-Flyte-Email"
	headerName    = "X-Flyte-Name"
	// headerIdentity says the same in a token that the app can verify.
	headerIdentity = "X-Flyte-Identity"
)

// rewrite makes the request for the replica of the one of the client.
func (h *handler) rewrite(r *httputil.ProxyRequest) {
	x := exchangeOf(r.In.Context())
	r.Out.URL = x.to // with the query as it was sent
	r.Out.Host = r.In.Host
	header := r.Out.Header
	dropTrusted(header)
	dropHidden(header, h.hidden)
	dropSession(header)
	if upgrade := header.Get("Upgrade"); upgrade != "" && !strings.EqualFold(upgrade, "websocket") {
		// Behind an upgrade to HTTP/2, a client would send the app further requests, with any header, past the gateway.
		header.Del("Upgrade")
		header.Del("Connection")
	}
	header.Del("Http2-Settings")
	identify(header, authz.IdentityFrom(r.In.Context()))
	if x.assertion != "" {
		header.Set(headerIdentity, x.assertion)
	}
	header.Set("X-Forwarded-For", x.client.forwarded)
	header.Set("X-Forwarded-Host", r.In.Host)
	header.Set("X-Forwarded-Proto", x.client.scheme)
	if x.prefix != "" {
		header.Set("X-Forwarded-Prefix", x.prefix)
	}
	r.Out.Trailer = x.trailers(r.In)
}

// trailers returns a map for the trailers that a client has announced, without those that an app would believe. The values
// arrive with the end of the body, and so may further names: only what is in the map then is passed on.
func (x *exchange) trailers(in *http.Request) http.Header {
	if len(in.Trailer) == 0 {
		return nil
	}
	x.arriving, x.passing = in, http.Header{}
	for name := range in.Trailer {
		if !trusted(name) {
			x.passing[name] = nil
		}
	}
	return x.passing
}

// passTrailers sets the values when the body of the client has ended.
func (x *exchange) passTrailers() {
	if x.arriving == nil {
		return
	}
	for name := range x.passing {
		x.passing[name] = x.arriving.Trailer[name]
	}
}

// identify tells the app who calls. Values are percent-encoded where they are not plain ASCII.
func identify(header http.Header, caller authz.Identity) {
	header.Set(headerCaller, callerName(caller.Kind))
	for _, about := range [...]struct{ name, value string }{{headerSubject, caller.Subject}, {headerEmail, caller.Email}, {headerName, caller.Name}} {
		if about.value != "" {
			header.Set(about.name, plain(about.value))
		}
	}
}

func callerName(kind authz.Kind) string {
	if kind == authz.Service {
		return "internal"
	}
	return kind.String()
}

func plain(text string) string {
	for i := range len(text) {
		if text[i] <= ' ' || text[i] > '~' || text[i] == '%' {
			return url.PathEscape(text)
		}
	}
	return text
}
