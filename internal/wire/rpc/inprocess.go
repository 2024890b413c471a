package rpc

import (
	"context"
	"net/http"

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
