package rpc

import (
	"context"
	"net/http"
	"net/url"
	"strings"
)

// TokenPath is what the path of a request begins with that presents a token: /t/TOKEN, and then the path. Clients that use plain HTTP
// send no headers of their own; they do keep the path of their endpoint.
const TokenPath = "/t/"

type tokenKey struct{}

// WithoutTokenPath takes the token out of the path of requests, before anything logs, measures or forwards it. The chain hands it to
// the authenticator, as authz.Request.Token.
func WithoutTokenPath(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, TokenPath) {
			next.ServeHTTP(w, r)
			return
		}
		token, path, _ := strings.Cut(r.URL.Path[len(TokenPath):], "/")
		shown := *r.URL
		shown.Path, shown.RawPath = "/"+path, ""
		if raw := r.URL.RawPath; raw != "" {
			// A client that escapes a token, which needs none, might hide another path in it.
			rest, same := strings.CutPrefix(raw, TokenPath+token+"/")
			if unescaped, err := url.PathUnescape(rest); !same || err != nil || unescaped != path {
				http.Error(w, "the token at the beginning of the path must not be escaped", http.StatusBadRequest)
				return
			}
			shown.RawPath = "/" + rest
		}
		r = r.WithContext(context.WithValue(r.Context(), tokenKey{}, token))
		r.URL, r.RequestURI = &shown, shown.RequestURI()
		next.ServeHTTP(w, r)
	})
}

// tokenIn is the token that the path of the request began with.
func tokenIn(ctx context.Context) string {
	token, _ := ctx.Value(tokenKey{}).(string)
	return token
}
