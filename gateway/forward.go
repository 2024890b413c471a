package gateway

import (
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"

	"github.com/flyte-binary/flyte-binary/internal/rpc"
)

// Headers that tell an app who calls. Only the gateway sets headers that begin with ours.
const (
	ours          = "X-Flyte-"
	headerCaller  = "X-Flyte-Caller"
	headerSubject = "X-Flyte-Subject"
	headerEmail   = "X-Flyte-Email"
	headerName    = "X-Flyte-Name"
)

// rewrite makes the request for the replica of the one of the client.
func rewrite(r *httputil.ProxyRequest) {
	x := exchangeOf(r.In.Context())
	r.Out.URL = x.to // with the query as it was sent
	r.Out.Host = r.In.Host
	header := r.Out.Header
	for name := range header {
		if strings.HasPrefix(name, ours) {
			delete(header, name)
		}
	}
	identify(header, rpc.IdentityFrom(r.In.Context()))
	header.Set("X-Forwarded-For", x.client.forwarded)
	header.Set("X-Forwarded-Host", r.In.Host)
	header.Set("X-Forwarded-Proto", x.client.scheme)
	header.Del("X-Forwarded-Port")
	header.Del("X-Forwarded-Prefix")
	header.Del("X-Real-Ip")
	if x.prefix != "" {
		header.Set("X-Forwarded-Prefix", x.prefix)
	}
	// The map is that of the client's request, which gets its values when the body has been read.
	r.Out.Trailer = r.In.Trailer
	for name := range r.Out.Trailer {
		if strings.HasPrefix(name, ours) {
			delete(r.Out.Trailer, name)
		}
	}
}

// identify tells the app who calls. Values are percent-encoded where they are not plain ASCII.
func identify(header http.Header, caller rpc.Identity) {
	header.Set(headerCaller, callerName(caller.Caller))
	for _, about := range [...]struct{ name, value string }{{headerSubject, caller.Subject}, {headerEmail, caller.Email}, {headerName, caller.Name}} {
		if about.value != "" {
			header.Set(about.name, plain(about.value))
		}
	}
}

func callerName(caller rpc.Caller) string {
	switch caller {
	case rpc.CallerUser:
		return "user"
	case rpc.CallerTask:
		return "task"
	case rpc.CallerInternal:
		return "internal"
	default:
		return "anonymous"
	}
}

func plain(text string) string {
	for i := range len(text) {
		if text[i] <= ' ' || text[i] > '~' || text[i] == '%' {
			return url.PathEscape(text)
		}
	}
	return text
}
