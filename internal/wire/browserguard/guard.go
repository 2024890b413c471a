package browserguard

import (
	"fmt"
	"net/http"
)

// Guard returns next behind the checks. allowed reports whether pages of an origin may send requests of every kind.
//
// Requests under an unknown name get 421; requests that a page of another origin sends with a method other than GET,
// HEAD or OPTIONS get 403. Clients that are not browsers send neither Origin nor Sec-Fetch-Site and pass.
func Guard(hosts Hosts, allowed func(r *http.Request) bool, next http.Handler) http.Handler {
	protection := http.NewCrossOriginProtection()
	protection.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, fmt.Sprintf("a page of %q must not send this request; list its origin in server.allowedOrigins to allow it", r.Header.Get("Origin")),
			http.StatusForbidden)
	}))
	sameOrigin := protection.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !hosts.Allow(r.Host):
			http.Error(w, fmt.Sprintf("the server is not known as %q; list the name in server.allowedHosts to allow it", r.Host), http.StatusMisdirectedRequest)
		case r.Header.Get("Origin") != "" && allowed(r):
			next.ServeHTTP(w, r)
		default:
			sameOrigin.ServeHTTP(w, r)
		}
	})
}
