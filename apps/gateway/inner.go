package gateway

import (
	"net/http"

	"connectrpc.com/connect"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// Inner is the way to apps for other services of this process: by path, with the identity of the caller's context, as requests from
// the network come. So they wake apps that sleep, count as load, and reach an app only if it takes their caller.
type Inner struct {
	routes *routes
	client connect.HTTPClient
}

// Inner returns the way to apps.
func (s *Service) Inner() *Inner {
	handler := s.Handler(anyName{}, http.NotFoundHandler())
	return &Inner{routes: s.routes, client: rpc.InProcess(handler)}
}

// Connectors are the routes of the apps of type connector. It reports false while they are not known.
func (i *Inner) Connectors() ([]*enginev1.AppRoute, bool) { return i.routes.connectors() }

// Do sends a request to an app: its path begins with /apps/PROJECT/DOMAIN/NAME.
func (i *Inner) Do(r *http.Request) (*http.Response, error) { return i.client.Do(r) }

// anyName are the names of a server that has only one.
type anyName struct{}

// Allow implements Hosts.
func (anyName) Allow(string) bool { return true }

// Listed implements Hosts.
func (anyName) Listed(string) bool { return true }
