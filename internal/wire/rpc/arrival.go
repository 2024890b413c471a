package rpc

import (
	"context"
	"net/http"

	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
)

// arrivalKey leads to what the gate of a procedure cannot see of the request.
type arrivalKey struct{}

// arrival marks a request on its way to the handler of a procedure, whose gate sees no more than its headers and its peer.
func arrival(r *http.Request) *http.Request {
	if r.TLS == nil && r.Method == http.MethodPost {
		return r // nothing that arrived does not say by itself
	}
	return r.WithContext(context.WithValue(r.Context(), arrivalKey{}, r))
}

// arrived is what is known of a call before its body is read.
func arrived(ctx context.Context, procedure, peer string, header http.Header) authz.Request {
	request := authz.Request{Header: header, Peer: peer, Procedure: procedure, Method: http.MethodPost, Origin: header.Get("Origin")}
	if r, ok := ctx.Value(arrivalKey{}).(*http.Request); ok {
		request.TLS, request.Method = r.TLS, r.Method
	}
	return request
}

// requestOf is what is known of a request to a plain route.
func requestOf(r *http.Request, pattern string) authz.Request {
	return authz.Request{
		Header: r.Header, Peer: r.RemoteAddr, TLS: r.TLS, Procedure: pattern, Method: r.Method, Origin: r.Header.Get("Origin"),
	}
}
