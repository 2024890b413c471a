package rpc

import (
	"context"
	"net/http"
	"strings"

	"connectrpc.com/connect"
	"go.opentelemetry.io/otel/trace"

	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/memhttp"
)

// InProcessURL is the base URL for clients over InProcess.
const InProcessURL = "http://in-process"

// InProcess calls h without any socket, see memhttp. Calls made this way pass as internal; no request from a network can,
// since the mark is a context value and not a header. The caller's identity, the record of its call and its span cross the call,
// its other context values do not.
func InProcess(h http.Handler) connect.HTTPClient {
	return memhttp.Client{Handler: h, Values: crossing}
}

// inProcessKey marks the context of a request that came through InProcess.
type inProcessKey struct{}

func isInProcess(ctx context.Context) bool {
	marked, _ := ctx.Value(inProcessKey{}).(bool)
	return marked
}

// crossing has the values of the caller's context that cross a call. Everything else, such as the caller's own call
// information, stays behind.
func crossing(caller context.Context) context.Context {
	values := context.WithValue(context.Background(), inProcessKey{}, true)
	if identity, ok := authz.IdentityIn(caller); ok {
		values = authz.WithIdentity(values, identity)
	}
	if record := authz.RecordIn(caller); record != nil {
		values = authz.WithRecord(values, record)
	}
	return trace.ContextWithSpan(values, trace.SpanFromContext(caller))
}

// OnBehalf calls h, without any socket, as the client of another request would: from the same address and connection, with the
// same credentials. Unlike InProcess such calls are not trusted. They pass the whole chain, which authenticates, limits,
// authorises and records each of them as if the client had made it.
//
// The cookies of the request do not count: what a browser sends by itself must not make calls.
func OnBehalf(h http.Handler, of *http.Request) connect.HTTPClient {
	as := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, values := range of.Header {
			if !describesBody(name) && r.Header[name] == nil {
				r.Header[name] = values
			}
		}
		r.RemoteAddr, r.TLS, r.Host = of.RemoteAddr, of.TLS, of.Host
		h.ServeHTTP(w, r)
	})
	return memhttp.Client{Handler: as, Values: func(caller context.Context) context.Context {
		return trace.ContextWithSpan(context.Background(), trace.SpanFromContext(caller))
	}}
}

// describesBody reports whether a header is about the body or the connection of its own request, or is a cookie.
func describesBody(name string) bool {
	switch name {
	case "Connection", "Cookie", "Expect", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Range", "User-Agent":
		return true
	}
	for _, prefix := range []string{"Content-", "Accept", "Connect-", "Grpc-", "If-"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
