package authserver

import (
	"context"
	"net/http"
)

type peerKey struct{}

// withPeer keeps the address of the client in the context: the library does not hand it on.
func withPeer(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), peerKey{}, r.RemoteAddr)))
	})
}

// peerOf is the address that withPeer keeps.
func peerOf(ctx context.Context) string {
	peer, _ := ctx.Value(peerKey{}).(string)
	return peer
}
