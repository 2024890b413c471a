// Package tokenpath takes the token out of the path of requests that present one there. It is in front of everything that
// logs, measures or forwards requests.
package tokenpath

import (
	"context"
	"net/http"
	"net/url"
	"strings"
)

// prefix is what the path of a request begins with that presents a token: /t/TOKEN, and then the path. Clients that use plain HTTP
// send no headers of their own; they do keep the path of their endpoint.
const prefix = "/t/"

type tokenKey struct{}

// Cut takes the token out of the path of requests. From has it then.
func Cut(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, prefix) {
			next.ServeHTTP(w, r)
			return
		}
		token, path, _ := strings.Cut(r.URL.Path[len(prefix):], "/")
		shown := *r.URL
		shown.Path, shown.RawPath = "/"+path, ""
		if raw := r.URL.RawPath; raw != "" {
			// A client that escapes a token, which needs none, might hide another path in it.
			rest, same := strings.CutPrefix(raw, prefix+token+"/")
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

// From is the token that the path of the request began with; empty if there was none.
func From(ctx context.Context) string {
	token, _ := ctx.Value(tokenKey{}).(string)
	return token
}
