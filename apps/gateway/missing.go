package gateway

import (
	"errors"
	"net/http"
	"strings"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	appv2 "github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
)

// missing answers a request for an app that does not exist. Who may not call apps there gets the same answer as for one that exists, so
// that no one learns which apps others have.
func (h *handler) missing(w http.ResponseWriter, r *http.Request, at place) {
	id := at.names()
	if id == nil {
		refuse(w, r, errUnknown)
		return
	}
	x := &exchange{place: at, host: r.Host, route: &enginev1.AppRoute{Id: id}, client: h.networks.of(r), began: uptime()}
	err := h.knocks(r, id)
	if err == nil {
		err = errUnknown
	}
	if !h.visitors.leads(w, r, x, err) {
		refuse(w, r, err)
	}
}

// knocks returns why a caller may not call an app of this name, whether there is one or not; nil if it may.
func (h *handler) knocks(r *http.Request, id *appv2.Identifier) error {
	if foreign(r) {
		return errForeign
	}
	ctx, err := h.door.Enter(r, authz.Resource{Kind: "app", Project: id.GetProject(), Domain: id.GetDomain(), Name: id.GetName()}, false)
	switch {
	case err != nil:
		return err
	case authz.IdentityFrom(ctx).Kind == authz.Anonymous && !h.open:
		return errSignIn
	default:
		return nil
	}
}

// names is the app that a path names; nil for the host of an app, and for a path that names none.
func (p place) names() *appv2.Identifier {
	parts := strings.Split(strings.TrimPrefix(p.prefix, base), "/")
	if p.prefix == "" || len(parts) != 3 || parts[0] == "" || parts[1] == "" || parts[2] == "" {
		return nil
	}
	return &appv2.Identifier{Project: parts[0], Domain: parts[1], Name: parts[2]}
}

// unnamed is an error of a request to the host of an app. It does not say whose host that is to those who may not see the app.
func (x *exchange) unnamed(err error) error {
	denied := new(authz.DenialError)
	if x.prefix == "" && errors.As(err, &denied) && denied.Hidden {
		return errUnknown
	}
	return err
}
