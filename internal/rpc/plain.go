package rpc

import (
	"context"
	"errors"
	"net/http"

	"connectrpc.com/connect"
)

// plain takes plain HTTP routes through the parts of the chain that concern them: who calls, and whether they may. A
// route names no resource, so it takes the permission for everything.
type plain struct {
	authenticate around
	authorise    *authorisation
	log          around
}

func newPlain(chain Chain) *plain {
	chain = chain.withDefaults()
	return &plain{
		log:          requestLog(chain.Log),
		authenticate: authenticate(chain.Authenticator, chain.InternalToken),
		authorise:    &authorisation{authoriser: chain.Authoriser},
	}
}

// guard is h behind the rule of its pattern. Public and signed routes need no caller, and an invalid credential
// must not stop a probe.
func (p *plain) guard(pattern string, rule Rule, h http.Handler) http.Handler {
	row := procedure{class: rule.Class, action: rule.Action}
	open := rule.Class == ClassPublic || rule.Class == ClassSigned
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		serve := func(ctx context.Context) error {
			asked, err := p.authorise.admit(ctx, pattern, row, true)
			if err == nil && asked {
				_, err = p.authorise.one(ctx, rule, Resource{})
			}
			if err != nil {
				return answer(ctx, err)
			}
			h.ServeHTTP(w, r.WithContext(ctx))
			return nil
		}
		call := call{pattern, r.Header}
		err := p.log(r.Context(), call, func(ctx context.Context) error {
			if open {
				return serve(ctx)
			}
			return p.authenticate(ctx, call, serve)
		})
		if err != nil {
			refuse(w, err)
		}
	})
}

// refuse answers a request that no handler has seen.
func refuse(w http.ResponseWriter, err error) {
	var wire *connect.Error
	if !errors.As(err, &wire) {
		wire = toConnect(err)
	}
	status := http.StatusInternalServerError
	switch wire.Code() { //nolint:exhaustive // the rest is our fault
	case connect.CodeUnauthenticated:
		status = http.StatusUnauthorized
	case connect.CodePermissionDenied:
		status = http.StatusForbidden
	case connect.CodeUnavailable:
		status = http.StatusServiceUnavailable
	}
	http.Error(w, wire.Message(), status)
}
