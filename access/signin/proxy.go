package signin

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/flyte-binary/flyte-binary/access/providers"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
)

// throughProxy begins the session of a person whom the proxy vouches for, as the command line and the hosts of apps need one. A client
// that waits is not answered before its person has said so. It reports whether it has answered.
func (p *Pages) throughProxy(w http.ResponseWriter, r *http.Request, to destination) bool {
	person, vouched, err := p.Vouched(r.Context(), authz.Request{Header: r.Header, TLS: r.TLS, Peer: r.RemoteAddr, Method: r.Method})
	unreachable := new(providers.UnreachableError)
	if errors.As(err, &unreachable) {
		p.providerFailed(w, r, err)
		return true
	}
	if err != nil {
		p.warn("proxy").Err(err).Str("peer", r.RemoteAddr).Msg("the word of the proxy is not valid")
		return false
	}
	if !vouched {
		return false
	}
	if to.Request != "" {
		to = destination{Return: Page + "?" + url.Values{"request": {to.Request}}.Encode()}
	}
	p.enter(w, r, person, to)
	return true
}
