package rpc

import (
	"errors"
	"net/http"

	"connectrpc.com/connect"

	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
)

// plain takes plain HTTP routes through the parts of the chain that concern them: who calls, and whether they may. A
// route names no resource, so it takes the permission for everything.
type plain struct {
	gate      *gate
	authorise *authorisation
}

// Challenger is a handler that says in WWW-Authenticate how a caller without a credential gets one.
type Challenger interface{ Challenge() string }

// guard is h behind the rule of its pattern.
func (p *plain) guard(pattern string, rule authz.Rule, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, err := p.gate.pass(r.Context(), call{request: requestOf(r, pattern)}, rule)
		if err == nil {
			err = p.authorise.request(ctx, requestOf(r, pattern), rule, authz.Resource{})
		}
		if err != nil {
			if challenger, ok := h.(Challenger); ok && connect.CodeOf(toConnect(err)) == connect.CodeUnauthenticated {
				w.Header().Set(challenge, challenger.Challenge())
			}
			refuse(w, err)
			return
		}
		h.ServeHTTP(w, r.WithContext(ctx))
	})
}

const challenge = "WWW-Authenticate"

// isCall reports whether a request is a call by its form. Every GET could be one; those of browsers and probes are not.
func isCall(r *http.Request) bool {
	return (r.Method == http.MethodPost || r.URL.Query().Has("connect")) && connect.NewErrorWriter().IsSupported(r)
}

// Refuse answers a request that no handler has seen: a call in the protocol of its caller, anything else with a status.
func Refuse(w http.ResponseWriter, r *http.Request, err error) {
	if isCall(r) {
		// A failed write means that the client has gone.
		_ = connect.NewErrorWriter().Write(w, r, toConnect(err))
		return
	}
	refuse(w, err)
}

// refuse answers a plain request.
func refuse(w http.ResponseWriter, err error) {
	var wire *connect.Error
	if !errors.As(err, &wire) {
		wire = toConnect(err)
	}
	status := http.StatusInternalServerError
	switch wire.Code() { //nolint:exhaustive // the rest is our fault
	case connect.CodeUnauthenticated:
		status = http.StatusUnauthorized
		if w.Header().Get(challenge) == "" {
			w.Header().Set(challenge, "Bearer")
		}
	case connect.CodeNotFound:
		status = http.StatusNotFound
	case connect.CodePermissionDenied:
		status = http.StatusForbidden
	case connect.CodeResourceExhausted:
		status = http.StatusTooManyRequests
	case connect.CodeUnavailable:
		status = http.StatusServiceUnavailable
	}
	if when := wire.Meta().Get(retryAfter); when != "" {
		w.Header().Set(retryAfter, when)
	}
	http.Error(w, wire.Message(), status)
}
